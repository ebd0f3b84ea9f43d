package signals

import (
	"context"
	"fmt"
	"time"

	"github.com/collwatch/collwatch/promapi"
)

// WarmUp replays history so that baselines exist when the first live tick is
// judged. It reads raw samples in chunks and cuts them into the ticks that a
// live daemon would have had, so yield sees what that would have seen, in the
// order of time, with Snapshot.Warming set. Range queries would lose the
// samples' own times, and with them rates and the writes of files.
//
// The first error of yield or of ctx ends it; failed queries are in the
// snapshots, as in Read.
func (r *Reader) WarmUp(ctx context.Context, from, to time.Time, step time.Duration, yield func(*Snapshot) error) error {
	if step <= 0 {
		step = r.opts.Interval
	}
	h := newHistory(ctx, r, from.Truncate(step), to.Truncate(step), step)
	defer h.stop()
	for h.next() {
		for at := h.begin.Add(step); !at.After(h.end); at = at.Add(step) {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("warm-up at %s: %w", at.UTC().Format(time.RFC3339), err)
			}
			if err := yield(r.digest(at, true)); err != nil {
				return fmt.Errorf("warm-up at %s: %w", at.UTC().Format(time.RFC3339), err)
			}
		}
	}
	return nil
}

// release gives the memory of answers back, which of history are many times what a
// tick needs.
func (r *Reader) release() {
	for _, q := range r.queries {
		q.res, q.coming, q.pieces = promapi.Result{}, coming{}, nil
	}
}

// piece is what one tick sees of the samples of a series: those in [lo, hi).
type piece struct{ lo, hi int32 }

// cut moves the pieces of all series of a chunk to the samples in (from, to]. Ticks
// come in the order of time, so pieces move over each sample once.
func (q *query) cut(from, to int64) {
	for i := len(q.pieces); i < q.res.Len(); i++ {
		q.pieces = append(q.pieces, piece{q.res.Offsets[i], q.res.Offsets[i]})
	}
	for i := range q.pieces {
		p, end := &q.pieces[i], q.res.Offsets[i+1]
		for p.hi < end && q.res.Samples[p.hi].T <= to {
			p.hi++
		}
		for p.lo < p.hi && q.res.Samples[p.lo].T <= from {
			p.lo++
		}
	}
}
