package signals

import (
	"fmt"
	"math"

	"github.com/collwatch/collwatch/promapi"
)

const saturated = 1<<32 - 1

// answer is one query's result on its way into frames.
type answer struct {
	src    *source
	family string
	res    *promapi.Result
	q      *query
	// Samples after to belong to another tick. Of history, of which many ticks are
	// read at once, pieces are what the answer of this one would have been.
	to     int64
	pieces []piece
}

// of returns the samples of a series, none if it is not in the tick's own answer.
func (a *answer) of(i int) []promapi.Sample {
	if a.pieces == nil {
		return a.res.Of(i)
	}
	p := a.pieces[i]
	return a.res.Samples[p.lo:p.hi]
}

// firstPass binds what is new, and reads relations, files and changes of
// values, which the rows of this very tick depend on.
func (r *Reader) firstPass(a *answer) {
	res := a.res
	if n := len(res.Refs); n > r.opts.MaxSeries {
		res.Refs = res.Refs[:r.opts.MaxSeries]
		a.q.err = &promapi.Error{Class: promapi.ClassIncomplete, Source: a.src.name, Msg: fmt.Sprintf(
			"%d series of family %s are more than %d: raise max_series or narrow the selector", n, a.family, r.opts.MaxSeries)}
	}
	for i, ref := range res.Refs {
		samples := a.of(i)
		if len(samples) == 0 {
			continue
		}
		st := a.src.at(ref)
		if st.rule < 0 {
			if st.rule == ignored {
				continue
			}
			if r.pick(st, a.family, a.src.in.Labels(ref)); st.rule == ignored {
				continue
			}
		}
		st.seen = a.to
		c := &r.book.rules[st.rule]
		if c.Join != JoinNone {
			r.join(st, c, a, ref, samples)
		}
	}
}

// secondPass looks for changes of values that prove a write of their file. It
// needs bound series, and these need the relations of all answers.
func (r *Reader) secondPass(a *answer) {
	res := a.res
	for i, ref := range res.Refs {
		st := &a.src.state[ref]
		if st.rule < 0 {
			continue
		}
		samples := a.of(i)
		if len(samples) == 0 {
			continue
		}
		if st.epoch != r.ident.epoch {
			r.bind(st, a.src.in.Labels(ref))
		}
		if st.dump < 0 {
			continue
		}
		r.dumps.groups[st.dump].seenTick = r.tick
		v, known := st.lastV, st.lastT != 0
		for _, s := range samples {
			if s.T <= st.lastT || s.T > a.to {
				continue
			}
			if known && s.V != v {
				r.dumps.change(st.dump, s.T)
			}
			v, known = s.V, true
		}
	}
}

// thirdPass turns samples into rows.
func (r *Reader) thirdPass(a *answer) {
	res := a.res
	for i, ref := range res.Refs {
		st := &a.src.state[ref]
		if st.rule < 0 {
			continue
		}
		samples := a.of(i)
		if len(samples) == 0 {
			continue
		}
		c := &r.book.rules[st.rule]
		for len(samples) > 0 && samples[0].T <= st.lastT {
			samples = samples[1:]
		}
		for len(samples) > 0 && samples[len(samples)-1].T > a.to {
			samples = samples[:len(samples)-1]
		}
		if len(samples) == 0 {
			continue
		}
		newest := samples[len(samples)-1].T
		if st.pair >= 0 && r.pairs[st.pair].lastT < newest {
			r.pairs[st.pair].lastT = newest
		}
		if st.slot < 0 {
			st.lastT, st.lastV = newest, samples[len(samples)-1].V
			continue
		}
		switch {
		case c.Dumped:
			r.window(st, c, samples)
		case c.Type.counts():
			r.counter(st, c, samples)
		case c.Type == Increment:
			r.increment(st, c, samples)
		default:
			r.gauge(st, c, samples)
		}
	}
}

// gauge reads values at moments.
func (r *Reader) gauge(st *series, c *compiled, samples []promapi.Sample) {
	lo, hi, last, lastT := math.Inf(1), math.Inf(-1), math.NaN(), int64(0)
	for _, s := range samples {
		v, ok := r.sane(st, c, s.V)
		if !ok {
			continue
		}
		lo, hi, last, lastT = math.Min(lo, v), math.Max(hi, v), v, s.T
	}
	n := samples[len(samples)-1]
	st.lastT, st.lastV = n.T, n.V
	if lastT != 0 {
		r.emit(st, c, row{t: lastT, v: last, delta: math.NaN(), lo: lo, hi: hi})
	}
}

