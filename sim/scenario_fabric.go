package sim

import "time"

func fabricScenarios() []Scenario {
	return []Scenario{
		{ID: "S05", Title: "a sick leaf switch", After: 15 * time.Minute, Shape: R16, Hosts: 16, Prepare: withSwitches("infiniband"), Build: buildS05, Levels: []float64{1, 0.5}},
		{ID: "S05-x", Title: "a sick leaf switch, no switch data", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS05x},
		{ID: "S05-a", Title: "a rail with communicators of another size since the start", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: prepareS05a, Build: buildS05a},
		{ID: "S05-b", Title: "three of sixteen hosts of a rail", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS05b},
		{ID: "S06", Title: "one NIC stops absorbing: PFC storm", After: 15 * time.Minute, Shape: Q8, Hosts: 8, Prepare: withPause("rdma_exporter"), Build: buildS06, Levels: []float64{1, 0.5}},
		{ID: "S06-x", Title: "PFC storm seen by ethtool only", After: 15 * time.Minute, Shape: Q8, Hosts: 8, Prepare: withPause("ethtool"), Build: buildS06x},
		{ID: "S06-a", Title: "incast", After: 15 * time.Minute, Shape: Q8, Hosts: 8, Prepare: withPause("rdma_exporter"), Build: buildS06a},
		{ID: "S06-b", Title: "short pauses while checkpoints are read", After: 20 * time.Minute, Shape: Q8, Hosts: 8, Prepare: withPause("rdma_exporter"), Build: buildS06b},
		{ID: "S07", Title: "packet loss behind one switch", After: 15 * time.Minute, Shape: Q8, Hosts: 8, Prepare: withLabels, Build: buildS07, Levels: []float64{1, 0.5}},
		{ID: "S07-x", Title: "packet loss behind one switch, no topology", After: 15 * time.Minute, Shape: Q8, Hosts: 8, Build: buildS07x},
		{ID: "S07-a", Title: "packet loss at one receiver", After: 15 * time.Minute, Shape: Q8, Hosts: 8, Build: buildS07a},
		{ID: "S07-b", Title: "a hundred times the congestion marks, no loss", After: 15 * time.Minute, Shape: Q8, Hosts: 8, Build: buildS07b},
		{ID: "S08", Title: "two heavy flows on one uplink", After: 20 * time.Minute, Shape: Q8, Hosts: 8, Prepare: prepareS08, Build: buildS08},
		{ID: "S08-x", Title: "two heavy flows on one uplink, no switch data", After: 20 * time.Minute, Shape: Q8, Hosts: 8, Prepare: prepareS08x, Build: buildS08x},
		{ID: "S08-a", Title: "all uplinks equally loaded", After: 20 * time.Minute, Shape: Q8, Hosts: 8, Prepare: withSwitches("cumulus"), Build: buildS08a},
		{ID: "S24", Title: "cables of two rails swapped", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: withSwitches("infiniband"), Build: buildS24},
		{ID: "S24-a", Title: "ports described in another style", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: withSwitches("infiniband"), Build: buildS24a},
	}
}

func withSwitches(kind string) func(*Build, *Options) {
	return func(_ *Build, o *Options) { o.Dialect.Switches = kind }
}

// withLabels adds the switches' own series and the labels of nodes.
func withLabels(_ *Build, o *Options) { o.Dialect.Switches, o.Dialect.NodeLabels = "cumulus", true }

func withPause(kind string) func(*Build, *Options) {
	return func(_ *Build, o *Options) { o.Dialect.Pause = kind }
}

func buildS05(b *Build) {
	leaf := b.C.Hosts[0].NICs[b.NIC("a", 2)].leaf
	b.C.Inject(SickLeaf(leaf.Index, b.loss(0.39), b.Onset, 0))
	b.expect("leaf_degraded", "rail_wide", "critical", 180*time.Second, Component{Kind: "switch", Switch: leaf.Name})
	b.T.AlsoClass = []string{"rail_degraded"}
	b.T.MustNot = []string{"nic_degraded", "straggler_compute"}
}

func buildS05x(b *Build) {
	buildS05(b)
	b.expect("rail_degraded", "no_topology", "", 180*time.Second)
	b.T.AlsoClass, b.T.MustNot = nil, []string{"nic_degraded", "straggler_compute", "leaf_degraded"}
}

// prepareS05a gives one rail smaller communicators, two of which share it: other
// keys, half the bandwidth, no sign on any port.
func prepareS05a(b *Build, o *Options) {
	spec := o.Shape.Jobs[0]
	spec.Layout.EP = max(2, len(o.Shape.Hosts)/2)
	rail := 2
	if b.P.Elsewhere {
		rail = b.rng.IntN(o.Shape.GPUs)
	}
	last := len(spec.Phases) - 1
	most, one := *spec.Phases[last].Comm, *spec.Phases[last].Comm
	for g := range o.Shape.GPUs {
		if g != rail {
			most.Only = append(most.Only, g)
		}
	}
	one.Only, one.Group, one.Bandwidth = []int{rail}, GroupEP, one.Bandwidth/2
	spec.Phases = append(spec.Phases[:last:last], Phase{Comm: &most}, Phase{Comm: &one})
	o.Jobs = []JobSpec{spec}
}

