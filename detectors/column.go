package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// sample is the newest value of one series.
type sample struct {
	value float64
	stamp int64 // Unix ms
}

// column remembers the newest value of each entity of one signal, because a
// frame has only what is new at this tick and exporters are scraped at
// different times. All detectors share it, see [Tick.column].
type column struct {
	signal signals.ID
	rows   table[sample]

	now    int64              // of the tick, Unix ms
	ids    []signals.EntityID // of sorted
	groups map[*signals.Job]*peerGroup
	order  []*peerGroup // of byJob
	// What ids and order hold of this tick already.
	hasIDs, hasOrder bool
}

// columnAge is how long a value speaks for the present: two periods of DCGM's
// 30 s and a lost scrape.
const columnAge = 100 * time.Second

// column returns the newest values of a signal as of this tick. A column that was
// asked for once is kept up to date from then on.
func (t *Tick) column(id signals.ID) *column {
	c := t.columns[id]
	if c == nil {
		c = &column{signal: id, groups: map[*signals.Job]*peerGroup{}}
		c.update(t)
		t.columns[id] = c
	}
	return c
}

// update takes the rows of a tick and forgets what is long gone.
func (c *column) update(t *Tick) {
	c.now, c.hasIDs, c.hasOrder = t.Time.UnixMilli(), false, false
	f := t.Frames[c.signal]
	for i := range f.Len() {
		if v := f.Value[i]; !math.IsNaN(v) {
			*c.rows.put(f.Entity[i]) = sample{value: v, stamp: f.Stamp[i]}
		}
	}
	c.rows.drop(func(_ signals.EntityID, s *sample) bool { return c.now-s.stamp > 10*columnAge.Milliseconds() })
}

// row returns the newest value, however old, and the zero sample if there is none.
func (c *column) row(id signals.EntityID) sample {
	s, _ := c.rows.get(id)
	return s
}

// fresh says that a value still speaks for the present.
func (c *column) fresh(s *sample) bool { return c.now-s.stamp <= columnAge.Milliseconds() }

// get returns a value that still speaks for the present.
func (c *column) get(id signals.EntityID) (float64, bool) {
	if s := c.rows.at(id); s != nil && c.fresh(s) {
		return s.value, true
	}
	return math.NaN(), false
}

// renumberMap moves state in a map to the new numbers of its entities.
func renumberMap[T any](m map[signals.EntityID]T, to []signals.EntityID) map[signals.EntityID]T {
	out := make(map[signals.EntityID]T, len(m))
	for id, v := range m {
		if int(id) < len(to) && to[id] != Gone {
			out[to[id]] = v
		}
	}
	return out
}

// peerGroup is the fresh values of one column within one job, sorted by entity
// number.
type peerGroup struct {
	job    *signals.Job
	ids    []signals.EntityID
	values []float64
	median float64
}

// byJob splits a column by job; entities without a job are left out. The groups
// are valid until the end of the tick, and not to be changed.
func (c *column) byJob(t *Tick) []*peerGroup {
	if c.hasOrder {
		return c.order
	}
	for j, g := range c.groups {
		if len(g.ids) == 0 {
			delete(c.groups, j)
		}
		g.ids, g.values = g.ids[:0], g.values[:0]
	}
	c.order = c.order[:0]
	for _, id := range c.sorted() {
		j := t.jobOf(id)
		if j == nil || j.Ended {
			continue
		}
		g := c.groups[j]
		if g == nil {
			g = &peerGroup{job: j}
			c.groups[j] = g
		}
		if len(g.ids) == 0 {
			c.order = append(c.order, g)
		}
		g.ids = append(g.ids, id)
		g.values = append(g.values, c.row(id).value)
	}
	for _, g := range c.order {
		g.median = medianOf(g.values)
	}
	c.hasOrder = true
	return c.order
}

// sorted lists the entities with a fresh value in the order of their numbers. The
// list is valid until the end of the tick, and not to be changed.
func (c *column) sorted() []signals.EntityID {
	if c.hasIDs {
		return c.ids
	}
	c.ids = c.ids[:0]
	for i := range c.rows.list {
		if e := &c.rows.list[i]; c.fresh(&e.v) {
			c.ids = append(c.ids, e.id)
		}
	}
	slices.Sort(c.ids)
	c.hasIDs = true
	return c.ids
}

// medianOf is the median without changing xs, NaN if there are none.
func medianOf(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	var few [32]float64 // most groups fit, and cost no memory then
	return Median(append(few[:0], xs...))
}

// streak counts how often in a row something holds, with a hold of its own: it
// goes away after two observations without.
type streak struct {
	since   int64 // Unix ms of the first
	last    int64 // Unix ms of the newest observation
	windows uint16
	clear   uint8
	value   float64
	against float64
}

// hold notes one observation and says whether the streak stands. The same
// sample is never counted twice.
func (s *streak) hold(yes bool, stamp int64, value, against float64) bool {
	if stamp == s.last {
		return s.windows > 0
	}
	s.last = stamp
	if !yes {
		if s.clear++; s.clear >= 2 {
			*s = streak{last: stamp}
		}
		return s.windows > 0
	}
	if s.windows == 0 {
		s.since = stamp
	}
	s.clear = 0
	s.value, s.against = value, against
	if s.windows < math.MaxUint16 {
		s.windows++
	}
	return true
}

func unixMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
