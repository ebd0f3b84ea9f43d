package web_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine/custom"
	"github.com/collwatch/collwatch/signals"
)

// What the user's own signals say about a suspect is drawn below what decided.
func TestOwnSignalsAreDrawn(t *testing.T) {
	r, q := withPlots(t, t0.Add(-14*time.Minute))
	const expr = "node_infiniband_rate_bytes_per_second"
	o := custom.Options{Interval: 15 * time.Second}
	for _, name := range []string{"speed", "more", "third", "nothing"} {
		s := custom.Signal{Name: name, Unit: "bytes_per_second", Source: "prom", Expr: expr, Labels: custom.Labels{Host: "instance", Device: "device"}}
		if name == "nothing" {
			s.Expr = "absent_metric"
		}
		o.Signals = append(o.Signals, s)
		e := signals.Entity{Kind: signals.KindNIC, Host: "gpu-007", Device: "mlx5_3", Detail: name}
		statement := diagnosis.Evidence{Signal: signals.Custom, Entity: e, Text: name + " 12.5 GB/s"}
		r.inc.live[0].Verdict.Evidence = append([]diagnosis.Evidence{statement, statement}, r.inc.live[0].Verdict.Evidence...)
	}
	r.custom = o.Plot
	page := func() string {
		rec := r.get(t, "/incidents/01J0OPEN")
		require.Equal(t, http.StatusOK, rec.Code)
		return rec.Body.String()
	}
	body := page()
	require.Contains(t, body, "<figcaption>NIC rate in GB/s</figcaption>", "what decided comes first")
	require.Contains(t, body, "<figcaption>third in GB/s</figcaption>")
	require.Equal(t, 2, strings.Count(body, `<svg class="chart"`), "two are looked at, of which one has no samples")
	require.Equal(t, 1, strings.Count(body, `id="chart-text"`))
	require.Equal(t, 1, strings.Count(body, `id="chart-text-2"`))
	require.Equal(t, 4, strings.Count(body, "12.5 GB/s after it; the median of 3 peers is 50 GB/s"), "twice each: also for those who cannot see it")

	q.err = errors.New("down")
	r.now = r.now.Add(61 * time.Second)
	require.Zero(t, strings.Count(page(), `<svg class="chart"`), "the page is whole without")
	r.custom = nil
	require.Contains(t, page(), "Next step")
}
