package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
	"github.com/collwatch/collwatch/topology"
	"github.com/collwatch/collwatch/web"
)

// simulated is a rig behind the unchanged line over a simulated cluster, at the
// end of a scenario.
func simulated(t *testing.T, scenario string, seed uint64) *rig {
	t.Helper()
	const healthy, after, interval = 20 * time.Minute, 8 * time.Minute, 15 * time.Second
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sc, ok := sim.Find(scenario)
	require.True(t, ok)
	sc.After = after
	sink := db.Appender()
	run, err := sc.New(sim.Params{Seed: seed, Elsewhere: true, Onset: healthy, Start: t0}, sink)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), run.Until))
	require.NoError(t, sink.Commit())

	reader, err := signals.NewReader(signals.Options{}, map[string]promapi.Querier{"prom": db.Querier()})
	require.NoError(t, err)
	store := topology.NewStore(topology.Options{})
	manager := incidents.NewManager(incidents.Options{External: map[string]string{"cluster": "alpha"}})
	e := engine.New(engine.Parts{
		Reader: reader, Topology: store, Bank: detectors.NewBank(detectors.Options{}), Diagnoser: diagnosis.New(diagnosis.Options{}), Incidents: manager,
	})
	watch := run.Truth.Onset.Add(-2 * time.Minute)
	require.NoError(t, e.WarmUp(t.Context(), t0, watch, interval))
	r := &rig{set: web.Settings{Title: "alpha"}, querier: db.Querier()}
	require.NoError(t, e.Replay(t.Context(), watch, t0.Add(healthy+after), interval, func(tick engine.Tick) error {
		r.now = tick.At
		r.state = web.Look(&tick, r.state, web.State{
			Queries: reader.Queries(), Fabric: store.Fabric(), Coverage: reader.Coverage(), Plots: reader.Plots(),
		})
		return tick.Err
	}))
	r.ticks = e.Recent()
	r.inc = fixed{live: manager.Live(), ended: manager.Ended(), past: manager.Past()}
	return r
}

// opened returns the first open incident.
func (r *rig) opened(t *testing.T) incidents.Incident {
	t.Helper()
	for _, inc := range r.inc.live {
		if inc.Active() && len(inc.NamedSuspects()) > 0 {
			return inc
		}
	}
	t.Fatal("no incident is open")
	return incidents.Incident{}
}

// The page of a fault that was really found has its chart, its place in the
// fabric and its PromQL.
func TestPageOfASimulatedFault(t *testing.T) {
	r := simulated(t, "S01", 5)
	inc := r.opened(t)
	body := r.get(t, "/incidents/"+inc.ID).Body.String()
	require.NotContains(t, body, "No chart.")
	require.Equal(t, 2, strings.Count(body, `<path class="suspect"`), "one curve, and the legend")
	require.Contains(t, body, `<path class="band"`)
	require.Contains(t, body, `>onset</text>`)
	require.Contains(t, body, `▼ suspect`)
	s := inc.NamedSuspects()[0]
	require.Contains(t, body, `<title>nic `+s.Device+`, suspect</title>`)
	expr := r.state.Expression(&inc)
	require.Contains(t, expr, s.Node)
	require.Contains(t, expr, s.Device)

	jobs := r.get(t, "/jobs").Body.String()
	require.Contains(t, jobs, "AllReduce")
	require.Contains(t, jobs, inc.ID)
}
