package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// gpuPCIe compares PCIe generation and width of the GPUs of one job. An idle GPU
// legally goes down to generation 1, and inside a VM the values may be empty or
// zero: only busy GPUs with a value are judged.
//
// Hosts of two generations of GPUs may work for one job. A GPU that never had more
// is told only if few are like it and it stands apart within its host as well.
type gpuPCIe struct {
	util    *column    // of the tick
	columns [2]*column // of the tick: width, generation
	low     [2]map[signals.EntityID]streak
	best    [2]table[float64] // ever seen under load
	replays *rateWatch
}

const pcieWindows = 3 // DCGM values can be a minute old

func newGPUPCIe() *gpuPCIe {
	return &gpuPCIe{
		low:     [2]map[signals.EntityID]streak{{}, {}},
		replays: newRateWatch("gpu_pcie", []rateRule{{signals.GPUPCIeReplays, CodePCIeReplays, Errors, 0.5, 10}}),
	}
}

func (d *gpuPCIe) Name() string { return "gpu_pcie" }

// Observe implements [Detector].
func (d *gpuPCIe) Observe(t *Tick, r *Report) {
	d.util = t.column(signals.GPUUtil)
	d.columns = [2]*column{t.column(signals.GPUPCIeWidth), t.column(signals.GPUPCIeGen)}
	for i, c := range d.columns {
		if t.Frames[c.signal].Len() > 0 {
			for _, g := range c.byJob(t) {
				d.judge(t, i, g)
			}
		}
		d.report(t, r, i)
	}
	d.replays.Observe(t, r)
}

func (d *gpuPCIe) judge(t *Tick, i int, g *peerGroup) {
	var ids []signals.EntityID
	var values []float64
	for k, id := range g.ids {
		u, known := d.util.get(id)
		if g.values[k] > 0 && (!known || u >= busyUtil) {
			ids = append(ids, id)
			values = append(values, g.values[k])
		}
	}
	mid := medianOf(values)
	var odd []bool
	if slices.ContainsFunc(values, func(v float64) bool { return v < mid }) {
		odd = d.odd(t, ids, values)
	}
	for k, id := range ids {
		best := d.best[i].put(id)
		*best = max(*best, values[k])
		low := values[k] < mid && (values[k] < *best || odd[k])
		s := d.low[i][id]
		s.hold(len(values) >= clockPeers && low, d.columns[i].row(id).stamp, values[k], mid)
		keepStreak(d.low[i], id, s)
	}
}

// odd says of each GPU whether at most a tenth of the job's are like it, and not all
// of its host: else it is of another generation.
func (d *gpuPCIe) odd(t *Tick, ids []signals.EntityID, values []float64) []bool {
	alike := map[float64]int{}
	most := map[string]float64{}
	count := map[string]int{}
	for k, id := range ids {
		host := t.Entities.Of(id).Host
		alike[values[k]]++
		most[host] = max(most[host], values[k])
		count[host]++
	}
	out := make([]bool, len(ids))
	for k, id := range ids {
		host := t.Entities.Of(id).Host
		whole := count[host] > 1 && most[host] <= values[k]
		out[k] = !whole && float64(alike[values[k]]) <= max(1.5, 0.1*float64(len(ids)))
	}
	return out
}

func (d *gpuPCIe) report(t *Tick, r *Report, i int) {
	c := d.columns[i]
	var ids []signals.EntityID
	for id, s := range d.low[i] {
		if _, ok := c.get(id); ok && s.windows >= pcieWindows {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		s, e := d.low[i][id], t.Entities.Of(id)
		f := Finding{
			Detector: d.Name(), Pattern: PeerOutlier, Signal: c.signal, Entity: e, Direction: signals.Down, Value: s.value,
			Expected: s.against, Score: math.NaN(), Windows: int(s.windows), Since: unixMilli(s.since),
			Code: [...]string{CodePCIeWidth, CodePCIeGen}[i],
		}
		if j := t.JobOf(e); j != nil {
			f.Job, f.Peers = j.ID, max(0, len(j.GPUs)-1)
		}
		r.Findings = append(r.Findings, f)
	}
}

// Renumber implements [Renumberer].
func (d *gpuPCIe) Renumber(to []signals.EntityID, n int) {
	for i := range d.low {
		d.low[i] = renumberMap(d.low[i], to)
		d.best[i].renumber(to)
	}
	d.replays.Renumber(to, n)
}
