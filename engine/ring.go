package engine

import "sync"

// ring keeps the last ticks for the status page.
type ring struct {
	mu   sync.Mutex
	tick []Tick
	next int
}

func newRing(n int) *ring { return &ring{tick: make([]Tick, 0, n)} }

// add keeps the figures of t and drops its snapshot, whose memory the next tick
// uses again.
func (r *ring) add(t Tick) {
	t.Snapshot, t.Report, t.Result = nil, nil, nil
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tick) < cap(r.tick) {
		r.tick = append(r.tick, t)
		return
	}
	r.tick[r.next] = t
	r.next = (r.next + 1) % len(r.tick)
}

// list returns the kept ticks, newest first.
func (r *ring) list() []Tick {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Tick, 0, len(r.tick))
	for i := range r.tick {
		out = append(out, r.tick[(r.next+len(r.tick)-1-i)%len(r.tick)])
	}
	return out
}
