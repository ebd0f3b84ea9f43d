package sim

import "time"

func hostScenarios() []Scenario {
	return []Scenario{
		{ID: "S09", Title: "GPUDirect missing on one host after an upgrade", After: 25 * time.Minute, Shape: A4, Hosts: 4, Prepare: prepareS09, Build: buildS09},
		{ID: "S09-a", Title: "GPUDirect off on all hosts", After: 25 * time.Minute, Shape: A4, Hosts: 4, Prepare: prepareS09, Build: buildS09a},
		{ID: "S09-b", Title: "another algorithm with a new library on all hosts", After: 25 * time.Minute, Shape: A4, Hosts: 4, Prepare: prepareS09b},
		{ID: "S10", Title: "a bad host found only by intersection", After: 150 * time.Minute, Shape: A4, Hosts: 4, Prepare: prepareS10, Build: buildS10},
		{ID: "S10-a", Title: "slow jobs share an image, not a host", After: 180 * time.Minute, Shape: A4, Hosts: 4, Prepare: prepareS10a, Build: buildS10a},
		{ID: "S15", Title: "host CPU starvation", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS15, Levels: []float64{1, 0.6}},
		{ID: "S15-a", Title: "pressure on all hosts since the start", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildS15a},
		{ID: "S20", Title: "compute and communication compete after a setting", After: 25 * time.Minute, Shape: R16, Hosts: 16, Prepare: prepareS20, Build: buildS20},
		{ID: "S20-a", Title: "the whole network slows down", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildS20a},
	}
}

// past are jobs that ran before the onset on all hosts: what a shape reaches.
func past(b *Build, o *Options, n int) []JobSpec {
	var out []JobSpec
	for i := range n {
		s := Small("30"+string(rune('5'+i))+"1", span(0, len(o.Shape.Hosts)), 82)
		each := b.Onset / float64(n)
		s.StartAt, s.EndAt, s.InitFor = each*float64(i), each*float64(i+1)-120, 60
		out = append(out, s)
	}
	return out
}

func prepareS09(b *Build, o *Options) {
	s := Small("3102", span(0, len(o.Shape.Hosts)), 82)
	s.StartAt, s.InitFor = b.Onset, 60
	o.Jobs = append(past(b, o, 2), s)
}

// slowPath takes GPUDirect from a host from some minutes before the onset on:
// nothing changes inside the job.
func slowPath(b *Build, host int, factor float64) {
	b.C.Inject(Fault{
		Name: "host_path_degraded", Start: b.Onset - 60,
		Apply: func(c *Cluster, _, _ float64) { c.Host(host).Path = factor },
		At:    []Action{{0, func(c *Cluster) { c.Hosts[host].Release, c.Hosts[host].refs.uname = "6.11.0-17-generic", 0 }}},
	})
}

func buildS09(b *Build) {
	h := b.Host("a", 2)
	slowPath(b, h, 0.115)
	b.T.Job = "3102"
	b.expect("host_path_degraded", "gdr_suspected", "critical", 900*time.Second, b.node(h))
	b.T.AlsoClass = []string{"inefficient_collective"}
	b.T.MustNot = []string{"nic_degraded", "straggler_compute"}
}

func buildS09a(b *Build) {
	for i := range b.C.Hosts {
		slowPath(b, i, 0.115)
	}
	b.T.Job = "3102"
	b.expect("config_suspected", "gdr_off_everywhere", "", 0)
	b.T.AlsoClass = []string{"inefficient_collective"}
	b.T.MustNot = []string{"host_path_degraded", "node_suspect"}
}

func prepareS09b(b *Build, o *Options) {
	prepareS09(b, o)
	s := &o.Jobs[len(o.Jobs)-1]
	s.Version = "v5.2"
	for i := range s.Phases {
		if c := s.Phases[i].Comm; c != nil && !c.NVLink {
			c.Algo, c.Bandwidth = "TREE_SIMPLE", 70
		}
	}
	b.T.Allowed = []string{"config_suspected", "inefficient_collective"}
	b.T.MustNot = []string{"host_path_degraded", "node_suspect"}
}

