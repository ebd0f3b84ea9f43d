package diagnosis

import (
	"bytes"
	"compress/gzip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// series runs the whole line from stored series of a recorded job to verdicts.
func series(t *testing.T, name string, rankMap bool, interval, offset time.Duration) *pipeline {
	t.Helper()
	f, err := os.Open(testdata.Path(t, "straggler", name, "inspector.om.gz"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	in, err := gzip.NewReader(f)
	require.NoError(t, err)
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.LoadOpenMetrics(t.Context(), in, nil)
	require.NoError(t, err)

	o := signals.Options{Interval: interval}
	if rankMap {
		b, err := os.ReadFile(testdata.Path(t, "straggler", name, "workers.csv"))
		require.NoError(t, err)
		o.RankMap, err = signals.ParseRankMap(bytes.NewReader(b))
		require.NoError(t, err)
	}
	r, err := signals.NewReader(o, map[string]promapi.Querier{"past": db.Querier()})
	require.NoError(t, err)
	p := newPipeline(interval)
	first, last := db.TimeRange()
	begin := first.Truncate(time.Hour) // when the recording begins
	for at := begin.Add(offset); !at.After(last); at = at.Add(interval) {
		p.observe(r.Read(t.Context(), at))
	}
	return p
}

func TestRecordedSeriesOfASlowedWorker(t *testing.T) {
	for name, tc := range map[string]struct {
		ranks            bool
		interval, offset time.Duration
	}{
		"labels only":     {false, 15 * time.Second, 0},
		"rank map":        {true, 15 * time.Second, 0},
		"another phase":   {false, 15 * time.Second, 8 * time.Second},
		"ticks of 30 s":   {false, 30 * time.Second, 0},
		"ticks of 30 s +": {true, 30 * time.Second, 17 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := series(t, "AR", tc.ranks, tc.interval, tc.offset)
			require.Len(t, p.first, 1, "%v", p.first)
			at := time.Duration(p.first["straggler_compute gpu-a01/GPU0"]-1)*tc.interval + tc.offset
			t.Log(at)
			require.Positive(t, at)
			require.LessOrEqual(t, at, 240*time.Second-tc.interval, "an evaluation of holding comes on top")
			v := p.verdict(t, StragglerCompute)
			require.Equal(t, "gpu_contention", v.Reason)
			require.Contains(t, text(v), "contention on the GPU")
		})
	}
}

func TestRecordedSeriesOfAHeavyStage(t *testing.T) {
	for _, interval := range []time.Duration{15 * time.Second, 30 * time.Second} {
		for _, ranks := range []bool{false, true} {
			p := series(t, "ST", ranks, interval, 0)
			require.Len(t, p.first, 1, "%v", p.first)
			at := time.Duration(p.first["role_imbalance"]) * interval
			require.Positive(t, at)
			require.LessOrEqual(t, at, 10*time.Minute)
			require.Equal(t, Recorded, p.verdict(t, RoleImbalance).Severity)
		}
	}
}
