package signals

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

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

// Who reads ahead may take more: two chunks of these many samples are 256 MB. A day
// of 6,000 series is then read in six chunks, few enough for the default limit of
// requests a second to be no matter.
const (
	aheadChunk   = 6 * time.Hour
	aheadSamples = 8_000_000
	aheadGrowth  = 8
)

// history is a walk over the past, a chunk at a time.
type history struct {
	r      *Reader
	ctx    context.Context //nolint:containedctx // lives as long as one call of WarmUp
	cancel context.CancelFunc
	to     time.Time
	step   time.Duration

	chunk, longest time.Duration
	absent         map[*query]bool // has no series in all of the time

	begin, end       time.Time     // of the chunk at hand
	asked, askedTill time.Time     // of the chunk on its way
	pending          chan struct{} // closed when that has come; nil without one
}

func newHistory(ctx context.Context, r *Reader, from, to time.Time, step time.Duration) *history {
	h := &history{r: r, begin: from, end: from, to: to, step: step, chunk: warmChunk, longest: longChunk}
	h.ctx, h.cancel = context.WithCancel(ctx)
	if r.opts.ReadAhead {
		h.longest = aheadChunk
		h.look(from)
	}
	return h
}

// stop waits for what is on its way.
func (h *history) stop() {
	h.cancel()
	if h.pending != nil {
		<-h.pending
	}
	h.r.release()
}

// next makes the answers of the next chunk the Reader's, and asks for the one after
// it. It returns false at the end.
func (h *history) next() bool {
	if !h.end.Before(h.to) {
		return false
	}
	if h.pending == nil {
		h.r.compact()
		h.send(h.end)
	}
	h.take()
	for h.tooMuch() && h.ctx.Err() == nil {
		// Half a day in one answer is over the limit of some server. What fits is
		// not known, so it is asked for the same time in smaller chunks.
		h.chunk = max(h.askedTill.Sub(h.asked)/4, warmChunk)
		h.longest = h.chunk
		h.send(h.asked)
		h.take()
	}
	h.begin, h.end = h.asked, h.askedTill
	h.resize()
	if h.mayReadAhead() && h.end.Before(h.to) {
		h.send(h.end)
	}
	return true
}

// mayReadAhead is false where the label sets may have to be renewed, which must not
// happen while answers that refer to them are on their way.
func (h *history) mayReadAhead() bool {
	if !h.r.opts.ReadAhead {
		return false
	}
	for _, s := range h.r.sources {
		if !h.r.opts.KeepInterner && s.in.Len() > compactFloor {
			return false
		}
	}
	return true
}

// tooMuch says that a plain query failed, and may not have with a smaller chunk.
func (h *history) tooMuch() bool {
	if h.askedTill.Sub(h.asked) <= warmChunk {
		return false
	}
	return slices.ContainsFunc(h.r.queries, func(q *query) bool {
		if q.err == nil || !q.plain() {
			return false
		}
		switch promapi.ClassOf(q.err) {
		case promapi.ClassTooExpensive, promapi.ClassTooMany, promapi.ClassSlow:
			return true
		}
		return false
	})
}

// resize chooses the size of the next chunk by that of the one at hand.
func (h *history) resize() {
	read, took := h.r.samples(), h.end.Sub(h.begin)
	switch {
	case h.r.opts.ReadAhead:
		fits := time.Duration(float64(took) * aheadSamples / float64(max(read, 1)))
		if most := aheadGrowth * took; fits > most || fits < 0 {
			fits = most
		}
		h.chunk = min(max(fits, warmChunk), h.longest)
	case 2*read < fewSamples:
		h.chunk = min(2*h.chunk, h.longest)
	case read > manySamples:
		h.chunk = max(h.chunk/2, warmChunk)
	}
}

// samples is the size of the answers at hand.
func (r *Reader) samples() (n int) {
	for _, q := range r.queries {
		n += len(q.res.Samples)
	}
	return n
}

// coming is the answer of a query that is on its way.
type coming struct {
	res     promapi.Result
	err     error
	skipped bool
}

// plain says that the samples of a query have their own times.
func (q *query) plain() bool { return q.custom < 0 && q.family.shape == "" }

// send asks for the chunk that begins at begin, and returns at once.
func (h *history) send(begin time.Time) {
	end := begin.Add(h.chunk).Truncate(h.step)
	if !end.After(begin) {
		end = begin.Add(h.step)
	}
	if end.After(h.to) {
		end = h.to
	}
	h.asked, h.askedTill = begin, end
	done := make(chan struct{})
	h.pending = done
	for _, q := range h.r.queries {
		q.coming.skipped = h.absent[q] || (h.absent == nil && q.rests())
		if !h.r.opts.ReadAhead {
			// Nobody looks at the chunk before any more: its memory is enough for both.
			q.coming.res, q.res = q.res, promapi.Result{}
		}
	}
	go func() {
		defer close(done)
		var g errgroup.Group
		g.SetLimit(h.r.opts.Concurrency)
		for _, q := range h.r.queries {
			if !q.coming.skipped {
				g.Go(func() error {
					q.coming.err = h.ask(q, begin, end)
					return nil
				})
			}
		}
		_ = g.Wait()
	}()
}

// ask reads the chunk of one query. Where samples carry the time of the evaluation a
// range query gives one for each tick.
func (h *history) ask(q *query, begin, end time.Time) error {
	if q.plain() {
		expr := q.family.query(q.names, q.selector, end.Sub(begin)+q.window)
		return q.src.q.Instant(h.ctx, expr, end, &q.coming.res)
	}
	w := promapi.Window{Start: begin.Add(h.step), End: end, Step: h.step}
	err := q.src.q.Range(h.ctx, q.expr, w, &q.coming.res)
	if q.custom >= 0 && promapi.ClassOf(err) == promapi.ClassConfig {
		// A range selector of the user's own has no range of its own.
		return q.src.q.Instant(h.ctx, q.expr, end, &q.coming.res)
	}
	return err
}

// take waits for the chunk on its way.
func (h *history) take() {
	<-h.pending
	h.pending = nil
	for _, q := range h.r.queries {
		q.skipped, q.pieces = q.coming.skipped, q.pieces[:0]
		if q.skipped {
			q.idle++
			q.err = nil
			q.res.Reset()
			continue
		}
		q.res, q.coming.res = q.coming.res, q.res
		q.err = q.coming.err
		q.note(h.askedTill)
	}
}

// look finds out which families have series at all between from and the end: one
// question a source saves one a chunk for each of the others. A source that cannot
// say, or says that there is nothing at all, is asked for all of them.
func (h *history) look(from time.Time) {
	absent := map[*query]bool{}
	for _, s := range h.r.sources {
		var selectors []string
		var mine []*query
		back := time.Duration(0)
		for _, q := range h.r.queries {
			if q.src == s && q.plain() {
				mine, back = append(mine, q), max(back, q.window)
				selectors = append(selectors, q.family.selector(q.names, q.selector))
			}
		}
		if len(mine) == 0 {
			continue
		}
		w := promapi.Window{Start: from.Add(-back), End: h.to}
		names, err := s.q.LabelValues(h.ctx, "__name__", selectors, w)
		if err != nil || len(names) == 0 {
			return
		}
		for _, q := range mine {
			re, err := regexp.Compile("^(?:" + strings.Join(q.names, "|") + ")$")
			if err == nil && !slices.ContainsFunc(names, re.MatchString) {
				absent[q] = true
			}
		}
	}
	h.absent = absent
}
