package exporter

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite golden files")

func build(seen []Observation, limits Limits) *builder {
	b := newBuilder(newMetrics(), limits, "gpu-014")
	for i := range seen {
		b.process(&seen[i], 1_767_225_600, 100e9)
	}
	b.totals()
	return b
}

func expose(t testing.TB, families []*dto.MetricFamily) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, mf := range families {
		_, err := expfmt.MetricFamilyToText(&out, mf)
		require.NoError(t, err)
	}
	return out.Bytes()
}

// requireValid parses the answer as a server does and wants no series twice.
func requireValid(t testing.TB, b *builder) {
	t.Helper()
	list := b.out.list()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(bytes.NewReader(expose(t, list)))
	require.NoError(t, err)
	require.Len(t, parsed, len(list))
	_, err = prometheus.Gatherers{gathered(list)}.Gather() // refuses duplicates and wrong labels
	require.NoError(t, err)
}

type gathered []*dto.MetricFamily

func (g gathered) Gather() ([]*dto.MetricFamily, error) { return g, nil }

func observed(t testing.TB, b image) Observation {
	t.Helper()
	p, err := newReader().read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	return Observation{Process: *p, HostPID: 4242, Alive: true, NowNs: 100e9, Started: time.Unix(1_767_225_000, 0)}
}

func TestGolden(t *testing.T) {
	b := build([]Observation{observed(t, typical(100e9))}, DefaultLimits())
	requireValid(t, b)
	got := expose(t, b.out.list())
	const golden = "testdata/typical.prom"
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run with -update if this is meant")
}

func TestLint(t *testing.T) {
	b := build([]Observation{observed(t, typical(100e9))}, DefaultLimits())
	problems, err := promlint.NewWithMetricFamilies(b.out.list()).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

func value(t testing.TB, b *builder, name string, labels map[string]string) float64 {
	t.Helper()
	v, ok := find(b.out.list(), prefix+name, labels)
	require.True(t, ok, "%s %v", name, labels)
	return v
}

func find(list []*dto.MetricFamily, name string, labels map[string]string) (float64, bool) {
	for _, mf := range list {
		if mf.GetName() != name {
			continue
		}
		for _, m := range mf.Metric {
			have := map[string]string{}
			for _, l := range m.Label {
				have[l.GetName()] = l.GetValue()
			}
			match := true
			for k, v := range labels {
				match = match && have[k] == v
			}
			if match {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue(), true
			}
		}
	}
	return 0, false
}

// TestDeadProcess keeps the last state, with ages that stand still at the time of death.
func TestDeadProcess(t *testing.T) {
	o := observed(t, typical(100e9))
	o.Alive, o.NowNs = false, 100e9
	b := build([]Observation{o}, DefaultLimits())
	require.Zero(t, value(t, b, "process_up", map[string]string{"pid": "4242"}))
	require.InDelta(t, 8.0, value(t, b, "oldest_inflight_age_seconds", map[string]string{"state": "running"}), 1e-9)
	o.Ended = true
	_, ok := find(build([]Observation{o}, DefaultLimits()).out.list(), prefix+"process_up", nil)
	require.False(t, ok, "a process that ended in good order is no dead process")
}

// TestLightModeServesNoHang: where completion cannot be seen, nothing may look unfinished.
func TestLightModeServesNoHang(t *testing.T) {
	img := typical(100e9)
	img.u32(headMask, 0x1006)
	b := build([]Observation{observed(t, img)}, DefaultLimits())
	for _, name := range []string{"inflight_ops", "oldest_inflight_age_seconds", "ops_completed_total", "ops_started_total"} {
		_, ok := find(b.out.list(), prefix+name, nil)
		require.False(t, ok, name)
	}
	require.InDelta(t, 110, value(t, b, "ops_enqueued_total", map[string]string{"op": "AllReduce"}), 0)
}

// TestSameLabels: two files that claim the same rank do not spoil the answer, and the live one wins.
func TestSameLabels(t *testing.T) {
	a, z := observed(t, typical(100e9)), observed(t, typical(50e9))
	z.Alive = false
	b := build([]Observation{a, z}, DefaultLimits())
	requireValid(t, b)
	require.Equal(t, 2, b.duplicates, "a process and a communicator")
	require.InDelta(t, 8.0, value(t, b, "oldest_inflight_age_seconds", map[string]string{"state": "running"}), 1e-9)
}

func TestSeriesLimitLeavesOutWhole(t *testing.T) {
	img := newImage(64)
	for i := range 64 {
		at := img.open(i, uint64(i+1), i, 64, "x")
		img.key(at, 16, keyBits(2, 20, 2, 3), 10, 10, 1000)
	}
	limits := DefaultLimits()
	limits.Series = 500
	b := build([]Observation{observed(t, img)}, limits)
	require.LessOrEqual(t, b.out.series, 550)
	require.Positive(t, b.capped)
	require.InDelta(t, float64(b.capped), value(t, b, "communicators_capped", nil), 0)
}

func TestPeerLimitKeepsTheOneThatHangs(t *testing.T) {
	img := typical(100e9)
	at := img.comm(0)
	for i := range peerSlots {
		if i == 4 {
			continue
		}
		peer := at + commPeers + i*peerSize
		img.u64(peer, uint64(i+1))
		img.u64(peer+peerDir, 1000)
		img.u64(peer+peerDir+8, 1<<40)
	}
	limits := DefaultLimits()
	limits.Peers = 4
	b := build([]Observation{observed(t, img)}, limits)
	require.InDelta(t, 2, value(t, b, "proxy_steps", map[string]string{"peer": "4", "phase": "wire", "direction": "send"}), 0)
}

func TestHistogramForms(t *testing.T) {
	counts := make([]uint64, durBuckets)
	counts[0], counts[10], counts[11], counts[durBuckets-1] = 1, 5, 3, 2
	h := durationBuckets.histogram(counts, 42)
	require.Equal(t, uint64(11), h.GetSampleCount())
	require.Len(t, h.Bucket, len(durationBuckets.classic))
	require.Equal(t, uint64(6), h.Bucket[3].GetCumulativeCount(), "le 2^-10 s")
	require.Equal(t, uint64(1), h.GetZeroCount())
	require.Equal(t, []int64{5, -2, -1}, h.PositiveDelta)
	require.Equal(t, int32(-10), h.PositiveSpan[0].GetOffset(), "index n holds (2^(n-1), 2^n]")
	var n uint64
	for _, s := range h.PositiveSpan {
		n += uint64(s.GetLength())
	}
	require.Equal(t, uint64(3), n)
}

func TestSizeClasses(t *testing.T) {
	b := newBuilder(newMetrics(), Limits{SizeOctave: 2}, "n")
	require.Equal(t, "1048576", b.sizeClass(20))
	require.Equal(t, "4194304", b.sizeClass(21))
	require.Equal(t, "mixed", b.sizeClass(overflowSizeClass))
	require.Equal(t, "512-1024KB", compatSize(20))
	require.Equal(t, "1-2MB", compatSize(21))
	require.Equal(t, "128-256MB", compatSize(28))
}
