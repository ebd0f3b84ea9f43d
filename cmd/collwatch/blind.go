package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collwatch/collwatch/engine"
)

// blindness remembers since when whole kinds of faults cannot be judged: an
// evaluation fails, a source is down, or what a family of detectors needs is
// missing everywhere. A host or a job without series is telemetry_gap's matter.
type blindness struct {
	after time.Duration // how long before somebody is told

	mu    sync.Mutex
	since map[string]time.Time // by what is wrong
	now   time.Time            // of the newest evaluation
}

func newBlindness(after time.Duration) *blindness {
	return &blindness{after: after, since: map[string]time.Time{}}
}

// observe takes an evaluation over. One that failed says nothing about what the
// one before could not see.
func (b *blindness) observe(t *engine.Tick) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = t.At
	seen := map[string]bool{}
	add := func(what string) {
		seen[what] = true
		if _, ok := b.since[what]; !ok {
			b.since[what] = t.At
		}
	}
	const failing = "evaluations fail"
	if t.Err != nil || t.Result == nil {
		add(failing)
		return
	}
	for _, h := range t.Result.Holds {
		switch {
		case h.Host != "" || h.Job != "":
		case len(h.Classes) == 0:
			add(h.Reason)
		default:
			add(fmt.Sprintf("%s (%d classes)", h.Reason, len(h.Classes)))
		}
	}
	maps.DeleteFunc(b.since, func(what string, _ time.Time) bool { return !seen[what] })
}

// state returns since when there is trouble that has lasted long enough, and
// what it is.
func (b *blindness) state() (time.Time, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var since time.Time
	var what []string
	for _, name := range slices.Sorted(maps.Keys(b.since)) {
		at := b.since[name]
		if b.now.Sub(at) < b.after {
			continue
		}
		what = append(what, name)
		if since.IsZero() || at.Before(since) {
			since = at
		}
	}
	return since, strings.Join(what, "; ")
}

// wait sets after anew: a reload.
func (b *blindness) wait(after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after = after
}
