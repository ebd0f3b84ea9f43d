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
// different times.
type column struct {
	signal signals.ID
	rows   map[signals.EntityID]sample

	ids    []signals.EntityID // of sorted
	groups map[*signals.Job]*peerGroup
	order  []*peerGroup // of byJob
}

func newColumn(id signals.ID) *column {
	return &column{signal: id, rows: map[signals.EntityID]sample{}, groups: map[*signals.Job]*peerGroup{}}
}

// columnAge is how long a value speaks for the present: two periods of DCGM's
// 30 s and a lost scrape.
const columnAge = 100 * time.Second

// update takes the rows of a tick and forgets what is long gone.
func (c *column) update(t *Tick) {
	f := t.Frames[c.signal]
	for i := range f.Len() {
		if v := f.Value[i]; !math.IsNaN(v) {
			c.rows[f.Entity[i]] = sample{value: v, stamp: f.Stamp[i]}
		}
	}
	for id, s := range c.rows {
		if t.Time.UnixMilli()-s.stamp > 10*columnAge.Milliseconds() {
			delete(c.rows, id)
		}
	}
}

// get returns a value that still speaks for the present.
func (c *column) get(t *Tick, id signals.EntityID) (float64, bool) {
	s, ok := c.rows[id]
	if !ok || t.Time.UnixMilli()-s.stamp > columnAge.Milliseconds() {
		return math.NaN(), false
	}
	return s.value, true
}

func (c *column) renumber(to []signals.EntityID) { c.rows = renumberMap(c.rows, to) }

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
// are valid until the next call.
func (c *column) byJob(t *Tick) []*peerGroup {
	for j, g := range c.groups {
		if len(g.ids) == 0 {
			delete(c.groups, j)
		}
		g.ids, g.values = g.ids[:0], g.values[:0]
	}
	c.order = c.order[:0]
	for _, id := range c.sorted(t) {
		j := t.JobOf(t.Entities.Of(id))
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
		g.values = append(g.values, c.rows[id].value)
	}
	for _, g := range c.order {
		g.median = medianOf(g.values)
	}
	return c.order
}

// sorted lists the entities with a fresh value in the order of their numbers. The
// list is valid until the next call.
func (c *column) sorted(t *Tick) []signals.EntityID {
	c.ids = c.ids[:0]
	for id := range c.rows {
		if _, ok := c.get(t, id); ok {
			c.ids = append(c.ids, id)
		}
	}
	slices.Sort(c.ids)
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
