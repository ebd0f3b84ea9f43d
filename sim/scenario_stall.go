package sim

import "time"

func stallScenarios() []Scenario {
	return []Scenario{
		{ID: "S16", Title: "a GPU fell off the bus, the job hangs", After: 12 * time.Minute, Shape: R16, Hosts: 16, Build: func(b *Build) { buildS16(b, true) }},
		{ID: "S16-x", Title: "a GPU fell off the bus without a code", After: 12 * time.Minute, Shape: R16, Hosts: 16, Build: func(b *Build) { buildS16(b, false) }},
		{ID: "S16-a", Title: "the GPU exporter restarts", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS16a},
		{ID: "S17", Title: "one rank died, the rest waits", After: 12 * time.Minute, Shape: R16, Hosts: 16, Build: func(b *Build) { buildS17(b, false) }},
		{ID: "S17-x", Title: "one rank killed for lack of memory", After: 12 * time.Minute, Shape: R16, Hosts: 16, Build: func(b *Build) { buildS17(b, true) }},
		{ID: "S17-a", Title: "the whole job ended", After: 15 * time.Minute, Shape: R16, Hosts: 16, Prepare: prepareS17a},
		{ID: "S17-b", Title: "one GPU of every host freed on purpose", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS17b},
		{ID: "S17-c", Title: "one rank stuck outside the collective", After: 12 * time.Minute, Shape: R16, Hosts: 16, Build: buildS17c},
		{ID: "S18", Title: "all ranks stuck alike", After: 15 * time.Minute, Shape: V4, Hosts: 18, Build: buildS18},
		{ID: "S18-a", Title: "a pause of forty seconds", After: 15 * time.Minute, Shape: V4, Hosts: 18, Build: buildS18a},
	}
}

// LoseGPU makes a GPU vanish and its job hang. With a code the exporter sees at
// least one collection of it before the series are gone.
func LoseGPU(host, gpu int, xid, start float64) Fault {
	gone := 0.0
	if xid != 0 {
		gone = 62
	}
	return Fault{
		Name: "gpu_fault", Start: start,
		At: []Action{
			{0, func(c *Cluster) {
				g := c.Hosts[host].GPUs[gpu]
				if xid != 0 {
					g.setXid(xid)
				}
				if j := c.Hosts[host].job; j != nil {
					j.Hang()
				}
				g.pin(gpuIdle)
			}},
			{gone, func(c *Cluster) { c.Hosts[host].GPUs[gpu].Lost = true }},
		},
	}
}

func (g *GPU) setXid(code float64) {
	g.Xid = code
	g.xidAt = g.host.c.now
}

// pin keeps a GPU in a state until its job ends.
func (g *GPU) pin(s gpuState) { g.state, g.pinned = s, true }

func buildS16(b *Build, code bool) {
	h, g := b.Host("a", 11), b.GPU("a", 4)
	xid := 0.0
	if code {
		xid = 79
	}
	b.C.Inject(LoseGPU(h, g, xid, b.Onset))
	b.expect("collective_stall", "gpu_fault", "critical", 180*time.Second, b.gpuOf(h, g))
	b.T.AlsoClass = []string{"gpu_fault"}
}

func buildS16a(b *Build) {
	h := b.Host("a", 11)
	b.C.Inject(RestartDCGM(h, b.Onset, 60))
	b.T.Allowed = []string{"telemetry_gap"}
	b.T.MayName = []Component{b.node(h)}
}

func buildS17(b *Build, oom bool) {
	h, g := b.Host("a", 2), b.GPU("a", 1)
	b.C.Inject(ExitRank(h, g, oom, b.Onset))
	b.expect("collective_stall", "rank_exited", "critical", 180*time.Second, b.gpuOf(h, g))
	b.T.MustNot = []string{"gpu_fault", "nic_degraded"}
}

func prepareS17a(b *Build, o *Options) {
	s := o.Shape.Jobs[0]
	s.EndAt = b.Onset
	o.Jobs = []JobSpec{s}
}

func buildS17b(b *Build) {
	gpu := b.GPU("a", 1)
	b.C.Inject(Fault{Name: "uneven group", Start: b.Onset, At: []Action{{0, func(c *Cluster) {
		for _, h := range c.Hosts {
			h.GPUs[gpu].Memory = 3
			h.GPUs[gpu].pin(gpuIdle)
		}
	}}}})
	b.T.MustNot = []string{"gpu_fault"}
}

func buildS17c(b *Build) {
	h, g := b.Host("a", 6), b.GPU("a", 3)
	b.C.Inject(Fault{Name: "rank_behind", Start: b.Onset, At: []Action{{0, func(c *Cluster) {
		c.Hosts[h].job.Hang()
		c.Hosts[h].GPUs[g].pin(gpuStuck)
	}}}})
	b.expect("collective_stall", "rank_behind", "critical", 180*time.Second, b.gpuOf(h, g))
	b.T.MustNot = []string{"gpu_fault"}
}

func buildS18(b *Build) {
	b.C.Inject(Fault{Name: "all_alike", Start: b.Onset, At: []Action{{0, func(c *Cluster) { c.Jobs[0].Hang() }}}})
	b.expect("collective_stall", "all_alike", "critical", 300*time.Second)
}

func buildS18a(b *Build) {
	b.C.Inject(Fault{Name: "pause", Start: b.Onset, At: []Action{
		{0, func(c *Cluster) { c.Jobs[0].Hang() }},
		{40, func(c *Cluster) { c.Jobs[0].Resume() }},
	}})
}
