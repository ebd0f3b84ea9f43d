package alertmanager

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	sent, retried  *prometheus.CounterVec
	failed         *prometheus.CounterVec
	dropped        *prometheus.CounterVec
	queue          *prometheus.GaugeVec
	duration       *prometheus.HistogramVec
	missing        *prometheus.GaugeVec
	pollFailures   prometheus.Counter
	suppressed     *prometheus.GaugeVec
	lookupFailures *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "collwatch_alertmanager_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "collwatch_" + name, Help: help}, labels)
	}
	m := &metrics{
		sent:    counter("sent_total", "Alerts that a target acknowledged.", "target"),
		failed:  counter("failed_total", "Alerts in requests that failed; they are tried again.", "target", "reason"),
		retried: counter("retried_total", "Alerts sent again after a failure.", "target"),
		dropped: counter("dropped_total", "Alerts that a target refused for good, or that are invalid.", "target", "reason"),
		queue:   gauge("alertmanager_queue_length", "Alerts whose newest state a target does not know.", "target"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "collwatch_alertmanager_request_duration_seconds", Help: "Time of requests, by status; 0 is no answer.",
			Buckets: prometheus.ExponentialBuckets(0.005, 4, 7),
		}, []string{"target", "code"}),
		missing: gauge("alertmanager_readback_missing", "Firing alerts that were acknowledged but are not there.", "target"),
		pollFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "collwatch_silences_poll_failures_total", Help: "Polls for silences, inhibition and mute times that no target answered.",
		}),
		suppressed:     gauge("alerts_suppressed", "Firing alerts that Alertmanager suppresses.", "by"),
		lookupFailures: counter("lookup_failures_total", "Failed look-ups of a target's name.", "target"),
	}
	for _, by := range []string{"silence", "inhibition", "mute_time"} {
		m.suppressed.WithLabelValues(by)
	}
	if reg != nil {
		reg.MustRegister(m.sent, m.failed, m.retried, m.dropped, m.queue, m.duration, m.missing, m.pollFailures,
			m.suppressed, m.lookupFailures)
	}
	return m
}

// init makes the series of a member, so that a rate over them sees the first
// event.
func (m *metrics) init(target string) {
	m.sent.WithLabelValues(target)
	m.retried.WithLabelValues(target)
	m.queue.WithLabelValues(target)
	m.missing.WithLabelValues(target)
	for _, r := range failures() {
		m.failed.WithLabelValues(target, string(r))
	}
	for _, r := range []reason{invalid, schema, tooLarge} {
		m.dropped.WithLabelValues(target, string(r))
	}
}

// forget removes the gauges of a member that is gone; counters stay for rates.
func (m *metrics) forget(target string) {
	m.queue.DeleteLabelValues(target)
	m.missing.DeleteLabelValues(target)
}

func (m *metrics) observe(target string) func(int, time.Duration) {
	return func(code int, d time.Duration) {
		m.duration.WithLabelValues(target, strconv.Itoa(code)).Observe(d.Seconds())
	}
}
