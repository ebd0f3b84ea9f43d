package score

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/sim"
)

var update = flag.Bool("update", false, "write the examples of the docs pages anew")

const (
	exampleBegin = "<!-- example:begin (written by the tests of package internal/score with -update) -->\n"
	exampleEnd   = "<!-- example:end -->\n"
)

// exampleOf is the scenario whose alert is shown on the page of a class.
func exampleOf(class diagnosis.Class) string {
	return map[diagnosis.Class]string{
		diagnosis.LinkDown: "S03", diagnosis.LinkFlap: "S04", diagnosis.NICDegraded: "S01", diagnosis.NICContention: "S19",
		diagnosis.NICUnusedAfterFlap: "S22", diagnosis.RailMiscabled: "S24", diagnosis.LeafDegraded: "S05", diagnosis.RailDegraded: "S05-x",
		diagnosis.LeafRestart: "S04-a", diagnosis.UplinkCongestion: "S08", diagnosis.RoCECongestion: "S06-a", diagnosis.RoCELoss: "S07",
		diagnosis.PFCStorm: "S06", diagnosis.FabricCongestion: "S23-a", diagnosis.HostPathDegraded: "S09", diagnosis.ConfigSuspected: "S23-b",
		diagnosis.NodeSuspect: "S10", diagnosis.NodeRestart: "S03-b", diagnosis.PCIeDegraded: "S21", diagnosis.NVLinkDegraded: "S11",
		diagnosis.NVLinkDomainFault: "S12", diagnosis.GPUThrottle: "S13", diagnosis.ThermalGroup: "S14", diagnosis.GPUFault: "S12-a",
		diagnosis.StragglerCompute: "S15", diagnosis.RotatingStraggler: "N07-b", diagnosis.RoleImbalance: "N08",
		diagnosis.ComputeCommContention: "S20", diagnosis.CollectiveStall: "S17", diagnosis.InefficientCollective: "I01",
		diagnosis.InitStall: "N02-a", diagnosis.TelemetryGap: "N04",
	}[class]
}

// figures are left out of the comparison: the words have to be those of the
// code, while the last digit of a measurement moves with every filter.
var figures = regexp.MustCompile(`[0-9][0-9.:]*|\s+`)

// TestExamplesOfThePages plays the scenario of each class and holds its page to
// the alert that opens.
func TestExamplesOfThePages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for _, class := range diagnosis.Classes() {
		t.Run(string(class), func(t *testing.T) {
			s, ok := sim.Find(exampleOf(class))
			require.True(t, ok, "no scenario shows %s", class)
			e := firstOf(t, s, class)
			path := filepath.Join("..", "..", "docs", "faults", string(class)+".md")
			b, err := os.ReadFile(path)
			require.NoError(t, err, "the class has no page")
			page := string(b)
			want := "\n## Example\n\n" + exampleBegin + renderExample(s, e) + exampleEnd
			if *update {
				if i := strings.Index(page, "\n## Example\n"); i >= 0 {
					page = page[:i]
				}
				require.NoError(t, os.WriteFile(path, []byte(page+want), 0o644))
				return
			}
			require.Contains(t, figures.ReplaceAllString(page, "0"), figures.ReplaceAllString(want, "0"), "go test ./internal/score -run ExamplesOfThePages -update")
		})
	}
}

// firstOf is the first opening of a class in a scenario.
func firstOf(t *testing.T, s sim.Scenario, class diagnosis.Class) incidents.Event {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	sink := db.Appender()
	run, err := s.New(sim.Params{Seed: 1}, sink)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), run.Until))
	require.NoError(t, sink.Commit())
	line, err := newLine(db.Querier())
	require.NoError(t, err)
	enough := errors.New("found")
	var found incidents.Event
	err = line.Replay(context.WithoutCancel(t.Context()), run.Cluster.Start().Add(time.Minute), run.Cluster.Start().Add(run.Until), Interval, func(tick engine.Tick) error {
		for _, e := range tick.Events {
			if e.Incident.Verdict.Class == class && e.Kind == incidents.EventOpen {
				found = e
				return enough
			}
		}
		return nil
	})
	require.ErrorIs(t, err, enough, "%s says nothing of %s", s.ID, class)
	return found
}

// renderExample is the alert as receivers get it, without links and ids.
func renderExample(s sim.Scenario, e incidents.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Scenario %s of the [simulator](../simulator.md): %s.\n\n```\n", s.ID, s.Title)
	labels, notes := e.Incident.AlertLabels(), (&incidents.Renderer{}).Annotations(&e.Incident)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&b, "%s=%q ", name, labels[name])
	}
	b.WriteString("\n\n")
	for _, name := range []string{"summary", "description", "evidence", "candidates", "consequences", "next_step", "command"} {
		if notes[name] == "" {
			continue
		}
		fmt.Fprintf(&b, "%s:\n", name)
		for line := range strings.SplitSeq(notes[name], "\n") {
			b.WriteString(wrap(line, 130))
		}
	}
	b.WriteString("```\n")
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// wrap breaks a line between words.
func wrap(line string, width int) string {
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(line) {
		if n > 0 && n+len(word) > width {
			b.WriteString("\n   ")
			n = 0
		}
		if n == 0 {
			b.WriteString("  ")
		} else {
			b.WriteString(" ")
		}
		b.WriteString(word)
		n += len(word) + 1
	}
	return b.String() + "\n"
}