func buildS05a(b *Build) {
	b.T.MustNot = []string{"leaf_degraded", "rail_degraded", "nic_degraded"}
	b.T.Allowed = []string{"inefficient_collective"}
}

func buildS05b(b *Build) {
	rail := b.NIC("a", 2)
	first := b.Host("a", 4)
	for k := range 3 {
		h := (first + k*5) % len(b.C.Hosts)
		b.fault("rail part", 0, func(c *Cluster, _, _ float64) {
			n := c.NIC(h, rail)
			n.Rates[cXmitWait], n.Factor = 6e6, 0.5
		})
		b.T.MayName = append(b.T.MayName, b.nicOf(h, rail))
	}
	b.T.Allowed = []string{"nic_degraded", "nic_contention", "rail_degraded"}
	b.T.MustNot = []string{"leaf_degraded"}
}

func buildS06(b *Build) {
	h, n := b.Host("a", 4), b.NIC("a", 4)
	b.fault("pfc_storm", 0, func(c *Cluster, _, _ float64) {
		for i, host := range c.Hosts {
			rx := 0.04
			if c.shape.leafOf(i, 0) == c.shape.leafOf(h, 0) {
				rx = 0.12
			}
			for k := range host.NICs {
				x := c.NIC(i, k)
				x.Rates[cECN] = lerp(150, 2e4, b.Level)
				x.Rates[cPauseRx] = lerp(0.001, rx, b.Level) * 1e6
			}
		}
		x := c.NIC(h, n)
		x.Rates[cPauseTx], x.Rates[cPCIeStall], x.Factor = 0.38e6*b.Level, 0.6e6*b.Level, b.loss(0.33)
	})
	b.expect("pfc_storm", "host_not_absorbing", "critical", 120*time.Second, b.nicOf(h, n))
	b.T.MustNot = []string{"roce_congestion", "roce_loss", "leaf_degraded"}
}

// buildS06x has the netdev as a second name: nothing maps it to the RDMA device.
func buildS06x(b *Build) {
	buildS06(b)
	n := b.C.Hosts[b.Host("a", 4)].NICs[b.NIC("a", 4)]
	b.T.Suspects = append(b.T.Suspects, Component{Kind: "nic", Node: n.host.Name, Device: n.netdev})
}

// marks changes congestion series of all NICs and the bandwidth of the fabric.
func marks(ecn, rx, tx, factor float64) func(c *Cluster, level, t float64) {
	return func(c *Cluster, _, _ float64) {
		for i, host := range c.Hosts {
			for k := range host.NICs {
				x := c.NIC(i, k)
				x.Rates[cECN] *= ecn
				x.Rates[cCNPSent] *= ecn
				x.Rates[cCNPHandled] *= ecn
				x.Rates[cPauseRx], x.Rates[cPauseTx], x.Factor = rx*1e6, tx*1e6, factor
			}
		}
	}
}

func buildS06a(b *Build) {
	b.fault("incast", 0, marks(60, 0.15, 0.005, 0.6))
	b.expect("roce_congestion", "incast", "", 300*time.Second)
	b.T.MustNot = []string{"pfc_storm", "nic_degraded"}
}

func buildS06b(b *Build) {
	b.C.Inject(Fault{Name: "reads", Start: b.Onset, End: b.Onset + 40, Apply: marks(1, 0.001, 0.02, 1)})
	b.C.Inject(Fault{Name: "reads", Start: b.Onset + 600, End: b.Onset + 640, Apply: marks(1, 0.001, 0.02, 1)})
}

func buildS07(b *Build) {
	behind := b.C.shape.leafOf(b.Host("a", 5), 0)
	b.fault("loss", 0, func(c *Cluster, _, _ float64) {
		for i, host := range c.Hosts {
			for k := range host.NICs {
				x := c.NIC(i, k)
				x.Rates[cSeqErr], x.Rates[cAdpRetrans], x.Rates[cAckTimeout] = 400*b.Level, 300*b.Level, 3*b.Level
				x.Factor = b.loss(0.207)
				if c.shape.leafOf(i, k) == behind {
					x.Rates[cOutOfSequence], x.Rates[cXmitDiscards] = 900*b.Level, 1e4*b.Level
				}
			}
		}
	})
	b.expect("roce_loss", "drops_behind_switch", "critical", 180*time.Second, Component{Kind: "switch", Switch: b.C.Leaves[behind].Name})
	b.T.MustNot = []string{"nic_degraded", "pfc_storm"}
}

