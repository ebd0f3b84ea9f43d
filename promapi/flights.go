package promapi

import (
	"context"
	"errors"
	"sync"
)

// flights merges identical queries that are on their way at the same time. The
// first caller asks; the others copy its answer.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

type flight struct {
	done    chan struct{}
	waiting int // under the lock of flights
	res     Result
	err     error
}

// do runs ask, or waits for another caller who runs it under the same key.
func (f *flights) do(ctx context.Context, key string, dst *Result, ask func() error) error {
	for {
		f.mu.Lock()
		fl, ok := f.all[key]
		if !ok {
			return f.lead(key, dst, ask)
		}
		fl.waiting++
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-fl.done:
		}
		if errors.Is(fl.err, context.Canceled) {
			continue // the one who asked gave up, we did not
		}
		dst.copyFrom(&fl.res)
		return fl.err
	}
}

// lead is entered with the lock held.
func (f *flights) lead(key string, dst *Result, ask func() error) error {
	if f.all == nil {
		f.all = make(map[string]*flight)
	}
	fl := &flight{done: make(chan struct{})}
	f.all[key] = fl
	f.mu.Unlock()

	fl.err = ask()

	f.mu.Lock()
	delete(f.all, key)
	waiting := fl.waiting
	f.mu.Unlock()
	if waiting > 0 {
		fl.res.copyFrom(dst)
	}
	close(fl.done)
	return fl.err
}

func (r *Result) copyFrom(o *Result) {
	r.Refs = append(r.Refs[:0], o.Refs...)
	r.Offsets = append(r.Offsets[:0], o.Offsets...)
	r.Samples = append(r.Samples[:0], o.Samples...)
	r.Warnings = append([]string(nil), o.Warnings...)
	r.Infos = append([]string(nil), o.Infos...)
	r.Partial, r.Bytes = o.Partial, o.Bytes
}
