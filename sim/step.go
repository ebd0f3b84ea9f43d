package sim

import (
	"math"
	"slices"
)

// window is what one member measured of one operation since its last dump.
type window struct {
	n     float64
	time  float64 // sum of seconds
	logBW float64 // sum of ln(bytes per second)
}

// ring is the number of operations the profiler keeps per communicator between
// two dumps; older ones are overwritten without a trace.
const ring = 1024

func (w *window) add(n, seconds, bytes float64) {
	if n >= ring {
		*w = window{}
		n = ring
	} else if w.n+n > ring {
		keep := (ring - n) / w.n
		w.n, w.time, w.logBW = w.n*keep, w.time*keep, w.logBW*keep
	}
	w.n += n
	w.time += n * seconds
	w.logBW += n * math.Log(bytes/seconds)
}

// spike replaces one of the operations by one that took extra seconds more.
func (w *window) spike(extra float64) {
	if w.n < 1 {
		return
	}
	mean := w.time / w.n
	w.time += extra
	w.logBW += math.Log(mean / (mean + extra))
}

// beginStep draws a step that starts at t: the compute of each rank, then
// phase after phase. In a collective everybody waits for the last to arrive,
// then all transfer at the speed of the slowest hop and end together. What a
// member measures is its own wait plus the common transfer, so the late one
// measures least.
func (j *Job) beginStep(t int64) {
	j.stepStart = t
	n := j.c.opt.Noise
	for r := range j.ranks {
		k := &j.ranks[r]
		g := k.gpu
		j.computed[r] = math.Exp(n.ComputeCV*k.compute.next(j.rng, n.Phi, n.TailDF)) * g.slowness() * j.ComputeFactor
		j.arrival[r], j.path[r] = j.shift[r], g.path(j.rng)
		j.shift[r] = 0
	}
	comm := 0
	for _, p := range j.Spec.Phases {
		switch {
		case p.Comm != nil:
			j.collective(j.comms[comm])
			comm++
		case p.Pipe != nil:
			j.pipeline(j.comms[comm])
			comm++
		default:
			for r := range j.ranks {
				j.arrival[r] += p.Compute * j.computed[r]
			}
		}
	}
	// The norm of the gradients is reduced over everybody before the optimizer
	// moves: an operation too small to be recorded, at which all meet.
	last := 0.0
	for _, a := range j.arrival {
		last = max(last, a)
	}
	compute := j.base * j.healthyStep
	for r := range j.ranks {
		j.ranks[r].gpu.busy = min(1, compute*j.computed[r]/last) / j.base
	}
	j.stepEnd = t + int64(last*1000)
	for _, h := range j.hosts {
		for _, nic := range h.NICs {
			nic.perStep = j.Spec.NICPerStep * nic.share
		}
	}
}

// transfer is the pure transfer time of one operation of group g, in seconds.
func (j *Job) transfer(cs *commState, g int) float64 {
	n := j.c.opt.Noise
	f := 1.0
	if !cs.spec.NVLink && cs.nodes[g] > 1 {
		for _, r := range cs.groups[g] {
			f = min(f, j.path[r])
		}
		f *= j.CommFactor
	} else {
		for _, r := range cs.groups[g] {
			f = min(f, j.ranks[r].gpu.NVLink)
		}
	}
	if j.windows < 3 && j.Spec.StartAt > 0 {
		f /= 2 // caches, clocks and connections of a young job
	}
	cv := n.TransferCV
	return cs.base / max(f, 1e-3) * math.Exp(cv*cs.noise[g].next(j.rng, n.Phi, n.TailDF))
}

func (j *Job) collective(cs *commState) {
	ops := float64(cs.spec.Ops)
	for g, members := range cs.groups {
		last := 0.0
		for _, r := range members {
			last = max(last, j.arrival[r])
		}
		tau := j.transfer(cs, g)
		for _, r := range members {
			cs.lastOp[r] = tau + (last-j.arrival[r])/ops
			j.arrival[r] = last + ops*tau
		}
	}
}

// endStep records the step that ends at t.
func (j *Job) endStep(t int64) {
	j.steps++
	j.lastStep = float64(t-j.stepStart) / 1000
	for _, cs := range j.comms {
		for g := range cs.seq {
			cs.seq[g] += int64(cs.spec.Ops)
		}
		if cs.pipe != nil {
			j.recordPipe(cs)
			continue
		}
		for r := range cs.acc {
			if cs.of[r] < 0 {
				continue
			}
			cs.acc[r].add(float64(cs.spec.Ops), cs.lastOp[r], cs.busSize)
			cs.counts[0][r].add(float64(cs.spec.Ops), cs.lastOp[r])
		}
	}
	for _, p := range j.pauses {
		for _, r := range j.comms[p.comm].groups[p.group] {
			j.comms[p.comm].acc[r].spike(p.seconds)
			j.comms[p.comm].counts[0][r].busy += p.seconds
		}
	}
	j.pauses = j.pauses[:0]
	for _, h := range j.hosts {
		for _, nic := range h.NICs {
			nic.moved += nic.perStep
			nic.perStep = 0
		}
	}
}

// block makes operations over one NIC wait for some seconds of the current
// step: one operation of each communicator that crosses it gets longer, and so
// does the step.
func (j *Job) block(nic *NIC, seconds float64) {
	if j.phase != jobTraining || nic.share == 0 {
		return
	}
	j.stepEnd += int64(seconds * 1000)
	for i, cs := range j.comms {
		if cs.spec.NVLink {
			continue
		}
		for g, members := range cs.groups {
			if cs.nodes[g] > 1 && j.crosses(members, nic) {
				j.pauses = append(j.pauses, pause{comm: i, group: g, seconds: seconds})
			}
		}
	}
}

func (j *Job) crosses(members []int32, nic *NIC) bool {
	for _, r := range members {
		if slices.Contains(j.ranks[r].gpu.NICs, nic) {
			return true
		}
	}
	return false
}

// progress is how far the step has come at t, 0..1.
func (j *Job) progress(t int64) float64 {
	if j.stepEnd <= j.stepStart || j.phase != jobTraining && j.phase != jobHung {
		return 0
	}
	if j.phase == jobHung && t > j.phaseEnd {
		t = j.phaseEnd
	}
	return max(0, min(1, float64(t-j.stepStart)/float64(j.stepEnd-j.stepStart)))
}
