package sim

// begin starts the job: at the beginning of the simulation in the middle of
// training, later with compile and first step.
func (j *Job) begin() {
	c := j.c
	j.start = c.now
	for _, h := range j.hosts {
		h.job = j
		for i := range h.NICs {
			h.NICs[i].share = 1
		}
		if j.Spec.NICs > 0 {
			j.concentrate(h)
		}
	}
	if j.Spec.StartAt == 0 || j.Spec.InitFor <= 0 {
		if j.Spec.StartAt == 0 {
			j.windows = 100
		}
		j.train()
		return
	}
	j.phase = jobInit
	j.setState(gpuInit)
	c.at(c.now+int64(j.Spec.InitFor*1000), orderState, func() {
		if j.phase == jobInit {
			j.train()
		}
	})
}

// concentrate puts the traffic of all GPUs on the first NICs of a host.
func (j *Job) concentrate(h *Host) {
	for i, n := range h.NICs {
		n.share = 0
		if i < j.Spec.NICs {
			n.share = 1
		}
	}
	for gi, g := range h.GPUs {
		g.NICs = []*NIC{h.NICs[gi*j.Spec.NICs/len(h.GPUs)]}
	}
}

// train starts a step.
func (j *Job) train() {
	j.phase = jobTraining
	j.setState(gpuTraining)
	j.beginStep(j.c.now)
	j.armStep()
}

func (j *Job) armStep() {
	end := j.stepEnd
	j.c.at(end, orderStep, func() {
		if j.phase != jobTraining || end < j.stepStart {
			return
		}
		if j.stepEnd > j.c.now { // blocked meanwhile
			j.armStep()
			return
		}
		j.endStep(j.c.now)
		if j.checkpoint != nil && j.c.now >= j.nextCheckpoint {
			j.save()
			return
		}
		j.beginStep(j.c.now)
		j.armStep()
	})
}

// SetCheckpoint makes the job write checkpoints.
func (j *Job) SetCheckpoint(cp Checkpoint) {
	j.checkpoint = &cp
	j.nextCheckpoint = j.c.start + int64(cp.First*1000)
}

func (j *Job) save() {
	cp := j.checkpoint
	j.phase = jobCheckpoint
	j.setState(gpuIO)
	jitter := cp.Jitter * (2*j.rng.Float64() - 1)
	j.nextCheckpoint += int64((cp.Every + jitter) * 1000)
	j.c.at(j.c.now+int64(cp.For*1000), orderState, func() {
		if j.phase == jobCheckpoint {
			j.train()
		}
	})
}

// Hang stops all progress: nothing completes any more, everybody spins.
func (j *Job) Hang() {
	if j.phase != jobTraining {
		return
	}
	j.phase, j.phaseEnd = jobHung, j.c.now
	j.setState(gpuWaiting)
}

// Resume lets a hung job go on where it was.
func (j *Job) Resume() {
	if j.phase != jobHung {
		return
	}
	for _, h := range j.hosts {
		for _, n := range h.NICs {
			n.moved += n.perStep * j.progress(j.phaseEnd)
			n.perStep = 0
		}
	}
	j.train()
}

// end frees the GPUs. A clean exit unlinks the files, a kill leaves them with
// their last values.
func (j *Job) end(kill bool) {
	if j.phase == jobOver {
		return
	}
	for _, h := range j.hosts {
		for _, n := range h.NICs {
			n.advance(j.c.now)
			n.moved += n.perStep * j.progress(j.c.now)
			n.perStep = 0
		}
	}
	j.phase = jobOver
	j.setState(gpuIdle)
	for _, h := range j.hosts {
		if h.job == j {
			h.job = nil
		}
		if !kill {
			for i := range h.files {
				h.files[i].unlink()
			}
		}
	}
}

func (j *Job) setState(s gpuState) {
	for r := range j.ranks {
		g := j.ranks[r].gpu
		g.advance(j.c.now)
		if s == gpuIdle {
			g.pinned, g.killed, g.Memory = false, false, -1
		}
		if !g.pinned {
			g.state = s
		}
	}
}
