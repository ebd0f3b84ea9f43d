package embedprom

import (
	"context"
	"math"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/collwatch/collwatch/promapi"
)

const (
	// maxAhead bounds how far past the asked time a selector is read.
	maxAhead = 15 * 60 * 1000
	// aheadShare is the part of the whole budget that one selector may use.
	aheadShare = 8
)

// readAhead keeps, for each plain selector, the decoded samples of the time
// around its last query. A replay asks the same selectors tick after tick, and
// finding series and opening their chunks costs a hundred times more than the
// few new samples. What was read ahead of the evaluation time is never served
// before its time.
type readAhead struct {
	budget int

	mu      sync.Mutex
	windows map[string]*window
	clock   uint64
}

// window holds all samples of a selector in (lo, hi]. Series i has
// samples[offsets[i]:offsets[i+1]].
type window struct {
	mu      sync.Mutex
	lo, hi  int64
	sets    []labels.Labels
	refs    []promapi.Ref
	epoch   uint64
	offsets []int32
	samples []promapi.Sample
	// cursor[i] is the first sample of series i that is younger than start.
	cursor []int32
	start  int64
	asked  int64 // time of the last query

	size int    // as counted by readAhead, under its lock
	used uint64 // clock of the last use, under the lock of readAhead
}

func newReadAhead(budget int) *readAhead {
	return &readAhead{budget: budget, windows: make(map[string]*window)}
}

func (r *readAhead) window(expr string) *window {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.windows[expr]
	if !ok {
		w = &window{lo: math.MaxInt64, hi: math.MinInt64, asked: math.MinInt64, epoch: math.MaxUint64}
		if r.budget > 0 {
			r.windows[expr] = w
		}
	}
	r.clock++
	w.used = r.clock
	return w
}

// account notes the new size of w and forgets the windows that were not used
// for longest until all fit.
func (r *readAhead) account(w *window, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.size = size
	for {
		total, oldest := 0, ""
		for expr, o := range r.windows {
			total += o.size
			if o != w && (oldest == "" || o.used < r.windows[oldest].used) {
				oldest = expr
			}
		}
		if total <= r.budget || oldest == "" {
			return
		}
		delete(r.windows, oldest)
	}
}

// truncate is told that samples from minT on were written: windows no longer
// cover that time.
func (r *readAhead) truncate(minT int64) {
	r.mu.Lock()
	all := make([]*window, 0, len(r.windows))
	for _, w := range r.windows {
		all = append(all, w)
	}
	r.mu.Unlock()
	for _, w := range all {
		w.mu.Lock()
		w.hi = min(w.hi, minT-1)
		w.mu.Unlock()
	}
}

// instant answers a plain selector at t.
func (db *DB) instant(ctx context.Context, s *selector, t int64, dst *promapi.Result) error {
	w := db.ahead.window(s.expr)
	w.mu.Lock()
	defer w.mu.Unlock()
	maxt := t - s.offset
	mint := maxt - s.window
	if w.lo > mint || w.hi < maxt {
		if err := w.read(ctx, db.store, s.matchers, mint, maxt+w.ahead(maxt, db.ahead.budget/aheadShare), db.opts.MaxSamples); err != nil {
			return err
		}
		db.ahead.account(w, len(w.samples))
	}
	w.asked = maxt
	w.intern(db.opts.Interner)
	w.seek(mint)
	if s.raw {
		w.serveRaw(maxt, dst)
	} else {
		w.serveNewest(maxt, t, dst)
	}
	return nil
}

// ahead is how far past maxt to read: nothing on the first query or after a
// jump, else as far as the share of one selector allows, judged by the density
// of what was read last.
func (w *window) ahead(maxt int64, share int) int64 {
	step := maxt - w.asked
	if share <= 0 || w.asked == math.MinInt64 || step <= 0 || step > maxAhead {
		return 0
	}
	ahead := int64(maxAhead)
	if span := w.hi - w.lo; span > 0 && len(w.samples) > 0 {
		ahead = min(ahead, int64(float64(share)/float64(len(w.samples))*float64(span)))
	}
	return ahead
}

// read fills w with the samples of (lo, hi], staleness markers included.
func (w *window) read(ctx context.Context, store storage.Queryable, ms []*matcher, lo, hi int64, limit int) error {
	w.lo, w.hi = math.MaxInt64, math.MinInt64 // in case of an error
	w.sets, w.samples = w.sets[:0], w.samples[:0]
	w.offsets = append(w.offsets[:0], 0)
	w.epoch = math.MaxUint64
	q, err := store.Querier(lo+1, hi)
	if err != nil {
		return err
	}
	defer q.Close()
	set := q.Select(ctx, true, &storage.SelectHints{Start: lo + 1, End: hi}, ms...)
	var it chunkenc.Iterator
	for set.Next() {
		series := set.At()
		it = series.Iterator(it)
		before := len(w.samples)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind != chunkenc.ValFloat {
				continue // native histograms are of no use to any signal
			}
			if t, v := it.At(); t > lo && t <= hi {
				w.samples = append(w.samples, promapi.Sample{T: t, V: v})
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
		if len(w.samples) > limit {
			return errTooManySamples
		}
		if len(w.samples) == before {
			continue
		}
		w.sets = append(w.sets, series.Labels())
		w.offsets = append(w.offsets, int32(len(w.samples)))
	}
	if err := set.Err(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.lo, w.hi = lo, hi
	w.rewind()
	return nil
}

func (w *window) rewind() {
	w.cursor = append(w.cursor[:0], w.offsets[:len(w.sets)]...)
	w.start = math.MinInt64
}

// intern gives each series its Ref, again if the Interner was renewed.
func (w *window) intern(in *promapi.Interner) {
	if epoch := in.Epoch(); epoch != w.epoch {
		w.refs = w.refs[:0]
		var buf promapi.Labels
		for _, ls := range w.sets {
			buf = appendLabels(buf[:0], ls)
			w.refs = append(w.refs, in.Intern(buf))
		}
		w.epoch = epoch
	}
}

func appendLabels(dst promapi.Labels, ls labels.Labels) promapi.Labels {
	ls.Range(func(l labels.Label) {
		dst = append(dst, promapi.Label{Name: l.Name, Value: l.Value})
	})
	return dst
}

// seek moves all cursors to the first sample younger than mint.
func (w *window) seek(mint int64) {
	if mint < w.start {
		w.rewind()
	}
	for i, c := range w.cursor {
		end := w.offsets[i+1]
		for c < end && w.samples[c].T <= mint {
			c++
		}
		w.cursor[i] = c
	}
	w.start = mint
}

func (w *window) serveRaw(maxt int64, dst *promapi.Result) {
	for i, c := range w.cursor {
		begun := false
		for end := w.offsets[i+1]; c < end && w.samples[c].T <= maxt; c++ {
			if value.IsStaleNaN(w.samples[c].V) {
				continue
			}
			if !begun {
				dst.Begin(w.refs[i])
				begun = true
			}
			dst.Add(w.samples[c].T, w.samples[c].V)
		}
	}
}

func (w *window) serveNewest(maxt, t int64, dst *promapi.Result) {
	for i, c := range w.cursor {
		last := int32(-1)
		for end := w.offsets[i+1]; c < end && w.samples[c].T <= maxt; c++ {
			last = c
		}
		if last < 0 || value.IsStaleNaN(w.samples[last].V) {
			continue
		}
		dst.Begin(w.refs[i])
		dst.Add(t, w.samples[last].V)
	}
}
