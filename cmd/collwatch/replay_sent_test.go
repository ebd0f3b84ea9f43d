package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/notify/alertmanager"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/sim"
)

// TestReplayPrintsTheLabelsThatAreSent: whoever writes a route or a silence from
// what a replay prints meets the alerts of the daemon.
func TestReplayPrintsTheLabelsThatAreSent(t *testing.T) {
	if raceDetector {
		t.Skip("replays run without the race detector")
	}
	s, ok := sim.Find("S01")
	require.True(t, ok)
	s.After = 10 * time.Minute
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	sr, err := s.New(sim.Params{Seed: 4, Start: newYear, Onset: 10 * time.Minute}, sink)
	require.NoError(t, err)
	require.NoError(t, sr.Cluster.Run(t.Context(), sr.Until))
	require.NoError(t, sink.Commit())
	cfg := config.Default()
	cfg.Global.Cluster = "alpha"
	cfg.Global.ExternalLabels = map[string]string{"region": "north"}
	a, err := assemble(&cfg, map[string]promapi.Querier{"p": db.Querier()}, nil)
	require.NoError(t, err)

	told := 0
	err = a.engine.Replay(t.Context(), newYear, newYear.Add(20*time.Minute), cfg.Global.Interval.Std(), func(tick engine.Tick) error {
		var out bytes.Buffer
		p := &eventPrinter{out: &out, format: "json", renderer: &a.opts.renderer}
		require.NoError(t, p.print(tick.Events))
		lines := json.NewDecoder(&out)
		for i := range tick.Events {
			var printed struct{ Labels, Annotations map[string]string }
			require.NoError(t, lines.Decode(&printed))
			inc := tick.Events[i].Incident
			if !inc.Announced || tick.Events[i].Kind == incidents.EventResolve {
				continue
			}
			sent := alertmanager.Payload([]incidents.Incident{inc}, nil, &a.opts.renderer, tick.At, time.Hour)
			require.Len(t, sent, 1)
			require.Equal(t, map[string]string(sent[0].Labels), printed.Labels)
			require.Equal(t, "alpha north", printed.Labels["cluster"]+" "+printed.Labels["region"])
			told++
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, told)
}
