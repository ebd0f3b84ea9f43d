package state

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	duration *prometheus.HistogramVec
	last     *prometheus.GaugeVec
	failures *prometheus.CounterVec
	result   *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "collwatch_state_save_duration_seconds", Help: "Time to write a state file.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 7),
		}, []string{"file"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "collwatch_state_last_save_timestamp_seconds", Help: "Time of the last successful write of a state file.",
		}, []string{"file"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "collwatch_state_save_failures_total", Help: "Writes of a state file that failed.",
		}, []string{"file"}),
		result: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "collwatch_state_restore_result", Help: "1 for the outcome of the restore at start.",
		}, []string{"file", "result"}),
	}
	if reg != nil {
		reg.MustRegister(m.duration, m.last, m.failures, m.result)
	}
	return m
}

func (m *metrics) saved(file string, start, end time.Time, err error) {
	m.duration.WithLabelValues(file).Observe(end.Sub(start).Seconds())
	failures := m.failures.WithLabelValues(file)
	if err != nil {
		failures.Inc()
		return
	}
	m.last.WithLabelValues(file).Set(float64(end.UnixMilli()) / 1000)
}

func (m *metrics) restored(file string, got Outcome) {
	m.failures.WithLabelValues(file)
	for _, o := range []Outcome{Restored, Previous, Empty, Lost} {
		v := 0.0
		if o == got {
			v = 1
		}
		m.result.WithLabelValues(file, string(o)).Set(v)
	}
}
