package score

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collwatch/collwatch/sim"
)

// FirstSeed is the first seed of a measurement. Seeds below it are for those
// who work on detectors.
const FirstSeed = 1000

// Cases are all scenarios at all their severities, times n seeds, seed by seed.
// The first seed is the scenario as it is described; the others move the fault
// elsewhere, rename hosts and NICs, roughen the noise and change labels in turn.
func Cases(n int) []Case {
	var out []Case
	for i := range n {
		for _, s := range sim.Scenarios() {
			if s.After > longRun {
				continue
			}
			levels := s.Levels
			if levels == nil {
				levels = []float64{1}
			}
			for _, level := range levels {
				out = append(out, Case{Scenario: s, Params: vary(s, i, level), Round: i})
			}
		}
	}
	return out
}

// longRun is the length from which a scenario is a day and no case.
const longRun = 6 * time.Hour

// daysOfRules is the number of days per kind of cluster that the simple rules
// see: they take longer than all the rest, and a false alarm of theirs is no rare
// event that takes thousands of node-days to show.
const daysOfRules = 20

// daysPerRound spreads the days over the rounds of the scenarios, so that a
// measurement which is cut short has enough of both.
const daysPerRound = 10

// Days are n days of each scenario in which only normal things happen.
func Days(n int) []Case {
	var out []Case
	for i := range n {
		for _, s := range sim.Scenarios() {
			if s.After > longRun {
				out = append(out, Case{Scenario: s, Params: sim.Params{Seed: uint64(FirstSeed + i), Elsewhere: true}, Round: i / daysPerRound, NoRules: i >= daysOfRules})
			}
		}
	}
	return out
}

func vary(s sim.Scenario, i int, level float64) sim.Params {
	p := sim.Params{Seed: uint64(FirstSeed + i), Severity: level, Elsewhere: i > 0}
	shape := s.Shape(s.Hosts)
	switch i % 4 {
	case 2:
		p.Prefix = "dgx-h-"
		p.NICs = gaps(len(shape.NICs))
		if s.Hosts == 16 && i%8 == 6 {
			p.Hosts = 24
		}
	case 3:
		noise := sim.Rough()
		p.Noise = &noise
		p.Dialect = func(d *sim.Dialect) {
			if d.HostLabel != "" {
				d.HostLabel = "hostname"
			}
			d.Domain, d.NodeFQDN = "cluster.example", true
		}
	}
	return p
}

// gaps are device names as on hosts whose other cards sit between.
func gaps(n int) []string {
	if n != 8 {
		return nil
	}
	return []string{"mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11"}
}

// Telemetries are the inputs of the ablation, the poorest first, then other
// forms of the collective series.
func Telemetries() []string {
	return []string{
		onlyInspector, stockExporters, withSwitches, withPlugin,
		"Inspector G1", "Inspector G3", "no Inspector",
	}
}

const (
	onlyInspector  = "Inspector only"
	stockExporters = "and DCGM and node_exporter with their stock fields"
	withSwitches   = "and switches"
	withPlugin     = "and the collwatch exporter"
)

// ablate changes the exporters of a case.
func ablate(name string, shape sim.Shape) func(*sim.Dialect) {
	return func(d *sim.Dialect) {
		switch name {
		case onlyInspector:
			d.HostLabel, d.NodeExporter, d.JobMap, d.Switches, d.Pause, d.NodeLabels, d.Plugin = "", false, false, "", "", false, false
		case stockExporters, withSwitches, withPlugin:
			d.Reasons, d.SMActive, d.PCIeLink, d.XidCount, d.HWCounters, d.JobMap = false, false, false, false, false, false
			d.Switches, d.Plugin = "", name == withPlugin
			if name != stockExporters {
				d.Switches = switchesOf(shape.Fabric)
			}
		case "Inspector G1":
			d.Inspector = "G1"
		case "Inspector G3":
			d.Inspector = "G3"
		case "no Inspector":
			d.Inspector = ""
		}
	}
}

// holds says whether the truth of a scenario is still that with a telemetry.
// Scenarios on -x say what is right when a source is missing, so they mean
// nothing where it is there. A drained host is known from the scheduler only.
func holds(id, telemetry string) bool {
	switch telemetry {
	case withSwitches, withPlugin:
		return !strings.HasSuffix(id, "-x") && id != "S03-c"
	case stockExporters:
		return id != "S03-c"
	}
	return true
}

// switchesOf is the exporter that a fabric's switches have, "" for none.
func switchesOf(f sim.FabricKind) string {
	switch f {
	case sim.FabricToR:
		return "cumulus"
	case sim.FabricEFA:
		return ""
	}
	return "infiniband"
}

// Ablations are the scenarios, as they are described, with each telemetry. The
// first n telemetries only where few is above 0.
func Ablations(n, few int) []Case {
	var out []Case
	names := Telemetries()
	if few > 0 {
		names = names[:min(few, len(names))]
	}
	for _, c := range Cases(n) {
		if c.Params.Severity != 1 || c.Scenario.Hosts > 40 {
			continue
		}
		for _, name := range names {
			if !holds(c.Scenario.ID, name) {
				continue
			}
			// The seed decides what else varies, the telemetry only what is seen.
			c.Telemetry, c.Params.Dialect = name, ablate(name, c.Scenario.Shape(c.Scenario.Hosts))
			out = append(out, c)
		}
	}
	return out
}

// PlayAll plays cases with a number of workers and calls each in the order of
// the cases. It returns the first error, of each or of a case.
func PlayAll(ctx context.Context, cases []Case, workers int, each func(*Outcome) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]chan result, len(cases))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(cases) || ctx.Err() != nil {
					return
				}
				o, err := Play(ctx, cases[i])
				results[i] <- result{o, err}
			}
		})
	}
	var failed error
	for i := range cases {
		var r result
		select {
		case r = <-results[i]:
		case <-ctx.Done():
			r.err = ctx.Err()
		}
		if r.err != nil {
			failed = r.err
			break
		}
		if failed = each(r.o); failed != nil {
			break
		}
	}
	cancel()
	wg.Wait()
	return failed
}

type result struct {
	o   *Outcome
	err error
}
