package rules_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/ruletest"
	"github.com/collwatch/collwatch/internal/score"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/rules"
	"github.com/collwatch/collwatch/sim"
)

// said is what was told in a run, as class and place, with the time of the
// first time.
type said map[string]time.Time

func (s said) tell(at time.Time, class, node, device string) {
	key := class
	if node != "" {
		key += " " + strings.TrimSuffix(node+"/"+device, "/")
	}
	if _, ok := s[key]; !ok {
		s[key] = at
	}
}

// bothSay runs the daemon's line and the generated rules on the same simulated
// series. Info is left out on both sides, since nobody is woken by it, and so
// are classes that have no rules.
func bothSay(t *testing.T, c score.Case) (daemon, ours said) {
	t.Helper()
	daemon, ours = said{}, said{}
	without := map[string]bool{}
	for _, l := range generate(t, nil).Left {
		without[l.Class] = without[l.Class] || l.What == ""
	}
	o, err := score.Play(t.Context(), c)
	require.NoError(t, err)
	for i := range o.Events {
		e := &o.Events[i]
		if e.Kind == incidents.EventResolve || e.Incident.Severity < diagnosis.Warning {
			continue
		}
		ls := e.Incident.Labels
		if without[ls["class"]] {
			continue
		}
		daemon.tell(e.Time, ls["class"], ls["suspect_node"], ls["suspect_device"])
	}

	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	sink := db.Appender()
	run, err := c.Scenario.New(c.Params, sink)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), run.Until))
	require.NoError(t, sink.Commit())
	metrics, err := db.Querier().LabelValues(t.Context(), "__name__", nil, windowOf(db))
	require.NoError(t, err)
	e := evaluator(t, db, func(o *rules.Options) { o.Metrics = metrics })
	start := run.Cluster.Start()
	for at := start.Add(time.Minute); at.Before(start.Add(run.Until)); at = at.Add(30 * time.Second) {
		require.NoError(t, e.Eval(t.Context(), at))
		for _, a := range e.Firing() {
			if a["severity"] != "info" {
				ours.tell(at, a["class"], a["suspect_node"], a["suspect_device"])
			}
		}
	}
	return daemon, ours
}

func evaluator(t *testing.T, db *embedprom.DB, change func(o *rules.Options)) *ruletest.Evaluator {
	t.Helper()
	dir := t.TempDir()
	out := generate(t, change)
	require.NoError(t, rules.Write(out, dir, false))
	var paths []string
	for _, f := range out.Files {
		if !strings.HasPrefix(f.Name, "tests/") {
			paths = append(paths, filepath.Join(dir, f.Name))
		}
	}
	e, err := ruletest.NewEvaluator(t.Context(), db, 30*time.Second, paths...)
	require.NoError(t, err)
	return e
}

// differ lists what one side says and the other does not: another class, or
// another place of a class that both say.
func differ(daemon, ours said) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(daemon)) {
		if _, ok := ours[k]; !ok {
			out = append(out, "only the daemon: "+k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(ours)) {
		if at, ok := daemon[k]; !ok {
			out = append(out, "only the rules: "+k)
		} else if d := ours[k].Sub(at); d < -5*time.Minute || d > 5*time.Minute {
			out = append(out, fmt.Sprintf("%s: the rule fires %s after the daemon", k, d))
		}
	}
	return out
}

func agree(t *testing.T, ids ...string) {
	docs, err := os.ReadFile("../docs/rules.md")
	require.NoError(t, err)
	known := differences()
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s, ok := sim.Find(id)
			require.True(t, ok)
			s.After = min(s.After, 14*time.Minute)
			daemon, ours := bothSay(t, score.Case{Scenario: s, Params: sim.Params{Seed: 21, Onset: 20 * time.Minute}})
			got := differ(daemon, ours)
			t.Logf("daemon %v, rules %v", slices.Sorted(maps.Keys(daemon)), slices.Sorted(maps.Keys(ours)))
			var texts []string
			for _, g := range got {
				why := explained(known, id, g)
				if why == "" {
					t.Errorf("%s %s: not listed", id, g)
				}
				texts = append(texts, g)
			}
			for _, d := range known[id] {
				require.True(t, slices.ContainsFunc(texts, func(g string) bool { return strings.HasPrefix(g, d.what) }), "listed, but no longer so: %s %s", id, d.what)
				require.Contains(t, string(docs), d.why, "docs/rules.md does not explain it")
			}
		})
	}
}

func explained(known map[string][]difference, id, text string) string {
	for _, d := range known[id] {
		if strings.HasPrefix(text, d.what) {
			return d.why
		}
	}
	return ""
}

// difference is a known one: what it is, and the words of docs/rules.md.
type difference struct{ what, why string }

func differences() map[string][]difference {
	const (
		short = "a loss of less than a minute is seen at one evaluation of a rule, if at all"
		below = "the jobs that a leaf or a domain stops are one incident in the daemon, an alert for each job in the rules"
		stall = "a stall by rule names nobody: what the daemon names as its cause is an alert of its own"
		start = "a job that is slow since its start is compared with the jobs before it by the daemon only"
		rack  = "without racks a rule cannot fold what heats up together: an alert for each GPU that throttles"
		rail  = "the rule for a rail sees ports that are down, not transfers that take longer"
		netif = "ethtool's series name the network interface, and the rule hands that on"
		lanes = "without the width of the link only transfers tell, which a rule does not read"
		zone  = "the rule wants a hundredth of all bytes sent again; the daemon compares with the time before"
	)
	named := []difference{{"only the daemon: collective_stall", stall}, {"only the rules: collective_stall", stall}, {"only the rules: gpu_fault", stall}}
	return map[string][]difference{
		"S03":   {{"only the daemon: link_down", short}},
		"S05-b": {{"only the daemon: rail_degraded", rail}},
		"S05-x": {{"only the daemon: rail_degraded", rail}},
		"S06-x": {{"only the daemon: pfc_storm", netif}, {"only the rules: pfc_storm", netif}},
		"S12":   {{"only the rules: collective_stall", below}},
		"S14":   {{"only the rules: gpu_throttle", rack}},
		"S14-x": {{"only the rules: gpu_throttle", rack}},
		"S16":   named,
		"S16-x": named,
		"S17":   named[:2],
		"S17-x": named[:2],
		"S17-c": named[:2],
		"S20":   {{"only the daemon: compute_comm_contention", start}},
		"S21-x": {{"only the daemon: pcie_degraded", lanes}},
		"S23-a": {{"only the daemon: fabric_congestion", zone}},
	}
}

// TestRulesAgreeWithTheDaemon: on the same series the rules say the classes and
// places that the daemon says. Differences are listed with their reason, and an
// unlisted one is a failure.
func TestRulesAgreeWithTheDaemon(t *testing.T) {
	agree(t, "S01", "S13", "S15", "S16")
}

func windowOf(db *embedprom.DB) promapi.Window {
	first, last := db.TimeRange()
	return promapi.Window{Start: first, End: last}
}
