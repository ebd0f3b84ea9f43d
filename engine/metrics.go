package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/collwatch/collwatch/signals"
)

// Metrics are the engine's own. Labels are words of a fixed list: none grows
// with the cluster.
type Metrics struct {
	duration prometheus.Histogram
	query    prometheus.Histogram
	total    prometheus.Counter
	failures *prometheus.CounterVec
	missed   prometheus.Counter
	last     prometheus.Gauge
	series   prometheus.Gauge
	findings prometheus.Gauge
	verdicts prometheus.Gauge
	gaps     *prometheus.GaugeVec
	blind    *prometheus.GaugeVec
	each     *prometheus.GaugeVec
}

// Reasons of failed evaluations, and of gaps; both are initialised, so that a
// rule on them never meets an absent series.
var (
	failureReasons = []string{"panic", "incomplete", "stopped"}
	gapReasons     = []string{"exporter_down", "zero_rows", "source_down", "stale_file"}
)

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer, detectors []string) *Metrics {
	f := promauto.With(reg)
	buckets := prometheus.ExponentialBuckets(0.005, 2, 13) // 5 ms to 20 s
	m := &Metrics{
		duration: f.NewHistogram(prometheus.HistogramOpts{Name: "collwatch_evaluation_duration_seconds", Help: "Wall time of an evaluation.", Buckets: buckets}),
		query:    f.NewHistogram(prometheus.HistogramOpts{Name: "collwatch_evaluation_query_seconds", Help: "Part of an evaluation spent reading from sources.", Buckets: buckets}),
		total:    f.NewCounter(prometheus.CounterOpts{Name: "collwatch_evaluations_total", Help: "Evaluations."}),
		failures: f.NewCounterVec(prometheus.CounterOpts{Name: "collwatch_evaluation_failures_total", Help: "Evaluations that concluded nothing, by reason."}, []string{"reason"}),
		missed:   f.NewCounter(prometheus.CounterOpts{Name: "collwatch_evaluations_missed_total", Help: "Slots skipped because an evaluation took longer than the interval."}),
		last:     f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_last_evaluation_timestamp_seconds", Help: "Evaluation time of the last evaluation."}),
		series:   f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_series_seen", Help: "Rows read in the last evaluation."}),
		findings: f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_findings", Help: "Findings of the last evaluation."}),
		verdicts: f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_verdicts", Help: "Verdicts of the last evaluation."}),
		gaps:     f.NewGaugeVec(prometheus.GaugeOpts{Name: "collwatch_input_gaps", Help: "Inputs that are expected and missing, by reason."}, []string{"reason"}),
		blind:    f.NewGaugeVec(prometheus.GaugeOpts{Name: "collwatch_detector_blind", Help: "Statements of a detector that it cannot judge something."}, []string{"detector"}),
	}
	m.each = f.NewGaugeVec(prometheus.GaugeOpts{Name: "collwatch_detector_seconds", Help: "Wall time of a detector in the last evaluation."}, []string{"detector"})
	for _, r := range failureReasons {
		m.failures.WithLabelValues(r)
	}
	for _, r := range gapReasons {
		m.gaps.WithLabelValues(r)
	}
	for _, d := range detectors {
		m.blind.WithLabelValues(d)
		m.each.WithLabelValues(d)
	}
	return m
}

// Observe counts a tick.
func (m *Metrics) Observe(t *Tick, missed int) {
	m.duration.Observe(t.Took.Seconds())
	m.query.Observe(t.Query.Seconds())
	m.total.Inc()
	m.missed.Add(float64(missed))
	m.last.Set(float64(t.At.UnixMilli()) / 1000)
	if t.Err != nil {
		m.failures.WithLabelValues(t.failure).Inc()
		return
	}
	if !t.Result.Whole {
		m.failures.WithLabelValues("incomplete").Inc()
	}
	m.series.Set(float64(t.Series))
	m.findings.Set(float64(t.Findings))
	m.verdicts.Set(float64(t.Verdicts))
	m.observeGaps(t.Snapshot)
	blind := map[string]int{}
	for _, b := range t.Report.Blind {
		blind[b.Detector]++
	}
	m.blind.Reset()
	for i, d := range t.detectors {
		m.blind.WithLabelValues(d).Set(float64(blind[d]))
		if i < len(t.took) {
			m.each.WithLabelValues(d).Set(t.took[i].Seconds())
		}
	}
}

func (m *Metrics) observeGaps(s *signals.Snapshot) {
	count := map[string]int{}
	for _, g := range s.Gaps {
		count[g.Reason]++
	}
	for _, r := range gapReasons {
		m.gaps.WithLabelValues(r).Set(float64(count[r]))
	}
}
