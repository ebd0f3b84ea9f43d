package report

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/compare"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
)

var updateFlag = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateFlag {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update once")
	require.Equal(t, string(want), string(got))
}

// hostile is a small report whose labels try to break out of the page.
func hostile() *Report {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &Report{Job: `4<script>alert(1)</script>`, User: "a|b @all", From: from, To: from.Add(time.Hour), Hosts: 2, GPUs: 16, Ticks: 240, FailedTicks: 1, WaitingOverall: 0.21}
	r.Costs = []Cost{
		{Key: compare.Key{Op: "AllReduce", NRanks: 16, NNodes: 2, Size: "128M", Algo: "ring_simple"}, Share: math.NaN(), Time: 6.4e-3, Bandwidth: 41e9, Transfer: 5e-3, Waiting: 0.22, Spread: 0.03},
		{Key: compare.Key{Op: "Send<b>", NRanks: 2, Size: "1M"}, Share: math.NaN(), Time: 1e-4, Bandwidth: math.NaN(), Transfer: math.NaN(), Waiting: math.NaN(), Spread: 0.4},
	}
	for i := range Columns {
		p := Point{At: r.start(i), Relative: 1 + 0.5*float64(i%2), Waiting: 0.2}
		if i == 10 {
			p.Relative, p.Waiting = math.NaN(), math.NaN()
		}
		r.Health = append(r.Health, p)
	}
	cells := make([]float64, Columns)
	for i := range cells {
		cells[i] = float64(i) / 100
	}
	cells[3] = math.NaN()
	r.Heat = Heat{Rows: []string{`gpu-1"/><script>`, "gpu-2/GPU0"}, Cells: [][]float64{cells, make([]float64, Columns)}}
	r.Incidents = []Incident{
		{From: from.Add(time.Minute), To: from.Add(9 * time.Minute), Class: "gpu_throttle", Severity: "warning", Summary: "GPU <i>hot</i>", Suspect: "gpu-2/GPU0", NextStep: "check the fans"},
		{From: from.Add(30 * time.Minute), Class: "link_down", Severity: "critical", Summary: "link down", NextStep: "reseat the cable."},
		{From: from.Add(40 * time.Minute), Class: "telemetry_gap", Severity: "recorded", Summary: "gap", NextStep: "nothing"},
	}
	r.advise()
	return r
}

func TestPages(t *testing.T) {
	r := hostile()
	var html, md bytes.Buffer
	require.NoError(t, r.WriteHTML(&html))
	require.NoError(t, r.WriteMarkdown(&md))
	golden(t, "hostile.html", html.Bytes())
	golden(t, "hostile.md", md.Bytes())
	for _, text := range []string{html.String(), md.String()} {
		for _, bad := range []string{"<script", "<b>Send", "<i>", "@all", "NaN"} {
			if bad == "@all" && strings.HasPrefix(text, "<!DOCTYPE") {
				continue
			}
			require.NotContains(t, text, bad)
		}
	}
	require.NotContains(t, html.String(), "http", "self-contained")
}

func TestAdviceBeginsWithTheWorstIncident(t *testing.T) {
	a := hostile().Advice
	require.Len(t, a, 4)
	require.Equal(t, Advice{"Reseat the cable.", "Link down."}, a[0])
	require.Equal(t, "Check the fans.", a[1].What)
	require.Contains(t, a[2].Why, "22.0 % of its 6.40 ms are waiting")
	require.Contains(t, a[3].Why, "40 % longer than usual")
}

func TestNothingToSay(t *testing.T) {
	r := NewCollector("7", time.Unix(0, 0), time.Unix(3600, 0), 30*time.Second, 30*time.Second).Report()
	var b bytes.Buffer
	require.NoError(t, r.WriteHTML(&b))
	require.Contains(t, b.String(), "nothing can be said")
	b.Reset()
	require.NoError(t, r.WriteMarkdown(&b))
	require.Contains(t, b.String(), "nothing can be said")
}

// read simulates a job with a fault and reads it into a report.
func read(t *testing.T, fault func(*sim.Cluster)) *Report {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	sink := db.Appender()
	shape := sim.R16(4)
	c, err := sim.New(sim.Options{Seed: 9, Shape: shape, Dialect: sim.Full(), Noise: sim.DefaultNoise()}, sink)
	require.NoError(t, err)
	if fault != nil {
		fault(c)
	}
	const length = 30 * time.Minute
	require.NoError(t, c.Run(t.Context(), length))
	require.NoError(t, sink.Commit())
	reader, err := signals.NewReader(signals.Options{}, map[string]promapi.Querier{"sim": db.Querier()})
	require.NoError(t, err)
	col := NewCollector(shape.Jobs[0].ID, c.Start(), c.Start().Add(length), 30*time.Second, 30*time.Second)
	require.NoError(t, reader.WarmUp(t.Context(), c.Start(), c.Start().Add(length), 30*time.Second, func(s *signals.Snapshot) error {
		col.Observe(s)
		return nil
	}))
	return col.Report()
}

// TestTheHeatMapShowsTheSlowHost: in the second half one host is slow; its GPUs
// are late then, and nobody else is.
func TestTheHeatMapShowsTheSlowHost(t *testing.T) {
	r := read(t, func(c *sim.Cluster) { c.Inject(sim.Starve(2, 0.4, 200, 1.5, 900, 0)) })
	require.Equal(t, 4, r.Hosts)
	require.Equal(t, 32, r.GPUs)
	require.Len(t, r.Heat.Rows, 32)
	late := r.latest(100)
	require.Len(t, late, 8)
	for _, l := range late {
		require.True(t, strings.HasPrefix(l.name, "gpu-003/"), l.name)
		require.InDelta(t, 0.5, l.share, 0.15)
	}
	require.NotEmpty(t, r.Advice)
	require.Contains(t, r.Advice[0].What, "Even out what comes before")
}

func TestAHealthyJobHasNothingToChange(t *testing.T) {
	r := read(t, nil)
	require.Empty(t, r.Advice)
	require.Empty(t, r.latest(100))
	require.Len(t, r.Costs, 3)
	require.Less(t, r.WaitingOverall, 0.05)
	require.Less(t, r.SlowestRelative, 1.1)
}

// TestAShortJobHasNoHoles: of half an hour a column is shorter than a window; what
// the windows cover is not shown as pauses, and no operation comes and goes.
func TestAShortJobHasNoHoles(t *testing.T) {
	r := read(t, nil)
	first, last, holes := -1, -1, 0
	for i, p := range r.Health {
		if !known(p.Relative) {
			continue
		}
		if first < 0 {
			first = i
		} else {
			holes += i - last - 1
		}
		last = i
		require.InDelta(t, 1, p.Relative, 0.05)
	}
	require.Less(t, first, 5)
	require.Greater(t, last, Columns-5)
	require.Zero(t, holes)
}
