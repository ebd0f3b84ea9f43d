//go:build long

package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/sim"
)

// quietTicks is a number of evaluations within which a wrong resolve or a second
// alert would have come.
const quietTicks = 6

func (r *rig) evaluations() float64 {
	r.t.Helper()
	return metric(r.t, "http://"+r.address+"/metrics", "collwatch_evaluations_total")
}

// afterEvaluations waits for n more of them.
func (r *rig) afterEvaluations(n float64) {
	r.t.Helper()
	until := r.evaluations() + n
	r.eventually("more evaluations", 3*time.Minute, func() bool { return r.evaluations() >= until })
}

// inject breaks a NIC until the function that is returned is called, and waits
// for the alert.
func (r *rig) inject() (first alert, repair func()) {
	r.t.Helper()
	r.afterEvaluations(2)
	require.Empty(r.t, r.alerts(), "a healthy cluster is quiet")
	end := make(chan struct{})
	require.NoError(r.t, r.live.Inject(untilClosed(sim.Downtrain(6, 3, 0.25, 0, 0), end), 0))
	r.eventually("the sick NIC is an alert", 3*time.Minute, func() bool { return len(r.sick()) > 0 })
	return r.same(alert{}), func() { close(end) }
}

// sick returns the alerts about the NIC that inject breaks, without the notice
// of its link that a scrape lost between the two of them brings. No alert may be
// about anything else.
func (r *rig) sick() []alert {
	r.t.Helper()
	var out []alert
	for _, a := range r.alerts() {
		require.Equal(r.t, "gpu-007/mlx5_3", a.Labels["suspect_node"]+"/"+a.Labels["suspect_device"], a.Labels)
		if a.Labels["class"] == "link_flap" {
			require.Equal(r.t, "info", a.Labels["severity"], a.Labels)
			continue
		}
		out = append(out, a)
	}
	return out
}

// same requires that there is one such alert, active and with the labels and the
// start of an earlier look.
func (r *rig) same(before alert) alert {
	r.t.Helper()
	got := r.sick()
	require.Len(r.t, got, 1)
	require.Equal(r.t, "active", got[0].Status.State)
	if before.Labels != nil {
		require.Equal(r.t, before.Labels, got[0].Labels)
		require.Equal(r.t, before.StartsAt, got[0].StartsAt)
	}
	return got[0]
}

// resolves waits until an alert has ended. What may remain is the notice of its
// link.
func (r *rig) resolves(a alert) {
	r.t.Helper()
	r.eventually("the repaired NIC resolves", 4*time.Minute, func() bool {
		return !slices.ContainsFunc(r.alerts(), func(left alert) bool { return left.Labels["class"] == a.Labels["class"] })
	})
	require.Empty(r.t, r.sick())
}

// TestLongVictoriaMetrics runs the main job on a store that scrapes by itself
// and hides the last 30 s. It is stopped and comes back.
func TestLongVictoriaMetrics(t *testing.T) {
	r, scrapes := startCluster(t, small, alertmanagerConfig)
	store := realserver.StartVictoriaMetrics(t, scrapes)
	r.prometheusURL, r.prometheusKind, r.offset = store.URL, "victoriametrics", 30*time.Second
	r.configure("")
	r.start()
	r.eventually("series arrive", 2*time.Minute, func() bool {
		return metric(t, "http://"+r.address+"/metrics", "collwatch_series_seen") > 1000
	})
	first, repair := r.inject()

	store.Kill()
	r.afterEvaluations(quietTicks)
	r.same(first)
	store.Restart()
	r.afterEvaluations(quietTicks)
	r.same(first)

	repair()
	r.resolves(first)
}

// TestLongThanos runs the main job on two replicas behind a querier: their
// series are one, one side may be down, and an answer in part resolves nothing.
func TestLongThanos(t *testing.T) {
	r, scrapes := startCluster(t, small, alertmanagerConfig)
	type side struct{ prometheus, sidecar *realserver.Server }
	var sides []side
	for _, replica := range []string{"a", "b"} {
		p := realserver.StartPrometheus(t, strings.Replace(scrapes, "global: {", "global: {external_labels: {replica: "+replica+"}, ", 1))
		sides = append(sides, side{p, realserver.StartThanosSidecar(t, p)})
	}
	query := realserver.StartThanosQuery(t, sides[0].sidecar, sides[1].sidecar)
	r.prometheusURL, r.prometheusKind, r.offset = query.URL, "thanos", 3*time.Second
	r.configure("")
	r.start()
	seen := func() float64 { return metric(t, "http://"+r.address+"/metrics", "collwatch_series_seen") }
	up := func() float64 {
		return metric(t, "http://"+r.address+"/metrics", `collwatch_source_up{source="prometheus"}`)
	}
	r.eventually("series arrive", 2*time.Minute, func() bool { return seen() > 1000 })
	single := realserverSeries(t, sides[0].prometheus)
	require.Less(t, seen(), 1.2*single, "replicas are one")
	first, repair := r.inject()

	// A Prometheus that is down behind its sidecar.
	sides[0].prometheus.Kill()
	r.afterEvaluations(quietTicks)
	r.same(first)
	sides[0].prometheus.Restart()
	r.eventually("the source is up again", 2*time.Minute, func() bool { return up() == 1 })
	r.same(first)

	// One side is gone and the other one is enough.
	sides[1].sidecar.Kill()
	sides[1].prometheus.Kill()
	r.eventually("the querier has dropped the side", 3*time.Minute, func() bool { return up() == 1 && seen() > 1000 })
	r.afterEvaluations(quietTicks)
	r.same(first)

	// Without both nothing resolves.
	sides[0].sidecar.Kill()
	sides[0].prometheus.Kill()
	r.afterEvaluations(quietTicks)
	r.same(first)

	for _, s := range sides {
		s.prometheus.Restart()
		s.sidecar.Restart()
	}
	r.eventually("series are back", 3*time.Minute, func() bool { return up() == 1 && seen() > 1000 })
	r.same(first)
	repair()
	r.resolves(first)
}

// realserverSeries is the number of series in the head of a Prometheus.
func realserverSeries(t *testing.T, s *realserver.Server) float64 {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	return metric(t, s.URL+"/metrics", "prometheus_tsdb_head_series")
}
