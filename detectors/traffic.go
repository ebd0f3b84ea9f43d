package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// traffic compares how much each NIC carries, relative to its own past in this
// job, with its sister ports. Byte rates do not tell one member of a ring from
// another; they do tell traffic of others (one port rises while its sisters
// fall) and a port that is no longer used (near zero while its sisters carry).
type traffic struct {
	dirs [2]trafficSide
}

type trafficSide struct {
	signal signals.ID
	column *column // of the tick
	ports  table[trafficMemory]

	sisters map[sisters]*sisterPorts
	// Of the tick, by port: its sisters, and its ratio to its level.
	among []*sisterPorts
	ratio []float64
}

// sisterPorts is what the ports of one model on a host do at a tick.
type sisterPorts struct {
	ratios []float64 // of those with a level
	frozen bool      // one is suspect
	there  bool      // they have rows
}

// sisters are the ports of one model on a host.
type sisters struct{ host, model string }

type trafficMemory struct {
	job         string
	level       float64 // own calm level in this job, B/s
	n           uint16
	above, gone streak
}

const (
	trafficLearn = 8    // samples before a level counts
	trafficBusy  = 1e8  // B/s, about 1 % of a 100G port: below it a NIC is idle
	trafficAbove = 1.5  // of the sisters' ratio
	trafficRise  = 1.1  // of the own level: sisters that fall make nobody else rise
	trafficGone  = 0.02 // of the own level
	sistersAlive = 0.3  // of their own level, while this one is gone
)

func newTraffic() *traffic {
	d := &traffic{}
	for i, id := range []signals.ID{signals.NICTx, signals.NICRx} {
		d.dirs[i] = trafficSide{signal: id, sisters: map[sisters]*sisterPorts{}}
	}
	return d
}

func (d *traffic) Name() string { return "nic_traffic" }

// Observe implements [Detector].
func (d *traffic) Observe(t *Tick, r *Report) {
	for i := range d.dirs {
		d.dirs[i].observe(t)
		d.dirs[i].report(t, d.Name(), r)
	}
}

// observe judges every port against its sisters on the host.
func (s *trafficSide) observe(t *Tick) {
	s.column = t.column(s.signal)
	if t.Frames[s.signal].Len() == 0 {
		return
	}
	s.reset()
	ids := s.column.sorted()
	for _, id := range ids {
		e := t.Entities.Of(id)
		m := s.settle(t, id)
		all := s.of(sisters{e.Host, t.model(id)})
		all.frozen = all.frozen || t.Frozen(e)
		x := math.NaN()
		if m.n >= trafficLearn && m.level >= trafficBusy {
			x = s.column.row(id).value / m.level
			all.ratios = append(all.ratios, x)
		}
		s.among, s.ratio = append(s.among, all), append(s.ratio, x)
	}
	for i, id := range ids {
		all := s.among[i]
		m := s.ports.at(id)
		row := s.column.row(id)
		above, gone := false, false
		if x := s.ratio[i]; !math.IsNaN(x) && len(all.ratios) >= 2 {
			mid := medianWithout(all.ratios, x)
			above = x >= trafficAbove*mid && x >= trafficRise && row.value >= trafficBusy
			gone = x <= trafficGone && mid >= sistersAlive
		}
		m.above.hold(above, row.stamp, row.value, m.level)
		m.gone.hold(gone, row.stamp, row.value, m.level)
		// Sisters learn together or not at all: levels that were learned at
		// different times cannot be compared.
		if !above && !gone && !all.frozen && row.value >= trafficBusy {
			if m.n == 0 {
				m.level = row.value
			}
			m.level += 0.05 * (row.value - m.level)
			m.n = uint16(min(int(m.n)+1, math.MaxUint16))
		}
	}
}

// reset empties what belongs to a tick, and forgets ports without rows in the last.
func (s *trafficSide) reset() {
	s.among, s.ratio = s.among[:0], s.ratio[:0]
	for k, all := range s.sisters {
		if !all.there {
			delete(s.sisters, k)
			continue
		}
		*all = sisterPorts{ratios: all.ratios[:0]}
	}
}

func (s *trafficSide) of(k sisters) *sisterPorts {
	all := s.sisters[k]
	if all == nil {
		all = &sisterPorts{}
		s.sisters[k] = all
	}
	all.there = true
	return all
}

// settle begins anew when another job uses the host: levels belong to a job.
func (s *trafficSide) settle(t *Tick, id signals.EntityID) *trafficMemory {
	m := s.ports.put(id)
	job := ""
	if j := t.jobOf(id); j != nil {
		job = j.ID
	}
	if m.job != job && job != "" {
		*m = trafficMemory{job: job}
	}
	return m
}

// medianWithout is the median of xs with one x left out.
func medianWithout(xs []float64, x float64) float64 {
	var few [32]float64 // most groups fit, and cost no memory then
	rest, left := few[:0], false
	for _, y := range xs {
		if y == x && !left {
			left = true
			continue
		}
		rest = append(rest, y)
	}
	return Median(rest)
}

func (s *trafficSide) report(t *Tick, name string, r *Report) {
	var ids []signals.EntityID
	s.ports.drop(func(id signals.EntityID, m *trafficMemory) bool {
		row, ok := s.column.rows.get(id)
		if ok && t.Time.UnixMilli()-row.stamp <= 2*columnAge.Milliseconds() && (m.above.windows >= 3 || m.gone.windows >= 3) {
			ids = append(ids, id)
		}
		return !ok
	})
	slices.Sort(ids)
	for _, id := range ids {
		m := s.ports.at(id)
		e := t.Entities.Of(id)
		f := Finding{Detector: name, Pattern: PeerOutlier, Signal: s.signal, Entity: e, Job: m.job, Score: math.NaN()}
		st, code, dir := m.above, CodeTrafficAbove, signals.Up
		if m.gone.windows >= 3 {
			st, code, dir = m.gone, CodeTrafficGone, signals.Down
		}
		f.Code, f.Direction, f.Value, f.Expected = code, dir, st.value, st.against
		f.Windows, f.Since = int(st.windows), unixMilli(st.since)
		r.Findings = append(r.Findings, f)
	}
}

// Renumber implements [Renumberer].
func (d *traffic) Renumber(to []signals.EntityID, _ int) {
	for i := range d.dirs {
		d.dirs[i].ports.renumber(to)
	}
}
