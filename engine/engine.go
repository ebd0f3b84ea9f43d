package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// Reader fills snapshots. *signals.Reader is one.
type Reader interface {
	Read(ctx context.Context, at time.Time) *signals.Snapshot
	WarmUp(ctx context.Context, from, to time.Time, step time.Duration, yield func(*signals.Snapshot) error) error
}

// Parts are the packages that a tick walks through, from left to right.
type Parts struct {
	Reader    Reader
	Topology  *topology.Store
	Bank      *detectors.Bank
	Diagnoser *diagnosis.Diagnoser
	Incidents *incidents.Manager
	// Before is called with each snapshot before anything is concluded from
	// it; nil does nothing.
	Before func(*signals.Snapshot)
	// After is called with each diagnosis before incidents take it over; nil
	// does nothing.
	After func(*diagnosis.Result)
	// Keep is the number of evaluations that Recent remembers, 20 if zero.
	Keep int
}

// Engine walks the line of one tick. It is used by one goroutine at a time:
// two ticks never overlap.
type Engine struct {
	parts Parts
	stats *ring
	names []string // of the detectors
}

// New returns an engine over its parts.
func New(p Parts) *Engine {
	if p.Keep <= 0 {
		p.Keep = 20
	}
	return &Engine{parts: p, stats: newRing(p.Keep), names: p.Bank.Names()}
}

// Tick is what one evaluation did.
type Tick struct {
	At       time.Time     // evaluation time
	Took     time.Duration // wall time of the whole tick
	Query    time.Duration // the part spent in waiting for answers
	Series   int           // rows in all frames
	Findings int
	Verdicts int
	Events   []incidents.Event
	// Snapshot, Report and Result are what the tick saw and concluded; they
	// are valid until the next tick. Result is nil if the tick failed.
	Snapshot *signals.Snapshot
	Report   *detectors.Report
	Result   *diagnosis.Result
	// Err says why the tick concluded nothing. Incidents keep their state.
	Err error

	failure   string // the reason of Err, for metrics
	detectors []string
	took      []time.Duration // of each detector
}

// Tick evaluates once at time at. A panic below is a failed tick, not the end
// of the daemon: the state of incidents is kept and the error says where.
func (e *Engine) Tick(ctx context.Context, at time.Time) (t Tick) {
	t.At, t.detectors = at, e.names
	start := time.Now()
	defer func() {
		t.Took = time.Since(start)
		e.stats.add(t)
	}()
	defer t.survive()
	t.Snapshot = e.parts.Reader.Read(ctx, at)
	t.Query = time.Since(start)
	e.conclude(ctx, &t)
	return t
}

// survive makes a panic a failed tick. It has to be deferred.
func (t *Tick) survive() {
	if p := recover(); p != nil {
		t.Err = fmt.Errorf("tick at %s: panic: %v\n%s", t.At.UTC().Format(time.RFC3339), p, debug.Stack())
		t.Result, t.failure = nil, "panic"
	}
}

// conclude walks the line behind the reader.
func (e *Engine) conclude(ctx context.Context, t *Tick) {
	if err := ctx.Err(); err != nil {
		t.Err, t.failure = fmt.Errorf("tick at %s: %w", t.At.UTC().Format(time.RFC3339), err), "stopped"
		return
	}
	for _, f := range t.Snapshot.Frames {
		t.Series += f.Len()
	}
	if e.parts.Before != nil {
		e.parts.Before(t.Snapshot)
	}
	fabric := e.parts.Topology.Update(t.Snapshot)
	t.Report = e.parts.Bank.Observe(t.Snapshot)
	t.took = e.parts.Bank.Took()
	t.Result = e.parts.Diagnoser.Diagnose(t.Snapshot, t.Report, fabric)
	e.parts.Bank.Freeze(t.Result.Suspect)
	if e.parts.After != nil {
		e.parts.After(t.Result)
	}
	t.Events = e.parts.Incidents.Apply(t.Result)
	t.Findings, t.Verdicts = len(t.Report.Findings), len(t.Result.Verdicts)
}

// WarmUp teaches baselines from history, so that a restart is not blind until
// new samples have gathered. Nothing is concluded from it.
func (e *Engine) WarmUp(ctx context.Context, from, to time.Time, step time.Duration) error {
	return e.parts.Reader.WarmUp(ctx, from, to, step, func(s *signals.Snapshot) error {
		s.Warming = true
		e.parts.Topology.Update(s)
		e.parts.Bank.Observe(s)
		return ctx.Err()
	})
}

// Recent returns the last evaluations, newest first, without what they saw.
func (e *Engine) Recent() []Tick { return e.stats.list() }
