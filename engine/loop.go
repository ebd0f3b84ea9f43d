package engine

import (
	"context"
	"time"

	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// Clock is where the live loop gets its time from.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or until ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the clock of the machine.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep implements Clock.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Live says how the live loop runs.
type Live struct {
	Interval    time.Duration
	QueryOffset time.Duration
	Clock       Clock
	// Each is called after each tick, in the loop's goroutine. missed is the
	// number of slots skipped since the tick before.
	Each func(t Tick, missed int)
}

// setBack is the number of intervals by which a clock may fall behind before
// waiting for it to catch up is worse than evaluating a time twice.
const setBack = 10

// Run ticks until ctx ends. Evaluation times are now − offset, cut down to a
// multiple of the interval, so that a replay meets the same times. A tick that
// takes longer than the interval skips slots; two ticks never overlap.
func (e *Engine) Run(ctx context.Context, l Live) error {
	last := time.Time{}
	for {
		at := promapi.Align(l.Clock.Now(), l.QueryOffset, l.Interval)
		if at.Before(last.Add(-setBack * l.Interval)) {
			last = at.Add(-l.Interval) // the clock was set back: time starts anew
		}
		if !at.After(last) {
			// Also after a small step backwards: wait for the first slot that is
			// new, at most one interval at a time.
			wait := min(last.Add(l.Interval).Sub(l.Clock.Now().Add(-l.QueryOffset)), l.Interval)
			if err := l.Clock.Sleep(ctx, max(wait, time.Millisecond)); err != nil {
				return err
			}
			continue
		}
		missed := 0
		if !last.IsZero() {
			missed = int(at.Sub(last)/l.Interval) - 1
		}
		last = at
		t := e.Tick(ctx, at)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		l.Each(t, missed)
	}
}

// Replay ticks over the past as the live loop would have, without its offset:
// the data are there. each may stop it with an error.
func (e *Engine) Replay(ctx context.Context, from, to time.Time, interval time.Duration, each func(Tick) error) error {
	for at := ceil(from, interval); !at.After(to); at = at.Add(interval) {
		t := e.Tick(ctx, at)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := each(t); err != nil {
			return err
		}
	}
	return nil
}

// Skim is Replay for long times: history is read in chunks instead of tick by tick,
// which costs the server a small part. What is concluded is the same, but for custom
// expressions that are range selectors, which are looked at once a chunk.
func (e *Engine) Skim(ctx context.Context, from, to time.Time, interval time.Duration, each func(Tick) error) error {
	return e.parts.Reader.WarmUp(ctx, ceil(from, interval).Add(-interval), to, interval, func(s *signals.Snapshot) error {
		s.Warming = false
		t := Tick{At: s.Time, Snapshot: s, detectors: e.names}
		func() {
			defer t.survive()
			e.conclude(ctx, &t)
		}()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return each(t)
	})
}

func ceil(t time.Time, d time.Duration) time.Time {
	c := t.Truncate(d)
	if c.Before(t) {
		c = c.Add(d)
	}
	return c
}
