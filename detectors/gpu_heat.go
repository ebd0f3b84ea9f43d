package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// gpuHeat finds GPUs much hotter than those of the same job. The memory may be
// hot while the core is not.
type gpuHeat struct {
	hot [2]map[signals.EntityID]streak
}

const (
	hotAbove = 12.0 // °C over the median of the job; rows and positions differ by 3 to 8
	hotCore  = 78.0 // °C; H100 slows down from 87 on, so this is short before
	hotMem   = 88.0 // °C; HBM3 slows down from 95 on
)

func newGPUHeat() *gpuHeat {
	return &gpuHeat{hot: [2]map[signals.EntityID]streak{{}, {}}}
}

func (d *gpuHeat) Name() string { return "gpu_heat" }

// Observe implements [Detector].
func (d *gpuHeat) Observe(t *Tick, r *Report) {
	for i, id := range [...]signals.ID{signals.GPUTemp, signals.GPUMemTemp} {
		c := t.column(id)
		if t.Frames[c.signal].Len() > 0 {
			least := [...]float64{hotCore, hotMem}[i]
			for _, g := range c.byJob(t) {
				for k, id := range g.ids {
					s := d.hot[i][id]
					limit := max(least, g.median+hotAbove)
					if s.windows > 0 {
						limit -= 2
					}
					s.hold(len(g.ids) >= clockPeers && g.values[k] >= limit, c.row(id).stamp, g.values[k], g.median)
					keepStreak(d.hot[i], id, s)
				}
			}
		}
		d.report(t, r, c, d.hot[i])
	}
}

func (d *gpuHeat) report(t *Tick, r *Report, c *column, hot map[signals.EntityID]streak) {
	var ids []signals.EntityID
	for id, s := range hot {
		if _, ok := c.get(id); ok && s.windows >= clockWindows {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		s, e := hot[id], t.Entities.Of(id)
		f := Finding{
			Detector: d.Name(), Pattern: PeerOutlier, Signal: c.signal, Entity: e, Direction: signals.Up, Value: s.value,
			Expected: s.against, Score: math.NaN(), Windows: int(s.windows), Since: unixMilli(s.since), Code: CodeHot,
		}
		if j := t.JobOf(e); j != nil {
			f.Job, f.Peers = j.ID, max(0, len(j.GPUs)-1)
		}
		r.Findings = append(r.Findings, f)
	}
}

// Renumber implements [Renumberer].
func (d *gpuHeat) Renumber(to []signals.EntityID, _ int) {
	for i := range d.hot {
		d.hot[i] = renumberMap(d.hot[i], to)
	}
}