// pairs are two-host jobs of 20 minutes, one after another.
func pairs(b *Build, o *Options, list [][2]int, bandwidth func(i int) float64) {
	o.Jobs = nil
	for i, p := range list {
		s := Small("32"+string(rune('0'+(i+1)/10))+string(rune('0'+(i+1)%10)), []int{p[0], p[1]}, bandwidth(i))
		s.StartAt = max(0, b.Onset-1500) + float64(i)*1500
		s.EndAt, s.InitFor = s.StartAt+1380, 60
		o.Jobs = append(o.Jobs, s)
	}
}

func prepareS10(b *Build, o *Options) {
	pairs(b, o, [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {1, 2}, {0, 3}}, func(int) float64 { return 87 })
}

func buildS10(b *Build) {
	const h = 2
	b.C.Inject(Fault{Name: "node_suspect", Apply: func(c *Cluster, _, _ float64) { c.Host(h).Path = 0.56 }})
	b.expect("node_suspect", "intersection", "warning", 0, b.node(h))
	b.T.Job = ""
	b.T.AlsoClass = []string{"host_path_degraded"}
	b.T.Allowed = []string{"inefficient_collective"}
	b.T.MustNot = []string{"nic_degraded"}
}

func prepareS10a(b *Build, o *Options) {
	pairs(b, o, [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {1, 2}, {0, 3}, {0, 1}}, func(i int) float64 {
		if i%2 == 1 {
			return 49
		}
		return 87
	})
	for i := range o.Jobs {
		if i%2 == 1 {
			o.Jobs[i].Version = "v5.2"
		}
	}
}

func buildS10a(b *Build) {
	b.T.Allowed = []string{"config_suspected", "inefficient_collective"}
	b.T.MustNot = []string{"node_suspect", "host_path_degraded"}
}

func buildS15(b *Build) {
	h := b.Host("a", 12)
	b.C.Inject(Starve(h, 0.55*b.Level, 40+270*b.Level, 1+0.57*b.Level, b.Onset, 0))
	b.expect("straggler_compute", "host_cpu", "warning", 240*time.Second, b.node(h))
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded", "gpu_throttle"}
}

func buildS15a(b *Build) {
	b.C.Inject(Fault{Name: "pressure", Apply: func(c *Cluster, _, _ float64) {
		for i := range c.Hosts {
			h := c.Host(i)
			h.CPU, h.Load = 0.3, 180
		}
	}})
}

func prepareS20(b *Build, o *Options) {
	restart(b, o, "48290", func(s *JobSpec) {
		for i := range s.Phases {
			if c := s.Phases[i].Comm; c != nil && !c.NVLink {
				c.Bandwidth *= 24 / 43.5
			}
			s.Phases[i].Compute *= 0.6
		}
	})
}

func buildS20(b *Build) {
	b.C.Inject(Fault{Name: "overlap", Start: b.Onset - 60, Apply: func(c *Cluster, _, _ float64) {
		j := c.Job(1)
		j.SMFactor, j.DRAMFactor, j.TensorFactor = 1.1, 1.6, 1.05
	}})
	b.T.Job = "48290"
	b.expect("compute_comm_contention", "", "", 0)
	b.T.AlsoClass = []string{"inefficient_collective"}
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded", "straggler_compute"}
}

func buildS20a(b *Build) {
	b.fault("network", 0, func(c *Cluster, _, _ float64) {
		for i, h := range c.Hosts {
			for k := range h.NICs {
				n := c.NIC(i, k)
				n.Factor, n.Rates[cXmitWait] = 0.55, 3e6
			}
		}
	})
	b.T.Allowed = []string{"fabric_congestion", "roce_congestion", "leaf_degraded", "rail_degraded"}
	b.T.MustNot = []string{"compute_comm_contention", "nic_degraded"}
	for _, l := range b.C.Leaves {
		b.T.MayName = append(b.T.MayName, Component{Kind: "switch", Switch: l.Name})
	}
}
