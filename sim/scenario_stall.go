package sim

import "time"

func stallScenarios() []Scenario {
	return []Scenario{
		{ID: "S16", Title: "a GPU fell off the bus, the job hangs", After: 12 * time.Minute, Shape: R16, Hosts: 16, Build: func(b *Build) { buildS16(b, true) }},
		{ID: "S16-x", Title: "a GPU fell off the bus without a code", After: 12 * time.Minute, Shape: R16, Hosts: 16, Build: func(b *Build) { buildS16(b, false) }},
	}
}

// LoseGPU makes a GPU vanish and its job hang. With a code the exporter sees at least
// one collection of it before the series are gone.
func LoseGPU(host, gpu int, xid float64, start float64) Fault {
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
