package detectors

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// gpuHealth reports row-remap failures and uncorrectable memory errors. A
// corrected error or a remapped row is what the hardware is made to do.
type gpuHealth struct {
	events map[signals.EntityID]eventCount
}

// eventCount is rare events of one series.
type eventCount struct {
	n           float64
	first, last int64 // Unix ms
}

const healthMemory = 6 * time.Hour

func newGPUHealth() *gpuHealth {
	return &gpuHealth{events: map[signals.EntityID]eventCount{}}
}

func (d *gpuHealth) Name() string { return "gpu_health" }

// Observe implements [Detector].
func (d *gpuHealth) Observe(t *Tick, r *Report) {
	remap := t.column(signals.GPURowRemapFailure)
	for _, id := range remap.sorted() {
		if row := remap.row(id); row.value >= 1 {
			d.add(t, r, id, Finding{
				Pattern: Fact, Signal: signals.GPURowRemapFailure, Value: row.value, Expected: 0, Since: unixMilli(row.stamp), Code: CodeRowRemap,
			})
		}
	}
	if f := t.Frames[signals.GPUECC]; f.Len() > 0 && f.Delta != nil {
		for i, id := range f.Entity {
			if n := f.Delta[i]; n >= 1 && uncorrectable(t.Entities.Of(id).Detail) {
				c := d.events[id]
				if c.n == 0 {
					c.first = f.Stamp[i]
				}
				c.n, c.last = c.n+n, f.Stamp[i]
				d.events[id] = c
			}
		}
	}
	ids := make([]signals.EntityID, 0, len(d.events))
	for id, c := range d.events {
		if t.Time.UnixMilli()-c.last > healthMemory.Milliseconds() {
			delete(d.events, id)
			continue
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		c := d.events[id]
		d.add(t, r, id, Finding{
			Pattern: Event, Signal: signals.GPUECC, Value: c.n, Expected: math.NaN(), Count: c.n, Since: unixMilli(c.first), Code: CodeECC,
		})
	}
}

// uncorrectable says whether the kind of an ECC counter is a double-bit error.
func uncorrectable(kind string) bool {
	kind = strings.ToLower(kind)
	return strings.Contains(kind, "dbe") || strings.Contains(kind, "uncorr")
}

func (d *gpuHealth) add(t *Tick, r *Report, id signals.EntityID, f Finding) {
	f.Detector, f.Entity, f.Score, f.Direction = d.Name(), t.Entities.Of(id), math.NaN(), signals.Up
	if j := t.JobOf(f.Entity); j != nil {
		f.Job = j.ID
	}
	r.Findings = append(r.Findings, f)
}

// Renumber implements [Renumberer].
func (d *gpuHealth) Renumber(to []signals.EntityID, _ int) { d.events = renumberMap(d.events, to) }
