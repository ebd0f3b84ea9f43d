package promapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of all sources. No label has a value per series.
type Metrics struct {
	duration   *prometheus.HistogramVec
	bytes      *prometheus.HistogramVec
	cost       *prometheus.HistogramVec
	samples    *prometheus.CounterVec
	warnings   *prometheus.CounterVec
	partial    *prometheus.CounterVec
	histograms *prometheus.CounterVec
	duplicates *prometheus.CounterVec
	future     *prometheus.CounterVec
	refused    *prometheus.CounterVec
	errors     *prometheus.CounterVec
	up         *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them with reg, which may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "collwatch_source_" + name, Help: help}, append([]string{"source"}, labels...))
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "collwatch_source_" + name, Help: help, Buckets: buckets}, append([]string{"source"}, labels...))
	}
	m := &Metrics{
		duration: histogram("request_duration_seconds", "Duration of requests to a source until the answer was decoded; code 0 is no answer.",
			prometheus.ExponentialBuckets(0.005, 2.5, 10), "code"),
		bytes: histogram("response_bytes", "Size of the answers of a source, unpacked.", prometheus.ExponentialBuckets(1<<10, 8, 7)),
		cost: histogram("query_samples", "Samples that a source says it read for a query, for a part of the queries.",
			prometheus.ExponentialBuckets(100, 10, 7)),
		samples:    counter("samples_total", "Samples decoded from a source."),
		warnings:   counter("warnings_total", "Warnings of a source about its answers."),
		partial:    counter("partial_total", "Answers of which a source said that parts are missing."),
		histograms: counter("native_histograms_skipped_total", "Native histogram samples left out of answers."),
		duplicates: counter("duplicate_series_total", "Series that came more than once in an answer."),
		future:     counter("future_samples_total", "Samples dropped since they are from after the evaluation time."),
		refused:    counter("queries_refused_total", "Queries not sent since the source fails again and again."),
		errors:     counter("errors_total", "Queries without a whole answer, by what that means.", "class"),
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "collwatch_source_up", Help: "Whether the last query to a source was answered.",
		}, []string{"source"}),
	}
	if reg != nil {
		reg.MustRegister(m.duration, m.bytes, m.cost, m.samples, m.warnings, m.partial, m.histograms, m.duplicates, m.future,
			m.refused, m.errors, m.up)
	}
	return m
}

// sourceMetrics are the metrics of one source.
type sourceMetrics struct {
	duration   prometheus.ObserverVec
	bytes      prometheus.Observer
	cost       prometheus.Observer
	samples    prometheus.Counter
	warnings   prometheus.Counter
	partial    prometheus.Counter
	histograms prometheus.Counter
	duplicates prometheus.Counter
	future     prometheus.Counter
	refused    prometheus.Counter
	errors     *prometheus.CounterVec
	up         prometheus.Gauge
}

func (m *Metrics) source(name string) *sourceMetrics {
	label := prometheus.Labels{"source": name}
	s := &sourceMetrics{
		duration:   m.duration.MustCurryWith(label),
		bytes:      m.bytes.With(label),
		cost:       m.cost.With(label),
		samples:    m.samples.With(label),
		warnings:   m.warnings.With(label),
		partial:    m.partial.With(label),
		histograms: m.histograms.With(label),
		duplicates: m.duplicates.With(label),
		future:     m.future.With(label),
		refused:    m.refused.With(label),
		errors:     m.errors.MustCurryWith(label),
		up:         m.up.With(label),
	}
	s.duration.WithLabelValues("200")
	for class := range classNames {
		s.errors.WithLabelValues(Class(class).String())
	}
	return s
}

func (s *sourceMetrics) request(status int, d time.Duration) {
	s.duration.WithLabelValues(strconv.Itoa(status)).Observe(d.Seconds())
}

func (s *sourceMetrics) failed(c Class) { s.errors.WithLabelValues(c.String()).Inc() }
