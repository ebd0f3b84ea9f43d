package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// vanish finds GPUs whose series are gone while their siblings on the host go
// on. That is how a GPU that fell off the bus looks when its Xid was never
// exported. When all GPUs of a host go at once it is the exporter, and when a
// whole signal is missing it is the query: neither says anything about a GPU.
type vanish struct {
	gpus  map[signals.Entity]*presence
	hosts map[string]*hostPresence
	rows  table[*presence] // by entity of a row, nil for what is no GPU of a host
}

type presence struct {
	thing signals.Entity
	host  *hostPresence
	tick  uint32 // that looked for its job
	gone  bool   // forgotten

	last int64  // Unix ms of the newest sample
	job  string // the job it worked for when last seen
	used bool   // memory or utilisation said that it worked
}

type hostPresence struct {
	last, before int64 // the two newest scrapes
	period       int64 // ms between scrapes
	gpus         []signals.Entity
}

const (
	vanishPeriods = 2.5
	vanishLeast   = 70 * time.Second // two DCGM periods of 30 s and one scrape
	vanishMemory  = 6 * time.Hour
)

func newVanish() *vanish {
	return &vanish{gpus: map[signals.Entity]*presence{}, hosts: map[string]*hostPresence{}}
}

func (d *vanish) Name() string { return "gpu_vanished" }

// vanishSignals are those that any DCGM exports for every GPU.
func vanishSignals() []signals.ID {
	return []signals.ID{signals.GPUUtil, signals.GPUMemUsed, signals.GPUTemp, signals.GPUPower, signals.GPUSMClock}
}

// Observe implements [Detector].
func (d *vanish) Observe(t *Tick, r *Report) {
	read := false
	for _, id := range vanishSignals() {
		f := t.Frames[id]
		if f == nil {
			continue
		}
		if !f.Whole() {
			return
		}
		read = true
		for i, eid := range f.Entity {
			if p := d.of(t, eid); p != nil {
				p.see(t, f.Stamp[i], id, f.Value[i])
			}
		}
	}
	if !read {
		return
	}
	d.report(t, r)
}

// of returns the GPU that a row is about, nil if it is about none.
func (d *vanish) of(t *Tick, id signals.EntityID) *presence {
	row := d.rows.at(id)
	if row != nil && (*row == nil || !(*row).gone) {
		return *row
	}
	if row == nil {
		row = d.rows.put(id)
	}
	if e := t.Entities.Of(id).Thing(); e.Kind == signals.KindGPU && e.Host != "" {
		*row = d.gpu(e)
	}
	return *row
}

func (d *vanish) gpu(e signals.Entity) *presence {
	h := d.hosts[e.Host]
	if h == nil {
		h = &hostPresence{}
		d.hosts[e.Host] = h
	}
	p := d.gpus[e]
	if p == nil {
		p = &presence{thing: e, host: h}
		d.gpus[e] = p
		h.gpus = append(h.gpus, e)
		slices.SortFunc(h.gpus, orderThings)
	}
	return p
}

// see takes a row about p.
func (p *presence) see(t *Tick, stamp int64, id signals.ID, v float64) {
	p.last = max(p.last, stamp)
	if p.tick != t.number {
		p.tick, p.job = t.number, ""
		if j := t.JobOf(p.thing); j != nil {
			p.job = j.ID
		}
	}
	if id == signals.GPUMemUsed {
		p.used = v > 1e9
	}
	if h := p.host; stamp > h.last {
		h.before, h.last = h.last, stamp
		if h.before > 0 && (h.period == 0 || h.last-h.before < 2*h.period) {
			h.period = h.last - h.before
		}
	}
}

// report names the GPUs that are behind the newest scrape of their host.
func (d *vanish) report(t *Tick, r *Report) {
	now := t.Time.UnixMilli()
	names := make([]string, 0, len(d.hosts))
	for name := range d.hosts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		h := d.hosts[name]
		if now-h.last > vanishMemory.Milliseconds() {
			d.forget(name)
			continue
		}
		limit := max(vanishLeast.Milliseconds(), int64(vanishPeriods*float64(h.period)))
		if now-h.last > limit {
			continue // the whole exporter is silent
		}
		var gone []signals.Entity
		for _, e := range h.gpus {
			if p := d.gpus[e]; h.last-p.last >= limit-h.period {
				gone = append(gone, e)
			}
		}
		if 2*len(gone) > len(h.gpus) {
			continue // a restart that brings GPUs back one after the other, or MIG
		}
		for _, e := range gone {
			d.add(t, r, e, len(h.gpus))
		}
	}
}

func (d *vanish) add(t *Tick, r *Report, e signals.Entity, siblings int) {
	p := d.gpus[e]
	if p.job == "" && !p.used || t.Time.UnixMilli()-p.last > vanishMemory.Milliseconds() {
		return
	}
	r.Findings = append(r.Findings, Finding{
		Detector: d.Name(), Pattern: Vanished, Signal: signals.GPUUtil, Entity: e, Job: p.job, Direction: signals.Context,
		Value: math.NaN(), Expected: math.NaN(), Score: math.NaN(), Peers: siblings - 1, Since: unixMilli(p.last), Code: CodeGPUVanished,
	})
}

func (d *vanish) forget(host string) {
	for _, e := range d.hosts[host].gpus {
		d.gpus[e].gone = true
		delete(d.gpus, e)
	}
	delete(d.hosts, host)
}

// Renumber implements [Renumberer].
func (d *vanish) Renumber(to []signals.EntityID, _ int) { d.rows.renumber(to) }