// sane drops impossible values and turns the rest into the canonical unit.
func (r *Reader) sane(st *series, c *compiled, v float64) (float64, bool) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0) || (c.positive && (v < 0 || v > 9e18)):
		r.stats.note(c, noteSentinel)
		return 0, false
	case c.Type == Info:
		return 1, true
	case c.Max > 0 && v > c.Max:
		r.stats.note(c, noteRange)
		return 0, false
	case c.Values != nil:
		out, ok := c.Values[v]
		if !ok {
			r.stats.note(c, noteUnmapped)
		}
		return out, ok
	case c.Repair != NoRepair:
		out, ok := r.repairs[st.aux].gauge(v)
		if !ok {
			r.stats.note(c, noteUnit)
		}
		return out * c.scale, ok
	}
	v *= c.scale
	if c.limited && !c.Type.counts() && c.Type != Increment && !c.limit.holds(v) {
		r.stats.note(c, noteRange)
		return 0, false
	}
	return v, true
}

// counter reads a value that only grows. The rate over a gap is the average
// over the gap. A fall, a boot of its host, the way back after a misread value
// or an increase that cannot be leaves the interval unknown.
func (r *Reader) counter(st *series, c *compiled, samples []promapi.Sample) {
	prevT, prevV := st.lastT, st.lastV
	firstT := prevT
	delta, broken := 0.0, prevT == 0
	boot := int64(0)
	if st.host >= 0 {
		boot = r.boot[st.host]
	}
	for _, s := range samples {
		switch {
		case math.IsNaN(s.V) || math.IsInf(s.V, 0) || (c.positive && s.V > 9e18) || s.V < 0:
			r.stats.note(c, noteSentinel)
			continue
		case c.Saturates && s.V == saturated:
			r.stats.note(c, noteSaturated)
			broken = true
		case prevT == 0:
		case s.V < prevV:
			r.stats.note(c, noteReset)
			broken = true
			switch {
			case boot > prevT && boot <= s.T:
				st.dip = dip{} // it really began anew
			case st.dip.from <= s.V || prevV > st.dip.from:
				st.dip = dip{from: prevV, at: s.T}
			}
		case boot > prevT && boot <= s.T, st.dip.back(prevV, s.V, s.T):
			r.stats.note(c, noteReset)
			broken = true
			st.dip = dip{}
		default:
			delta += s.V - prevV
		}
		if firstT == 0 {
			firstT = s.T
		}
		prevT, prevV = s.T, s.V
	}
	if prevT == st.lastT {
		return
	}
	st.lastT, st.lastV = prevT, prevV
	rate := math.NaN()
	if broken || prevT == firstT {
		delta = math.NaN()
	} else {
		rate = delta / (float64(prevT-firstT) / 1000)
		if c.Repair != NoRepair {
			fixed, ok := r.repairs[st.aux].rate(rate)
			if !ok {
				r.stats.note(c, noteUnit)
				rate, delta = math.NaN(), math.NaN()
			} else if rate != 0 {
				delta *= fixed / rate
				rate = fixed
			}
		}
		rate *= c.scale
		delta *= c.scale
		if c.limited && !c.limit.holds(rate) {
			r.stats.note(c, noteRange)
			rate, delta = math.NaN(), math.NaN()
		}
	}
	r.emit(st, c, row{t: prevT, v: rate, delta: delta, lo: rate, hi: rate, blank: c.Saturates && prevV == saturated})
}

// increment reads a value that holds what was added since the sample before.
func (r *Reader) increment(st *series, c *compiled, samples []promapi.Sample) {
	prevT := st.lastT
	sum, n := 0.0, 0
	for _, s := range samples {
		if v, ok := r.sane(st, c, s.V); ok {
			sum += v
			n++
		}
	}
	last := samples[len(samples)-1]
	st.lastT, st.lastV = last.T, last.V
	if n == 0 {
		return
	}
	rate := math.NaN()
	if prevT != 0 && last.T > prevT {
		rate = sum / (float64(last.T-prevT) / 1000)
	}
	r.emit(st, c, row{t: last.T, v: rate, delta: sum, lo: rate, hi: rate})
}

// window reads a mean over a window that a file brought: one row per new
// write.
func (r *Reader) window(st *series, c *compiled, samples []promapi.Sample) {
	g := &r.dumps.groups[st.dump]
	lo, hi := math.Inf(1), math.Inf(-1)
	out, before := row{delta: math.NaN()}, st.lastT
	for _, s := range samples {
		m, ok := g.dumpAt(s.T, before, r.dumps.period)
		if !ok || m.t <= st.aux {
			continue
		}
		st.aux = m.t
		v, sane := r.sane(st, c, s.V)
		if !sane {
			continue
		}
		out.t, out.v, out.dump = s.T, v, m.mtime
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	n := samples[len(samples)-1]
	st.lastT, st.lastV = n.T, n.V
	switch {
	case out.t == 0:
		return
	case r.now-out.dump > 2*r.dumps.period+r.opts.Scrape.Milliseconds() && !r.catchingUp:
		r.stats.note(c, noteStale)
		return
	}
	out.lo, out.hi = lo, hi
	r.emit(st, c, out)
}
