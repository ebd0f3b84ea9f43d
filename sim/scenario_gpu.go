package sim

import "time"

func gpuScenarios() []Scenario {
	return []Scenario{
		{ID: "S11", Title: "one NVLink keeps recovering", After: 40 * time.Minute, Shape: R16, Hosts: 16, Prepare: withLinks, Build: buildS11},
		{ID: "S11-a", Title: "another algorithm after a restart", After: 30 * time.Minute, Shape: R16, Hosts: 16, Prepare: prepareS11a},
		{ID: "S12", Title: "an NVLink domain fault", After: 12 * time.Minute, Shape: V4, Hosts: 18, Build: buildS12},
		{ID: "S12-a", Title: "Xid 74 on one GPU", After: 12 * time.Minute, Shape: R16, Hosts: 16, Build: buildS12a},
		{ID: "S12-b", Title: "Xid 45 everywhere after an abort", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS12b},
		{ID: "S13", Title: "one GPU throttles thermally", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS13, Levels: []float64{1, 0.6, 0.35}},
		{ID: "S13-a", Title: "one GPU throttles, no reasons field", After: 15 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { o.Dialect.Reasons = false }, Build: buildS13},
		{ID: "S13-b", Title: "locked clocks on every GPU", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildS13b},
		{ID: "S14", Title: "a hot rack", After: 25 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { o.Dialect.NodeLabels = true }, Build: buildS14, Levels: []float64{1, 0.7}},
		{ID: "S14-x", Title: "a hot rack, racks unknown", After: 25 * time.Minute, Shape: R16, Hosts: 16, Build: buildS14x},
		{ID: "S14-a", Title: "afternoon drift", After: 40 * time.Minute, Shape: R16, Hosts: 16, Build: buildS14a},
		{ID: "S21", Title: "PCIe lane loss at one GPU", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS21, Levels: []float64{1, 0.6}},
		{ID: "S21-x", Title: "PCIe lane loss without the width field", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { o.Dialect.PCIeLink = false }, Build: buildS21},
		{ID: "S21-a", Title: "an idle host at PCIe generation 1", After: 15 * time.Minute, Shape: R16, Hosts: 17, Prepare: spareHost, Build: buildS21a},
	}
}

func withLinks(_ *Build, o *Options) { o.Dialect.NVLinkLinks = true }

// Throttle lowers the clock of a GPU to a share by heat.
func Throttle(host, gpu int, share, start, end float64) Fault {
	return Fault{
		Name: "gpu_throttle", Start: start, End: end, Ramp: 120,
		Apply: func(c *Cluster, level, _ float64) { hot(c.GPU(host, gpu), 24, 19, share, 0x60, level) },
	}
}

func hot(g *GPU, heat, memory, share, reasons, level float64) {
	g.HeatC, g.MemHeatC = heat*level, memory*level
	g.Clock = lerp(1, share, level)
	if level > 0.3 {
		g.Reasons = reasons
	}
}

func buildS11(b *Build) {
	h, g := b.Host("a", 8), b.GPU("a", 5)
	var at []Action
	b.C.Hosts[h].GPUs[g].recovery[14] = 502
	for i := range 5 {
		at = append(at, Action{float64(60 + i*420), func(c *Cluster) { c.Hosts[h].GPUs[g].recovery[14]++ }})
	}
	b.fault("nvlink", 0, func(c *Cluster, _, _ float64) { c.GPU(h, g).NVLink = 0.939 }, at...)
	b.expect("nvlink_degraded", "recovery_counter", "warning", 30*time.Minute, b.gpuOf(h, g))
	b.T.MustNot = []string{"nic_degraded", "straggler_compute"}
}

func prepareS11a(b *Build, o *Options) {
	restart(b, o, "48219", func(s *JobSpec) {
		for i := range s.Phases {
			if c := s.Phases[i].Comm; c != nil && c.NVLink {
				c.Algo, c.Bandwidth = "RING_SIMPLE", c.Bandwidth*330/360
			}
		}
	})
}

