package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// gpuWork finds GPUs that do more than the others of their job: tensor activity and
// power above theirs, and not below what the GPU itself did before. Activity counts
// cycles, so that a GPU which is slow for want of clock, memory or a host shows less
// of it, or draws less, than it did. A lasting hot expert shows both.
type gpuWork struct {
	tensor, power *column
	past          table[workPast]
	more          table[streak]
	tmp           []float64
}

// workPast is what a GPU usually does, and the number of samples of that.
type workPast struct {
	tensor, power float64
	n             int
}

const (
	// workAbove and workPower are how far above the median of its job a GPU is;
	// those that wait for it show less of both.
	workAbove, workPower = 1.15, 1.05
	// workHolds is the part of its own past below which a value has fallen: the
	// noise of single samples is about 2 %.
	workHolds = 0.96
	// workLearn samples make a past, of the last half an hour; workRun in a row
	// are believed.
	workLearn, workRun = 10, 3
	workWeight         = 0.02
)

func newGPUWork() *gpuWork { return &gpuWork{} }

// Name implements [Detector].
func (d *gpuWork) Name() string { return "gpu_work" }

// Observe implements [Detector].
func (d *gpuWork) Observe(t *Tick, r *Report) {
	d.tensor, d.power = t.column(signals.GPUTensorActive), t.column(signals.GPUPower)
	if t.Frames[signals.GPUTensorActive].Len() > 0 {
		for _, g := range d.tensor.byJob(t) {
			d.judge(t, g)
		}
	}
	d.report(t, r)
}

func (d *gpuWork) judge(t *Tick, g *peerGroup) {
	d.tmp = d.tmp[:0]
	for _, id := range g.ids {
		if w, ok := d.power.get(id); ok {
			d.tmp = append(d.tmp, w)
		}
	}
	draws := medianOf(d.tmp)
	for i, id := range g.ids {
		w, ok := d.power.get(id)
		if !ok {
			continue // it might draw little
		}
		v, past, s := g.values[i], d.past.put(id), d.more.put(id)
		stamp := d.tensor.row(id).stamp
		if stamp == s.last {
			continue
		}
		more := len(g.ids) >= clockPeers && v >= workAbove*g.median && w >= workPower*draws && v >= tensorFloor
		if past.n >= workLearn {
			more = more && v >= workHolds*past.tensor && w >= workHolds*past.power
		}
		s.hold(more, stamp, v, g.median)
		if t.Frozen(t.Entities.Of(id)) {
			continue
		}
		past.n++
		weight := max(workWeight, 1/float64(past.n))
		past.tensor += weight * (v - past.tensor)
		past.power += weight * (w - past.power)
	}
}

func (d *gpuWork) report(t *Tick, r *Report) {
	gone := func(id signals.EntityID) bool { return d.tensor.rows.at(id) == nil }
	d.past.drop(func(id signals.EntityID, _ *workPast) bool { return gone(id) })
	d.more.drop(func(id signals.EntityID, _ *streak) bool { return gone(id) })
	var ids []signals.EntityID
	for i := range d.more.list {
		e := &d.more.list[i]
		if _, ok := d.tensor.get(e.id); ok && e.v.windows >= workRun {
			ids = append(ids, e.id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		s, e := d.more.at(id), t.Entities.Of(id)
		f := Finding{
			Detector: d.Name(), Pattern: PeerOutlier, Signal: signals.GPUTensorActive, Entity: e, Direction: signals.Up, Value: s.value,
			Expected: s.against, Score: math.NaN(), Windows: int(s.windows), Since: unixMilli(s.since), Code: CodeMoreWork,
		}
		if j := t.JobOf(e); j != nil {
			f.Job, f.Peers = j.ID, max(0, len(j.GPUs)-1)
		}
		r.Findings = append(r.Findings, f)
	}
}

// Renumber implements [Renumberer].
func (d *gpuWork) Renumber(to []signals.EntityID, _ int) {
	d.past.renumber(to)
	d.more.renumber(to)
}