func buildS07x(b *Build) {
	buildS07(b)
	b.expect("roce_loss", "drops_everywhere", "", 180*time.Second)
}

func buildS07a(b *Build) {
	h, n := b.Host("a", 5), b.NIC("a", 2)
	b.fault("loss", 0, func(c *Cluster, _, _ float64) {
		x := c.NIC(h, n)
		x.Rates[cOutOfSequence], x.Factor = 900, 0.5
	})
	b.expect("nic_degraded", "packet_loss", "critical", 240*time.Second, b.nicOf(h, n))
	b.T.MustNot = []string{"roce_loss", "leaf_degraded"}
}

func buildS07b(b *Build) {
	b.fault("congestion", 0, marks(100, 0.01, 0.001, 0.75))
	b.expect("roce_congestion", "", "", 300*time.Second)
	b.T.MustNot = []string{"roce_loss", "nic_degraded", "pfc_storm"}
}

// restart replaces the shape's job at the onset by one of another id and
// changes the new one.
func restart(b *Build, o *Options, id string, change func(*JobSpec)) {
	first := o.Shape.Jobs[0]
	second := first
	second.Phases = nil
	for _, p := range first.Phases {
		if p.Comm != nil {
			c := *p.Comm
			p.Comm = &c
		}
		second.Phases = append(second.Phases, p)
	}
	first.EndAt = b.Onset - 120
	second.ID, second.StartAt, second.InitFor = id, b.Onset-60, 60
	if change != nil {
		change(&second)
	}
	o.Jobs = []JobSpec{first, second}
}

func prepareS08(b *Build, o *Options) {
	o.Dialect.Switches = "cumulus"
	restart(b, o, "5118", nil)
}

func prepareS08x(b *Build, o *Options) { restart(b, o, "5118", nil) }

func collide(b *Build) int {
	leaf := b.C.shape.leafOf(b.Host("a", 0), 0)
	b.fault("collision", 0, func(c *Cluster, _, _ float64) {
		c.Job(1).CommFactor = 0.586
		l := c.Leaf(leaf)
		for u := range l.Uplinks {
			l.Uplinks[u].Rate = 1.6e10
		}
		l.Uplinks[0].Rate, l.Uplinks[0].Marked = 4.9e10, 9e4
		for i, h := range c.Hosts {
			for k := range h.NICs {
				c.NIC(i, k).Rates[cPauseRx] = 0.02e6
			}
		}
	})
	b.T.Job = "5118"
	return leaf
}

func buildS08(b *Build) {
	leaf := collide(b)
	b.expect("uplink_congestion", "uneven_uplinks", "warning", 420*time.Second, Component{Kind: "link", Switch: b.C.Leaves[leaf].Name, Device: "swp49"})
	b.T.AlsoClass = []string{"roce_congestion"}
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded"}
}

func buildS08x(b *Build) {
	collide(b)
	b.expect("roce_congestion", "uplink_suspected", "", 0)
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded", "uplink_congestion"}
}

func buildS08a(b *Build) {
	b.fault("load", 0, func(c *Cluster, _, _ float64) {
		for i := range c.Leaves {
			l := c.Leaf(i)
			for u := range l.Uplinks {
				l.Uplinks[u].Rate = 3.5e10
			}
		}
	})
}

func buildS24(b *Build) {
	h, n := b.Host("a", 9), b.NIC("a", 2)
	m := n + 1
	if m == len(b.C.shape.NICs) {
		m = n - 1
	}
	x, y := b.C.Hosts[h].NICs[n], b.C.Hosts[h].NICs[m]
	planned, other := x.leaf, y.leaf
	swap := Action{0, func(*Cluster) {
		x.leaf, y.leaf = other, planned
		x.portRefs, y.portRefs = portRefs{}, portRefs{}
	}}
	b.fault("recabled", 0, func(c *Cluster, _, _ float64) {
		c.NIC(h, n).Factor, c.NIC(h, m).Factor = 0.83, 0.83
	}, swap)
	for i := range b.Facts.Ports {
		p := &b.Facts.Ports[i]
		if p.Host != b.C.Hosts[h].Name {
			continue
		}
		switch p.Device {
		case x.Name:
			p.ExpectedLeaf, p.Leaf = p.Leaf, other.Name
		case y.Name:
			p.ExpectedLeaf, p.Leaf = p.Leaf, planned.Name
		}
	}
	b.expect("rail_miscabled", "cables_swapped", "warning", 300*time.Second, b.nicOf(h, n), b.nicOf(h, m))
	b.T.Together = true
	b.T.Allowed = []string{"rail_degraded"} // all there is to say without a topology
	b.T.MustNot = []string{"leaf_degraded", "nic_degraded"}
}

func buildS24a(b *Build) {
	h := b.C.Hosts[b.Host("a", 9)]
	for i, n := range h.NICs {
		n.uplinkName = h.Name + " HCA-" + string(rune('1'+i))
	}
}
