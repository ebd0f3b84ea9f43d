package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// What is no longer looked for has not recovered: a reload that switches a class
// off says so of what is open.
func TestSwitchedOffIsNotRecovered(t *testing.T) {
	d := idleDaemon(t, "", nil)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tick := func(vs ...diagnosis.Verdict) []incidents.Event {
		at = at.Add(15 * time.Second)
		return d.manager.Apply(&diagnosis.Result{Time: at, Whole: true, Verdicts: vs})
	}
	slow := diagnosis.Verdict{
		Class: diagnosis.GPUThrottle, Severity: diagnosis.Warning, TieSet: 1,
		Suspects: []diagnosis.Suspect{{Kind: "gpu", Node: "gpu-003", Device: "GPU2"}},
	}
	tick(slow)
	require.Len(t, tick(slow), 1)
	reload := func(more string) {
		t.Helper()
		old, err := os.ReadFile(d.path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(d.path, fmt.Appendf(old, "%s", more), 0o600))
		cfg, err := loadConfig(d.path)
		require.NoError(t, err)
		g, err := d.newGeneration(cfg)
		require.NoError(t, err)
		d.use(g)
		require.NoError(t, os.WriteFile(d.path, old, 0o600))
	}
	const off = "[incidents]\ndisabled_classes = [\"gpu_throttle\"]\n"
	reload(off)
	reload("")
	require.Empty(t, tick(slow), "on again before anything was looked at")
	reload(off)
	events := tick()
	require.Len(t, events, 1)
	require.Equal(t, incidents.ConfigChanged, events[0].Incident.ResolveReason)
}

// Classes that no diagnosis makes have their nature in the daemon too.
func TestEveryClassKeepsItsNature(t *testing.T) {
	cfg := config.Default()
	got := policies(&cfg.Incidents)
	for class, p := range incidents.Policies() {
		require.Equal(t, p, got[class], class)
	}
}
