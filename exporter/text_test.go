package exporter

import (
	"bytes"
	"log/slog"
	"math"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reference is the client library's text.
func reference(t require.TestingT, list []*dto.MetricFamily) string {
	var b bytes.Buffer
	for _, mf := range list {
		_, err := expfmt.MetricFamilyToText(&b, mf)
		require.NoError(t, err)
	}
	return b.String()
}

func TestTextIsThatOfTheClientLibrary(t *testing.T) {
	dir := t.TempDir()
	busyNode(t, dir, 2, 3)
	r := prometheus.NewRegistry()
	s := prometheus.NewSummary(prometheus.SummaryOpts{Name: "a_summary", Help: "With \\ and\nnewline.", Objectives: map[float64]float64{0.5: 0.1}})
	s.Observe(3)
	r.MustRegister(s)
	e, err := New(Options{Dir: dir, Node: "n", Grace: time.Hour, Limits: DefaultLimits(), Logger: slog.New(slog.DiscardHandler), Registry: r})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	list, err := e.Gather()
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, writeText(&b, list))
	require.Equal(t, reference(t, list), b.String())
}

func TestTextOfAnyLabelsAndValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 1e6, 999999, 1e21, 1 << 53, math.NaN(), math.Inf(1), math.Inf(-1), 0.1}))
		fs := newFamilies()
		f, g := counterFamily("c_total", "Some."), gaugeFamily("g", "Help with \\ and\nnewline and \"quotes\".")
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			labels := with(nil, "a", rapid.String().Draw(t, "a"), "b", rapid.StringOf(rapid.SampledFrom([]rune("\\\n\"x"))).Draw(t, "b"))
			fs.counter(f, labels, value.Draw(t, "counter"))
			fs.gauge(g, labels, value.Draw(t, "gauge"))
			fs.histogram(histogramFamily("h", "."), labels, durationBuckets, make([]uint64, durBuckets), value.Draw(t, "sum"))
		}
		var b bytes.Buffer
		require.NoError(t, writeText(&b, fs.list()))
		require.Equal(t, reference(t, fs.list()), b.String())
	})
}

// TestOtherFormats: whoever asks for protobuf, as a server that stores native
// histograms does, gets it.
func TestOtherFormats(t *testing.T) {
	dir := t.TempDir()
	busyNode(t, dir, 1, 1)
	logger := slog.New(slog.DiscardHandler)
	e, err := New(Options{Dir: dir, Node: "n", Grace: time.Hour, Limits: DefaultLimits(), Logger: logger, Registry: prometheus.NewRegistry()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	h, err := Handler(e, nil, logger)
	require.NoError(t, err)
	for accept, want := range map[string]string{
		"": "text/plain; version=0.0.4",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": "application/vnd.google.protobuf",
	} {
		req := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
		req.Header.Set("Accept", accept)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		require.Equal(t, 200, rec.Code)
		require.Contains(t, rec.Header().Get("Content-Type"), want)
		require.NotEmpty(t, rec.Body.Bytes())
	}
}
