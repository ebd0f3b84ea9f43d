package score

import (
	"context"
	"fmt"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
	"github.com/collwatch/collwatch/topology"
)

// Interval is the time between two evaluations, as in the daemon's default.
const Interval = 15 * time.Second

// Case is one run of one scenario.
type Case struct {
	Scenario  sim.Scenario
	Params    sim.Params
	Telemetry string // name of the telemetry, "" for the scenario's own
	// Round says which seed of its kind this is: runs go round by round, so that
	// one that is cut short has seen everything.
	Round int
	// NoRules leaves the simple rules out.
	NoRules bool
	// Watch sees each tick, with what it found; nil for nobody.
	Watch func(engine.Tick)
}

// String names the case so that it can be run again.
func (c Case) String() string {
	s := fmt.Sprintf("%s seed %d", c.Scenario.ID, c.Params.Seed)
	if c.Params.Severity != 0 && c.Params.Severity != 1 {
		s += fmt.Sprintf(" severity %.2f", c.Params.Severity)
	}
	if c.Params.Elsewhere {
		s += " elsewhere"
	}
	if c.Telemetry != "" {
		s += " " + c.Telemetry
	}
	return s
}

// Outcome is what the daemon did in one case.
type Outcome struct {
	Case   Case
	Truth  sim.Truth
	Start  time.Time
	Until  time.Time
	Nodes  int
	Events []incidents.Event
	// Alarms are those of the baselines, by their names.
	Alarms map[string][]Alarm
	Ticks  int
	// Wall is the time of the replay alone, Failed the number of ticks that
	// concluded nothing.
	Wall   time.Duration
	Failed int
}

// Play simulates a case and replays it through the daemon's own line.
func Play(ctx context.Context, c Case) (*Outcome, error) {
	db, err := embedprom.Open(embedprom.Options{})
	if err != nil {
		return nil, err
	}
	out, err := play(ctx, c, db)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	return out, nil
}

func play(ctx context.Context, c Case, db *embedprom.DB) (*Outcome, error) {
	sink := db.Appender()
	run, err := c.Scenario.New(c.Params, sink)
	if err != nil {
		return nil, err
	}
	if err := run.Cluster.Run(ctx, run.Until); err != nil {
		return nil, err
	}
	if err := sink.Commit(); err != nil {
		return nil, err
	}
	line, err := newLine(db.Querier())
	if err != nil {
		return nil, err
	}
	start := run.Cluster.Start()
	out := &Outcome{
		Case: c, Truth: run.Truth, Start: start, Until: start.Add(run.Until), Nodes: len(run.Cluster.Hosts), Alarms: map[string][]Alarm{},
	}
	rules := baselines()
	if c.NoRules {
		rules = nil
	}
	began := time.Now()
	err = line.Replay(ctx, start.Add(time.Minute), out.Until, Interval, func(t engine.Tick) error {
		out.Ticks++
		if c.Watch != nil {
			c.Watch(t)
		}
		if t.Err != nil {
			out.Failed++
			return nil //nolint:nilerr // a failed tick concludes nothing, as in the daemon
		}
		out.Events = append(out.Events, t.Events...)
		for i, r := range rules {
			if i == 0 {
				r.board.update(t.Snapshot)
			}
			out.Alarms[r.name] = append(out.Alarms[r.name], r.observe(t.Snapshot)...)
		}
		return nil
	})
	out.Wall = time.Since(began)
	return out, err
}

// newLine is the daemon's line with all settings at their defaults.
func newLine(q promapi.Querier) (*engine.Engine, error) {
	reader, err := signals.NewReader(signals.Options{Interval: Interval}, map[string]promapi.Querier{"sim": q})
	if err != nil {
		return nil, err
	}
	store := topology.NewStore(topology.Options{})
	return engine.New(engine.Parts{
		Reader: reader, Topology: store, Bank: detectors.NewBank(detectors.Options{Interval: Interval}),
		Diagnoser: diagnosis.New(diagnosis.Options{Interval: Interval}),
		Incidents: incidents.NewManager(incidents.Options{Interval: Interval}),
	}), nil
}
