package score

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/collwatch/collwatch/sim"
)

// FirstSeed is the first seed of a measurement. Seeds below it are for those
// who work on detectors.
const FirstSeed = 1000

// Cases are all scenarios at all their severities, times n seeds. The first
// seed is the scenario as it is described; the others move the fault elsewhere,
// rename hosts and NICs, roughen the noise and change labels in turn.
func Cases(n int) []Case {
	var out []Case
	for _, s := range sim.Scenarios() {
		if s.After > longRun {
			continue
		}
		levels := s.Levels
		if levels == nil {
			levels = []float64{1}
		}
		for _, level := range levels {
			for i := range n {
				out = append(out, Case{Scenario: s, Params: vary(s, i, level)})
			}
		}
	}
	return out
}

// longRun is the length from which a scenario is a day and no case.
const longRun = 6 * time.Hour

// Days are n days of each scenario in which only normal things happen.
func Days(n int) []Case {
	var out []Case
	for i := range n {
		for _, s := range sim.Scenarios() {
			if s.After > longRun {
				out = append(out, Case{Scenario: s, Params: sim.Params{Seed: uint64(FirstSeed + i), Elsewhere: true}})
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

// Telemetries are the inputs of the ablation, the poorest first.
func Telemetries() []string {
	return []string{"inspector only", "stock exporters", "inspector G1", "inspector G3", "no inspector"}
}

// ablate changes the exporters of a case.
func ablate(name string) func(*sim.Dialect) {
	return func(d *sim.Dialect) {
		switch name {
		case "inspector only":
			d.HostLabel, d.NodeExporter, d.JobMap, d.Switches, d.Pause = "", false, false, "", ""
		case "stock exporters":
			d.Reasons, d.SMActive, d.PCIeLink, d.XidCount, d.HWCounters, d.JobMap = false, false, false, false, false, false
		case "inspector G1":
			d.Inspector = "G1"
		case "inspector G3":
			d.Inspector = "G3"
		case "no inspector":
			d.Inspector = ""
		}
	}
}

// Ablations are the faults, as they are described, with each telemetry.
func Ablations(n int) []Case {
	var out []Case
	for _, name := range Telemetries() {
		for _, c := range Cases(n) {
			if c.Params.Severity == 1 && c.Scenario.Hosts <= 40 {
				c.Telemetry, c.Params.Dialect = name, ablate(name)
				out = append(out, c)
			}
		}
	}
	return out
}

// PlayAll plays cases with a number of workers and calls each in the order of
// the cases. It returns the first error.
func PlayAll(ctx context.Context, cases []Case, workers int, each func(*Outcome)) error {
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
		each(r.o)
	}
	cancel()
	wg.Wait()
	return failed
}

type result struct {
	o   *Outcome
	err error
}
