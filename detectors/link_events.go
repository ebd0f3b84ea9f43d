package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// linkEvents counts what polling a port's state misses: link-downed,
// link-recovery and carrier-down counters. A counter that began anew has no
// increase and makes no event.
type linkEvents struct {
	ports map[signals.EntityID]linkMemory
}

// linkMemory is the recent events of one port, Unix ms.
type linkMemory struct {
	downs, recoveries []int64
}

const linkEventsKept = 32

func newLinkEvents() *linkEvents { return &linkEvents{ports: map[signals.EntityID]linkMemory{}} }

func (d *linkEvents) Name() string { return "link_events" }

// Observe implements [Detector].
func (d *linkEvents) Observe(t *Tick, r *Report) {
	for _, id := range []signals.ID{signals.NICLinkDowned, signals.NICCarrierDown, signals.NICLinkRecovery} {
		f := t.Frames[id]
		if f.Len() == 0 || f.Delta == nil {
			continue
		}
		for i, e := range f.Entity {
			if n := f.Delta[i]; n >= 1 {
				d.note(e, id, int(n), f.Stamp[i])
			}
		}
	}
	d.report(t, r)
}

// note remembers n events at one sample. A link that falls moves the port's
// counter and the carrier's: the same second is the same event.
func (d *linkEvents) note(e signals.EntityID, id signals.ID, n int, stamp int64) {
	m := d.ports[e]
	list := &m.downs
	if id == signals.NICLinkRecovery {
		list = &m.recoveries
	}
	if id == signals.NICCarrierDown {
		for _, at := range m.downs {
			if stamp-at < 20_000 {
				n--
			}
		}
	}
	for range min(n, linkEventsKept) {
		*list = append(*list, stamp)
	}
	if len(*list) > linkEventsKept {
		*list = slices.Delete(*list, 0, len(*list)-linkEventsKept)
	}
	d.ports[e] = m
}

func (d *linkEvents) report(t *Tick, r *Report) {
	now := t.Time.UnixMilli()
	ids := make([]signals.EntityID, 0, len(d.ports))
	for id, m := range d.ports {
		m.downs = dropBefore(m.downs, now-time.Hour.Milliseconds())
		m.recoveries = dropBefore(m.recoveries, now-time.Hour.Milliseconds())
		if len(m.downs)+len(m.recoveries) == 0 {
			delete(d.ports, id)
			continue
		}
		d.ports[id] = m
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		m := d.ports[id]
		d.add(t, r, id, signals.NICLinkDowned, CodeLinkDowned, m.downs)
		d.add(t, r, id, signals.NICLinkRecovery, CodeLinkRecovery, m.recoveries)
	}
}

func (d *linkEvents) add(t *Tick, r *Report, id signals.EntityID, sig signals.ID, code string, events []int64) {
	if len(events) == 0 {
		return
	}
	recent := 0
	for _, at := range events {
		if t.Time.UnixMilli()-at <= portWindow.Milliseconds() {
			recent++
		}
	}
	f := Finding{
		Detector: d.Name(), Pattern: Event, Signal: sig, Entity: t.Entities.Of(id), Direction: signals.Up, Code: code,
		Value: float64(recent), Expected: math.NaN(), Score: math.NaN(), Count: float64(len(events)), Since: unixMilli(events[len(events)-1]),
	}
	if j := t.JobOf(f.Entity); j != nil {
		f.Job = j.ID
	}
	r.Findings = append(r.Findings, f)
}

func dropBefore(list []int64, limit int64) []int64 {
	n := 0
	for n < len(list) && list[n] < limit {
		n++
	}
	return list[n:]
}

// Renumber implements [Renumberer].
func (d *linkEvents) Renumber(to []signals.EntityID, _ int) { d.ports = renumberMap(d.ports, to) }
