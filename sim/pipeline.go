package sim

import "math"

// pipeline passes micro-batches forward and then backward through the stages of
// each pipeline group. A stage starts a micro-batch when it is free and the
// batch has arrived. What a receive measures is the transfer plus the wait
// for the stage before it, so a heavy stage is the one that waits least.
func (j *Job) pipeline(cs *commState) {
	p := cs.pipe
	micro := p.Micro
	for g, members := range cs.groups {
		stages := len(members)
		tau := j.transfer(cs, g)
		free := make([]float64, stages)
		ready := make([]float64, micro)
		wait := make([]float64, stages)
		count := make([]float64, stages)
		for s, r := range members {
			free[s] = j.arrival[r]
		}
		pass := func(s int, share float64, first bool) {
			r := members[s]
			c := p.Compute * share / float64(micro) * j.computed[r]
			if s == stages-1 && p.Heavy > 0 {
				c *= p.Heavy
			}
			for k := range micro {
				if !first {
					arrive := ready[k] + tau
					wait[s] += max(tau, arrive-free[s])
					count[s]++
					free[s] = max(free[s], arrive)
				}
				free[s] += c
				ready[k] = free[s]
			}
		}
		for s := range stages {
			pass(s, 1.0/3, s == 0)
		}
		for s := stages - 1; s >= 0; s-- {
			pass(s, 2.0/3, s == stages-1)
		}
		for s, r := range members {
			j.arrival[r] = free[s]
			cs.lastOp[r] = wait[s] / max(1, count[s])
		}
	}
}

// recordPipe records the receives measured by pipeline and sends, which see the
// transfer only: they complete when the peer has posted its buffer.
func (j *Job) recordPipe(cs *commState) {
	for r := range cs.acc {
		n := float64(2 * cs.spec.Ops)
		if pp := j.ranks[r].pp; pp == 0 || pp == j.Spec.Layout.PP-1 {
			n /= 2
		}
		receive, send := max(cs.lastOp[r], cs.base), cs.base*math.Exp(0.05*math.Abs(j.rng.NormFloat64()))
		cs.acc[r].add(n, receive, float64(cs.spec.Size))
		cs.send[r].add(n, send, float64(cs.spec.Size))
		cs.counts[0][r].add(n, receive)
		cs.counts[1][r].add(n, send)
	}
}
