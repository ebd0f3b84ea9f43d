package web_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// counting fails or answers with nothing, and counts.
type counting struct {
	promapi.Querier
	asked atomic.Int64
	err   error
}

func (c *counting) Range(ctx context.Context, expr string, w promapi.Window, dst *promapi.Result) error {
	c.asked.Add(1)
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("a question without a deadline")
	}
	if c.err != nil {
		return c.err
	}
	return c.Querier.Range(ctx, expr, w, dst)
}

// withPlots is a rig whose exporter shows the port of the open incident, at
// times that the store has samples for or not.
func withPlots(t *testing.T, samples time.Time) (*rig, *counting) {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	for _, host := range []string{"gpu-007", "gpu-008", "gpu-009"} {
		h := sink.Series("__name__", "node_infiniband_rate_bytes_per_second", "device", "mlx5_3", "instance", host+":9100", "port", "1")
		for i := range 100 {
			at := samples.Add(time.Duration(i) * 15 * time.Second)
			v := 50e9
			if host == "gpu-007" && !at.Before(t0) {
				v = 12.5e9
			}
			require.NoError(t, sink.Append(h, at.UnixMilli(), v))
		}
	}
	require.NoError(t, sink.Commit())
	reader, err := signals.NewReader(signals.Options{}, map[string]promapi.Querier{"prom": db.Querier()})
	require.NoError(t, err)
	reader.Read(t.Context(), samples.Add(100*15*time.Second))
	r := newRig()
	r.state.Plots = reader.Plots()
	q := &counting{Querier: db.Querier()}
	r.querier = q
	return r, q
}

func TestChartGolden(t *testing.T) {
	r, _ := withPlots(t, t0.Add(-14*time.Minute))
	rec := r.get(t, "/incidents/01J0OPEN")
	require.Equal(t, http.StatusOK, rec.Code)
	require.Contains(t, rec.Body.String(), "the suspect&#39;s median is 50 GB/s before the onset and 12.5 GB/s after it; the median of 3 peers is 50 GB/s before and 50 GB/s after.")
	golden(t, "chart.html", rec.Body.Bytes())
}

// A page without its chart says why, and is whole otherwise.
func TestChartSaysWhyItIsMissing(t *testing.T) {
	tests := map[string]struct {
		samples time.Time
		change  func(*rig, *counting)
		want    string
	}{
		"no samples": {t0.Add(-30 * 24 * time.Hour), func(*rig, *counting) {}, "no samples for this time"},
		"an error":   {t0, func(_ *rig, q *counting) { q.err = errors.New("timeout <b>") }, "could not be asked: timeout &lt;b&gt;"},
		"no series":  {t0, func(r *rig, _ *counting) { r.state.Plots = &signals.Plots{} }, "No series shows what decided"},
		"no source":  {t0, func(r *rig, _ *counting) { r.querier = nil }, "not configured any more"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, q := withPlots(t, tt.samples)
			tt.change(r, q)
			rec := r.get(t, "/incidents/01J0OPEN")
			require.Equal(t, http.StatusOK, rec.Code)
			require.Contains(t, rec.Body.String(), tt.want)
			require.Contains(t, rec.Body.String(), "Next step")
		})
	}
}

// Many readers of one page cost the server one set of queries a minute.
func TestChartsAreKeptForAMinute(t *testing.T) {
	r, q := withPlots(t, t0)
	site := r.site()
	mux := http.NewServeMux()
	site.Register(mux)
	for range 5 {
		require.Equal(t, http.StatusOK, plain(t, mux, "/incidents/01J0OPEN").Code)
	}
	once := q.asked.Load()
	require.LessOrEqual(t, once, int64(5))
	r.now = r.now.Add(61 * time.Second)
	plain(t, mux, "/incidents/01J0OPEN")
	require.Equal(t, 2*once, q.asked.Load())
}

// What receivers draw is what the page shows.
func TestFigures(t *testing.T) {
	r, _ := withPlots(t, t0.Add(-14*time.Minute))
	inc, ok := r.inc.Find("01J0OPEN")
	require.True(t, ok)
	f, ok := r.site().Figures(t.Context(), &inc)
	require.True(t, ok)
	require.Equal(t, "NIC rate", f.Title)
	require.Equal(t, "GB/s", f.Unit)
	require.Equal(t, 3, f.Peers)
	require.Len(t, f.Suspect, len(f.Times))
	require.Len(t, f.Median, len(f.Times))
	require.Equal(t, 50.0, f.Suspect[0])
	require.Equal(t, 12.5, f.Suspect[len(f.Suspect)-1])
	require.Contains(t, f.Text, "12.5 GB/s after it")
	r.querier = nil
	_, ok = r.site().Figures(t.Context(), &inc)
	require.False(t, ok)
}