func buildS12(b *Build) {
	h, g := b.Host("a", 2), b.GPU("a", 2)
	domain := b.C.shape.domainOf(h)
	b.C.Inject(Fault{Name: "nvlink_domain_fault", Start: b.Onset, At: []Action{
		{0, func(c *Cluster) { c.Hosts[h].GPUs[g].setXid(149) }},
		{0.3, func(c *Cluster) {
			for _, host := range c.Hosts {
				for _, x := range host.GPUs {
					if c.shape.domainOf(host.Index) == domain && x.Xid == 0 {
						x.setXid(145)
					}
				}
			}
		}},
		{0.5, func(c *Cluster) { c.Jobs[0].Hang() }},
	}})
	b.expect("nvlink_domain_fault", "xid_family", "critical", 180*time.Second, Component{Kind: "domain", Device: b.C.shape.domainName(domain)}, b.gpuOf(h, g))
	b.T.MustNot = []string{"gpu_fault", "nvlink_degraded"}
}

func buildS12a(b *Build) {
	h, g := b.Host("a", 4), b.GPU("a", 6)
	b.C.Inject(Fault{Name: "xid", Start: b.Onset, At: []Action{{0, func(c *Cluster) { c.Hosts[h].GPUs[g].setXid(74) }}}})
	b.expect("gpu_fault", "xid", "", 240*time.Second, b.gpuOf(h, g))
	b.T.AlsoClass = []string{"nvlink_degraded"}
	b.T.MustNot = []string{"nvlink_domain_fault"}
	b.T.Job = ""
}

func buildS12b(b *Build) {
	b.C.Inject(Fault{Name: "abort", Start: b.Onset, At: []Action{
		{0, func(c *Cluster) { c.Jobs[0].end(true) }},
		{5, func(c *Cluster) {
			for _, h := range c.Hosts {
				for _, g := range h.GPUs {
					g.setXid(45)
				}
			}
		}},
	}})
	b.T.MustNot = []string{"gpu_fault", "nvlink_domain_fault", "collective_stall"}
}

func buildS13(b *Build) {
	h, g := b.Host("a", 3), b.GPU("a", 2)
	b.C.Inject(Throttle(h, g, b.loss(0.667), b.Onset, 0))
	b.expect("gpu_throttle", "thermal", "warning", 180*time.Second, b.gpuOf(h, g))
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded", "rail_degraded", "thermal_group"}
}

func buildS13b(b *Build) {
	b.C.Inject(Fault{Name: "locked", Apply: func(c *Cluster, _, _ float64) {
		for _, h := range c.Hosts {
			for i := range h.GPUs {
				g := c.GPU(h.Index, i)
				g.Clock, g.Reasons = 1200.0/1755, 0x2
			}
		}
	}})
}

func buildS14(b *Build) {
	first := 4 * (b.Host("a", 8) / 4)
	b.fault("rack", 600, func(c *Cluster, level, _ float64) {
		for h := first; h < first+4 && h < len(c.Hosts); h++ {
			for i := range c.Hosts[h].GPUs {
				hot(c.GPU(h, i), 20, 16, b.loss(0.855), 0x24, level)
			}
		}
	})
	rack := b.C.shape.rackName(first)
	b.expect("thermal_group", "rack", "warning", 900*time.Second, Component{Kind: "rack", Device: rack})
	for h := first; h < first+4 && h < len(b.C.Hosts); h++ {
		b.T.MayName = append(b.T.MayName, b.node(h))
	}
	b.T.MustNot = []string{"straggler_compute", "nic_degraded"}
}

func buildS14x(b *Build) {
	buildS14(b)
	b.T.Suspects, b.T.Together, b.T.Reason = b.T.MayName, true, "host_group"
}

func buildS14a(b *Build) {
	b.fault("drift", 1800, func(c *Cluster, level, _ float64) {
		for _, h := range c.Hosts {
			for i := range h.GPUs {
				g := c.GPU(h.Index, i)
				g.HeatC, g.MemHeatC, g.Clock = 2*level, 2*level, 1-0.01*level
			}
		}
	})
}

func buildS21(b *Build) {
	h, g := b.Host("a", 12), b.GPU("a", 1)
	b.C.Inject(LaneLoss(h, g, b.loss(0.55), b.Onset, 0))
	b.expect("pcie_degraded", "width", "critical", 240*time.Second, b.gpuOf(h, g), b.nicOf(h, b.C.shape.nicOfGPU(g)))
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded"}
}

func buildS21a(b *Build) {
	for _, g := range b.C.Hosts[b.Host("b", 3)].GPUs {
		g.replays = 4
	}
}
