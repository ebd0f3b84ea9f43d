package score

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/sim"
)

// TestDialects: the way in which exporters spell things decides nothing. What a
// missing exporter may cost is in the truth of each scenario.
func TestDialects(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute or more")
	}
	variations := []struct {
		name string
		edit func(*sim.Dialect)
	}{
		{"G2", func(*sim.Dialect) {}},
		{"G1", func(d *sim.Dialect) { d.Inspector = "G1" }},
		{"G3", func(d *sim.Dialect) { d.Inspector = "G3" }},
		{"host label of newer GPU exporters", func(d *sim.Dialect) { d.HostLabel = "hostname" }},
		{"full host names and ports", func(d *sim.Dialect) { d.Domain, d.NodeFQDN = "cluster.example", true }},
		{"with a step counter", func(d *sim.Dialect) { d.StepTime = true }},
		{"with switch exporters", func(d *sim.Dialect) { d.Switches = "infiniband" }},
		{"ratios as percent", func(d *sim.Dialect) { d.Percent = true }},
	}
	for _, id := range []string{"S01", "S05", "S13"} {
		s, ok := sim.Find(id)
		require.True(t, ok)
		s.After = min(s.After, 8*time.Minute)
		for _, v := range variations {
			t.Run(id+"/"+v.name, func(t *testing.T) {
				playRight(t, Case{Scenario: s, Params: sim.Params{Seed: 5, Hosts: 6, Onset: 20 * time.Minute, Dialect: v.edit}})
			})
		}
	}
	for _, id := range []string{"S23", "S24", "N04", "N05-a", "N05-b", "N05-c", "N05-d", "N05-f", "N05-g", "N05-h"} {
		s, ok := sim.Find(id)
		require.True(t, ok, id)
		t.Run(id, func(t *testing.T) {
			playRight(t, Case{Scenario: s, Params: sim.Params{Seed: 5}})
		})
	}
}

func playRight(t *testing.T, c Case) {
	t.Helper()
	o, err := Play(t.Context(), c)
	require.NoError(t, err)
	v := Judge(o)
	require.True(t, v.OK(), "%s: expected %s, got %s", c, expected(&o.Truth), v.Got())
}
