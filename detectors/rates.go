package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// rateRule says when the rate of one counter is unusual.
type rateRule struct {
	signal  signals.ID
	code    string
	pattern Pattern
	// floor is the least rate worth a word; ratio how far above the fabric's
	// median and the series' own past it must be. The floors are far below
	// the limits in public use (NVSentinel calls 10 symbol errors and 1 ack
	// timeout per second degraded), because here the comparison decides.
	floor, ratio float64
}

// parts says that a port has a series for each priority or cause, which are
// compared with their like only: seven priorities of eight are idle, and the
// median over all of them is that of idleness.
func (r *rateRule) parts() bool {
	switch r.signal {
	case signals.NICPauseRx, signals.NICPauseTx, signals.NICCNPHandled:
		return true
	}
	return false
}

// rateState is the past of one series.
type rateState struct {
	streak streak
	calm   float64
	n      uint16
	last   int64
}

// rateWatch compares the rate of each series with the fabric's median and with
// its own past. A counter that rises slowly for ever on a healthy fabric is
// judged by its rate against others, not by being non-zero; a whole fabric
// that rises is judged against its past.
type rateWatch struct {
	name  string
	rules []rateRule
	state []table[rateState] // by rule
	// fabric is what is usual on the fabric, by rule and part.
	fabric []map[string]fabricLevel
	split  map[string]*rateRows
	tmp    []float64
}

// fabricLevel is the calm level of the median over all series of a part, and
// their number at the last tick that had any.
type fabricLevel struct {
	calm float64
	n    int
}

// rateRows are the rows of one part.
type rateRows struct {
	ids    []signals.EntityID
	rates  []float64
	stamps []int64
}

// mostParts bounds the parts of a rule, as they come from labels.
const mostParts = 64

// rateLearn is how many calm samples make an own past.
const rateLearn = 8

func newRateWatch(name string, rules []rateRule) *rateWatch {
	w := &rateWatch{name: name, rules: rules, split: map[string]*rateRows{}}
	for range rules {
		w.state = append(w.state, table[rateState]{})
		w.fabric = append(w.fabric, map[string]fabricLevel{})
	}
	return w
}

func (w *rateWatch) Name() string { return w.name }

// Observe implements [Detector].
func (w *rateWatch) Observe(t *Tick, r *Report) {
	for i := range w.rules {
		f := t.Frames[w.rules[i].signal]
		if f.Len() > 0 {
			w.observe(t, i, f.Entity, f.Value, f.Stamp)
		}
		w.report(t, i, r)
	}
}

// observe takes one column of rates.
func (w *rateWatch) observe(t *Tick, i int, ids []signals.EntityID, rates []float64, stamps []int64) {
	if !w.rules[i].parts() {
		w.part(t, i, "", ids, rates, stamps)
		return
	}
	for _, rows := range w.split {
		rows.ids, rows.rates, rows.stamps = rows.ids[:0], rows.rates[:0], rows.stamps[:0]
	}
	for k, id := range ids {
		part := w.partOf(i, t.Entities.Of(id))
		rows := w.split[part]
		if rows == nil {
			rows = &rateRows{}
			w.split[part] = rows
		}
		rows.ids, rows.rates, rows.stamps = append(rows.ids, id), append(rows.rates, rates[k]), append(rows.stamps, stamps[k])
	}
	for part, rows := range w.split {
		w.part(t, i, part, rows.ids, rows.rates, rows.stamps)
	}
}

// partOf is the part of a rule that a series belongs to.
func (w *rateWatch) partOf(i int, e signals.Entity) string {
	if !w.rules[i].parts() {
		return ""
	}
	if _, known := w.split[e.Detail]; !known && len(w.split) >= mostParts {
		return ""
	}
	return e.Detail
}

// part takes the rates of series that are like each other.
func (w *rateWatch) part(t *Tick, i int, part string, ids []signals.EntityID, rates []float64, stamps []int64) {
	rule, state := &w.rules[i], &w.state[i]
	median := w.median(rates)
	if math.IsNaN(median) {
		return
	}
	level, known := w.fabric[i][part]
	if !known {
		level.calm = median
	}
	calm := level.calm
	if median < max(rule.floor/2, 3*calm) {
		level.calm += 0.02 * (median - calm)
	}
	level.n = len(ids)
	w.fabric[i][part] = level
	for k, id := range ids {
		v := rates[k]
		if math.IsNaN(v) || v < 0 {
			continue
		}
		st := state.at(id)
		if st == nil {
			if v == 0 {
				continue // a flat counter needs no memory
			}
			st = state.put(id)
		}
		st.last = stamps[k]
		base := calm
		if st.n >= rateLearn {
			base = max(base, st.calm)
		}
		limit := max(rule.floor, rule.ratio*base)
		if st.streak.windows > 0 {
			limit /= 2
		}
		high := v >= limit
		against := median
		if median >= limit/2 {
			against = max(calm, 0)
		}
		st.streak.hold(high, stamps[k], v, against)
		if !high && !t.Frozen(t.Entities.Of(id)) {
			if st.n == 0 {
				st.calm = v
			} else {
				st.calm += 0.05 * (v - st.calm)
			}
			st.n = uint16(min(int(st.n)+1, math.MaxUint16))
		}
	}
}

// median of the rates that are known, without sorting where most are zero.
func (w *rateWatch) median(rates []float64) float64 {
	w.tmp = w.tmp[:0]
	known := 0
	for _, v := range rates {
		if math.IsNaN(v) || v < 0 {
			continue
		}
		known++
		if v > 0 {
			w.tmp = append(w.tmp, v)
		}
	}
	if known == 0 {
		return math.NaN()
	}
	half := known/2 + 1
	zeros := known - len(w.tmp)
	if zeros >= half {
		return 0
	}
	slices.Sort(w.tmp)
	return w.tmp[half-1-zeros]
}

// report adds a finding for every series that stands out for two samples.
func (w *rateWatch) report(t *Tick, i int, r *Report) {
	rule, state := &w.rules[i], &w.state[i]
	var ids []signals.EntityID
	now := t.Time.UnixMilli()
	state.drop(func(id signals.EntityID, st *rateState) bool {
		if now-st.last > 3*columnAge.Milliseconds() {
			return st.streak.windows > 0 || now-st.last > 100*columnAge.Milliseconds()
		}
		if st.streak.windows >= 2 {
			ids = append(ids, id)
		}
		return false
	})
	slices.Sort(ids)
	for _, id := range ids {
		st := state.at(id)
		e := t.Entities.Of(id)
		f := Finding{
			Detector: w.name, Pattern: rule.pattern, Signal: rule.signal, Entity: e, Direction: signals.Up,
			Value: st.streak.value, Expected: st.streak.against, Score: math.NaN(), Peers: max(0, state.len()-1),
			Windows: int(st.streak.windows), Since: unixMilli(st.streak.since), Code: rule.code,
		}
		n := t.Frames[rule.signal].Len()
		if rule.parts() {
			n = w.fabric[i][w.partOf(i, e)].n
		}
		if n > 0 {
			f.Peers = n - 1
		}
		if j := t.JobOf(e); j != nil {
			f.Job = j.ID
		}
		r.Findings = append(r.Findings, f)
	}
}

// Renumber implements [Renumberer].
func (w *rateWatch) Renumber(to []signals.EntityID, _ int) {
	for i := range w.state {
		w.state[i].renumber(to)
	}
}
