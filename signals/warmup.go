package signals

import (
	"context"
	"fmt"
	"time"

	"github.com/collwatch/collwatch/promapi"
)

// History is read in chunks. Raw samples of 100,000 series over five minutes are
// about as large as the largest live answer. Where there are fewer series chunks
// grow: a server needs more time to find a series than to give a hundred samples
// of it. They stay smaller than that answer, since a small daemon has to stay small
// while it starts.
const (
	warmChunk   = 5 * time.Minute
	longChunk   = 40 * time.Minute
	fewSamples  = 500_000
	manySamples = 2_000_000
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
	from, to = from.Truncate(step), to.Truncate(step)
	defer r.release()
	chunk := warmChunk
	for begin := from; begin.Before(to); {
		end := begin.Add(chunk).Truncate(step)
		if !end.After(begin) {
			end = begin.Add(step)
		}
		if end.After(to) {
			end = to
		}
		r.compact()
		restore := r.widen(end.Sub(begin))
		r.ask(ctx, end)
		restore()
		if read := r.samples(); 2*read < fewSamples {
			chunk = min(2*chunk, longChunk)
		} else if read > manySamples {
			chunk = max(chunk/2, warmChunk)
		}
		r.askShaped(ctx, promapi.Window{Start: begin.Add(step), End: end, Step: step})
		for at := begin.Add(step); !at.After(end); at = at.Add(step) {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("warm-up at %s: %w", at.UTC().Format(time.RFC3339), err)
			}
			if err := yield(r.digest(at, true)); err != nil {
				return fmt.Errorf("warm-up at %s: %w", at.UTC().Format(time.RFC3339), err)
			}
		}
		begin = end
	}
	return nil
}

// samples is the size of the answers at hand.
func (r *Reader) samples() (n int) {
	for _, q := range r.queries {
		n += len(q.res.Samples)
	}
	return n
}

// release gives the memory of answers back, which of history are many times what a
// tick needs.
func (r *Reader) release() {
	for _, q := range r.queries {
		q.res = promapi.Result{}
	}
}

// askShaped reads history of expressions, whose samples have no time of their
// own.
func (r *Reader) askShaped(ctx context.Context, w promapi.Window) {
	for _, q := range r.queries {
		if q.family.shape != "" && q.custom < 0 && !q.skipped {
			q.err = q.src.q.Range(ctx, q.expr, w, &q.res)
			q.note(w.End)
		}
	}
}

// widen makes the queries read a chunk instead of a tick. Queries whose
// samples carry the evaluation time are not widened: history of theirs would
// all seem to be of one moment.
func (r *Reader) widen(chunk time.Duration) (restore func()) {
	was := make([]string, len(r.queries))
	for i, q := range r.queries {
		was[i] = q.expr
		if q.custom < 0 && q.family.shape == "" {
			q.okAt = time.Time{}
			q.expr = q.family.query(q.names, r.opts.Selector, chunk+q.window)
		}
	}
	return func() {
		for i, q := range r.queries {
			q.expr = was[i]
		}
	}
}
