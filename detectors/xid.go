package detectors

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// xid reports Xid events. The gauge keeps the last code for days, so only its
// change is an event; the windowed count of newer exporters is one by itself.
type xid struct {
	last   table[float64]
	counts map[signals.EntityID]float64
	events map[signals.Entity][]xidEvent // by GPU
}

type xidEvent struct {
	code  int
	first int64 // Unix ms
	last  int64
	n     float64
}

const (
	xidMemory = 6 * time.Hour
	xidCodes  = 8 // kept per GPU
)

func newXid() *xid {
	return &xid{counts: map[signals.EntityID]float64{}, events: map[signals.Entity][]xidEvent{}}
}

func (d *xid) Name() string { return "gpu_xid" }

// Observe implements [Detector].
func (d *xid) Observe(t *Tick, r *Report) {
	if f := t.Frames[signals.GPUXid]; f.Len() > 0 {
		for i, id := range f.Entity {
			d.gauge(t.Entities.Of(id), id, f.Value[i], f.Stamp[i])
			if f.Max != nil && f.Max[i] != f.Value[i] {
				d.gauge(t.Entities.Of(id), id, f.Max[i], f.Stamp[i])
				*d.last.put(id) = f.Value[i]
			}
		}
	}
	if f := t.Frames[signals.GPUXidCount]; f.Len() > 0 {
		for i, id := range f.Entity {
			d.windowed(t.Entities.Of(id), id, f.Value[i], f.Stamp[i])
		}
	}
	d.report(t, r)
}

// gauge notes a change of the last code. The first value seen is history.
func (d *xid) gauge(e signals.Entity, id signals.EntityID, v float64, stamp int64) {
	if math.IsNaN(v) || v < 0 || v > 1e4 {
		return
	}
	was, seen := d.last.get(id)
	*d.last.put(id) = v
	if seen && v != was && v > 0 {
		d.note(e, int(v), 1, stamp)
	}
	if seen && v == 0 && was > 0 {
		delete(d.events, e.Thing()) // the exporter or the driver began anew
	}
}

// windowed notes a count in the exporter's sliding window that rose.
func (d *xid) windowed(e signals.Entity, id signals.EntityID, v float64, stamp int64) {
	code, err := strconv.Atoi(e.Detail)
	if err != nil || math.IsNaN(v) {
		return
	}
	if was := d.counts[id]; v > was {
		d.note(e, code, v-was, stamp)
	}
	d.counts[id] = v
}

func (d *xid) note(e signals.Entity, code int, n float64, stamp int64) {
	thing := e.Thing()
	list := d.events[thing]
	for i := range list {
		if list[i].code == code {
			if stamp > list[i].last {
				list[i].last, list[i].n = stamp, list[i].n+n
			}
			return
		}
	}
	if len(list) == xidCodes {
		list = slices.Delete(list, 0, 1)
	}
	d.events[thing] = append(list, xidEvent{code: code, first: stamp, last: stamp, n: n})
}

func (d *xid) report(t *Tick, r *Report) {
	things := make([]signals.Entity, 0, len(d.events))
	for e, list := range d.events {
		list = slices.DeleteFunc(list, func(x xidEvent) bool { return t.Time.UnixMilli()-x.last > xidMemory.Milliseconds() })
		if len(list) == 0 {
			delete(d.events, e)
			continue
		}
		d.events[e] = list
		things = append(things, e)
	}
	slices.SortFunc(things, orderThings)
	for _, e := range things {
		for _, x := range d.events[e] {
			f := Finding{
				Detector: d.Name(), Pattern: Event, Signal: signals.GPUXid, Entity: e, Direction: signals.Context,
				Value: float64(x.code), Expected: math.NaN(), Score: math.NaN(), Count: x.n, Since: unixMilli(x.first), Code: CodeXid,
			}
			if j := t.JobOf(e); j != nil {
				f.Job = j.ID
			}
			r.Findings = append(r.Findings, f)
		}
	}
}

// orderThings sorts things by host and device.
func orderThings(a, b signals.Entity) int {
	switch {
	case a.Host != b.Host && a.Host < b.Host, a.Host == b.Host && a.Device < b.Device,
		a.Host == b.Host && a.Device == b.Device && a.Port < b.Port:
		return -1
	case a.Host == b.Host && a.Device == b.Device && a.Port == b.Port:
		return 0
	}
	return 1
}

// Renumber implements [Renumberer].
func (d *xid) Renumber(to []signals.EntityID, _ int) {
	d.last.renumber(to)
	d.counts = renumberMap(d.counts, to)
}
