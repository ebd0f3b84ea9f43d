package promapi

import (
	"context"
	"fmt"
	"sync"
	"time"
)

type breakerState uint8

const (
	breakerClosed breakerState = iota // ask
	breakerOpen                       // do not ask
	breakerProbe                      // ask for a sign of life first
)

const (
	firstPause   = 10 * time.Second
	longestPause = 2 * time.Minute
)

// breaker spares a server that fails again and again: after some failures in a
// row only a probe is sent, at growing distances, until it succeeds.
type breaker struct {
	after int

	mu      sync.Mutex
	fails   int
	probing bool
	next    time.Time // of the next probe
	last    *Error
	renewed time.Time // when secrets were last read again
}

// state says what to do now. A caller who is told to probe must end that by
// success, or by failure and probed.
func (b *breaker) state(now time.Time) (breakerState, *Error, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fails < b.after:
		return breakerClosed, nil, time.Time{}
	case b.probing || now.Before(b.next):
		return breakerOpen, b.last, b.next
	}
	b.probing = true
	return breakerProbe, b.last, b.next
}

func (b *breaker) success() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails, b.probing, b.last = 0, false, nil
}

func (b *breaker) failure(now time.Time, err *Error, rand func() float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails >= b.after && now.Before(b.next) {
		return // was on its way already
	}
	b.fails++
	b.last = err
	if b.fails >= b.after {
		b.next = now.Add(pause(b.fails-b.after, rand))
	}
}

// probed lets the next probe begin when its time comes.
func (b *breaker) probed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}

// mayRenew says whether secrets may be read again, at most once in every.
func (b *breaker) mayRenew(now time.Time, every time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.renewed.IsZero() && now.Sub(b.renewed) < every {
		return false
	}
	b.renewed = now
	return true
}

// pause doubles with n and is spread by a quarter to either side, so that
// several clients do not come back at the same time.
func pause(n int, rand func() float64) time.Duration {
	d := longestPause
	if n < 4 {
		d = min(firstPause<<n, longestPause)
	}
	return time.Duration(float64(d) * (0.75 + rand()/2))
}

func refusal(source string, last *Error, at time.Time) *Error {
	e := *last
	e.Source = source
	e.Msg = fmt.Sprintf("not asked, the next probe is at %s; the last failure was: %s", at.UTC().Format(time.RFC3339), last.Msg)
	return &e
}

// backoff keeps away from a server that is overloaded.
type backoff struct {
	rand func() float64

	mu    sync.Mutex
	hits  int
	until time.Time
}

// hit notes that the server asked for less, until after a pause if it said how
// long.
func (b *backoff) hit(now time.Time, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Before(b.until) {
		return // of a request sent before the server was known to be overloaded
	}
	if after == 0 {
		d := time.Minute
		if b.hits < 6 {
			d = time.Second << b.hits
		}
		after = time.Duration(float64(d) * (0.5 + b.rand()/2))
	}
	b.hits++
	b.until = now.Add(after)
}

func (b *backoff) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hits, b.until = 0, time.Time{}
}

// wait returns when the server may be asked again, or at once with an error if
// that is longer away than limit.
func (b *backoff) wait(ctx context.Context, now func() time.Time, limit time.Duration) error {
	b.mu.Lock()
	left := b.until.Sub(now())
	b.mu.Unlock()
	if left <= 0 {
		return nil
	}
	if at, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(at))
	}
	if left > limit {
		return fmt.Errorf("the server is overloaded and is left alone for another %s", left.Round(time.Millisecond))
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
