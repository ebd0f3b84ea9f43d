package sim

import "time"

func nicScenarios() []Scenario {
	return []Scenario{
		{ID: "S01", Title: "a NIC negotiated a quarter of its speed", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS01, Levels: []float64{1, 2.0 / 3}},
		{ID: "S01-a", Title: "all hosts of a pool have the older, slower cards", After: 20 * time.Minute, Shape: R16, Hosts: 32, Prepare: prepareS01a, Build: buildS01a},
		{ID: "S01-b", Title: "an unprovisioned port that was never active", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildS01b},
		{ID: "S02", Title: "a cable with bit errors", After: 25 * time.Minute, Shape: R16, Hosts: 16, Build: buildS02, Levels: []float64{1, 0.6}},
		{ID: "S02-a", Title: "a burst of symbol errors after a reboot, then flat", After: 25 * time.Minute, Shape: R16, Hosts: 17, Prepare: spareHost, Build: buildS02a},
		{ID: "S02-b", Title: "a large error count that never moves", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildS02b},
		{ID: "S02-c", Title: "bit errors on a port without a job", After: 25 * time.Minute, Shape: R16, Hosts: 17, Prepare: spareHost, Build: buildS02c},
		{ID: "S03", Title: "one port loss longer than the NCCL timeout", After: 10 * time.Minute, Shape: R16, Hosts: 16, Build: buildS03},
		{ID: "S03-a", Title: "a flap of six seconds that no scrape sees", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS03a},
		{ID: "S03-b", Title: "a host reboots", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildS03b},
		{ID: "S03-c", Title: "a port goes down on a drained host", After: 15 * time.Minute, Shape: R16, Hosts: 17, Prepare: spareHost, Build: buildS03c},
		{ID: "S04", Title: "a flapping port", After: 40 * time.Minute, Shape: R16, Hosts: 16, Build: buildS04},
		{ID: "S04-a", Title: "a leaf restarts", After: 25 * time.Minute, Shape: R16, Hosts: 40, Build: buildS04a},
		{ID: "S19", Title: "another tenant saturates one NIC", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS19, Levels: []float64{1, 0.6}},
		{ID: "S19-a", Title: "a communication-heavy phase", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildS19a},
		{ID: "S22", Title: "a NIC is back after a flap but unused", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildS22},
		{ID: "S22-a", Title: "four NICs idle since the start", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: prepareS22a},
		{ID: "S23", Title: "the EFA path of one device", After: 15 * time.Minute, Shape: E8, Hosts: 8, Build: buildS23, Levels: []float64{1, 0.6}},
		{ID: "S23-a", Title: "congestion of a whole EFA zone", After: 20 * time.Minute, Shape: E8, Hosts: 8, Build: buildS23a},
		{ID: "S23-b", Title: "sockets instead of EFA since the start", After: 20 * time.Minute, Shape: E8, Hosts: 8, Build: buildS23b},
	}
}

// spareHost leaves the last host out of the shape's job.
func spareHost(_ *Build, o *Options) {
	hosts := len(o.Shape.Hosts) - 1
	spec := TensorData("48213", hosts, o.Shape.GPUs)
	spec.Hosts = span(0, hosts)
	o.Jobs = []JobSpec{spec}
}

func span(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func buildS01(b *Build) {
	h, n := b.Host("a", 6), b.NIC("a", 3)
	share := 0.25
	if b.Level < 1 {
		share = 0.5 // links train to a half or a quarter, not between
	}
	b.C.Inject(Downtrain(h, n, share, b.Onset, 0))
	b.expect("nic_degraded", "rate_downtrained", "critical", 120*time.Second, b.nicOf(h, n))
	b.T.MustNot = []string{"leaf_degraded", "straggler_compute"}
	b.T.Allowed = []string{"link_flap"}
}

func prepareS01a(_ *Build, o *Options) {
	half := len(o.Shape.Hosts) / 2
	fast, slow := TensorData("48213", half, 8), TensorData("48214", len(o.Shape.Hosts)-half, 8)
	fast.Hosts, slow.Hosts = span(0, half), span(half, len(o.Shape.Hosts))
	for i := range slow.Phases {
		if c := slow.Phases[i].Comm; c != nil && !c.NVLink {
			c.Bandwidth /= 2
		}
	}
	o.Jobs = []JobSpec{fast, slow}
}

func buildS01a(b *Build) {
	for _, h := range b.C.Hosts[len(b.C.Hosts)/2:] {
		for _, n := range h.NICs {
			n.nominal, n.card = n.nominal/2, "MT_0000000223"
			n.healthy()
		}
	}
}

func buildS01b(b *Build) {
	d := b.C.Hosts[b.Host("a", 4)].disk
	d.neverActive = true
	d.healthy()
	d.Tx, d.Rx, d.moved = 0, 0, 0
}

func buildS02(b *Build) {
	h, n := b.Host("a", 10), b.NIC("a", 5)
	b.C.Inject(BitErrors(h, n, b.loss(0.8), b.Onset, 0))
	b.expect("nic_degraded", "bit_errors", "critical", 240*time.Second, b.nicOf(h, n))
	b.T.Allowed = []string{"link_flap"}
	b.T.MustNot = []string{"leaf_degraded"}
}

func buildS02a(b *Build) {
	h := len(b.C.Hosts) - 1
	n := b.NIC("a", 5)
	b.C.Inject(Reboot(h, b.Onset, 180))
	b.C.Inject(Fault{Name: "burst", Start: b.Onset + 360, End: b.Onset + 400, Apply: func(c *Cluster, _, _ float64) { c.NIC(h, n).Rates[cSymbol] = 1500.0 / 40 }})
	b.T.Allowed = []string{"node_restart", "telemetry_gap"}
	b.T.MayName = []Component{b.node(h)}
	b.T.MustNot = []string{"nic_degraded", "link_down", "link_flap"}
}

func buildS02b(b *Build) {
	b.C.Hosts[b.Host("a", 3)].NICs[b.NIC("a", 6)].counts[cSymbol] = 2.4e6
}

func buildS02c(b *Build) {
	h, n := len(b.C.Hosts)-1, b.NIC("a", 5)
	b.C.Inject(BitErrors(h, n, 0.8, b.Onset, 0))
	b.expect("nic_degraded", "bit_errors", "warning", 300*time.Second, b.nicOf(h, n))
	b.T.Allowed = []string{"link_flap"}
	b.T.Job = ""
}

func buildS03(b *Build) {
	h, n := b.Host("a", 2), b.NIC("a", 0)
	b.C.Inject(PortDown(h, n, b.Onset, 42, 33))
	b.expect("link_down", "port_not_active", "critical", 90*time.Second, b.nicOf(h, n))
	b.T.Allowed = []string{"link_flap"}
	b.T.Ends = true
}

func buildS03a(b *Build) {
	h, n := b.Host("a", 2), b.NIC("a", 0)
	b.C.Inject(PortDown(h, n, b.Onset+1, 6, 33))
	b.expect("link_flap", "single", "info", 120*time.Second, b.nicOf(h, n))
	b.T.MustNot = []string{"link_down"}
}

func buildS03b(b *Build) {
	h := b.Host("a", 2)
	b.C.Inject(Reboot(h, b.Onset, 240))
	b.expect("node_restart", "boot_time_changed", "", 480*time.Second, b.node(h))
	b.T.Allowed = []string{"telemetry_gap", "collective_stall"}
	b.T.MustNot = []string{"link_down", "link_flap", "gpu_fault"}
	b.T.Ends = true
}

func buildS03c(b *Build) {
	h := len(b.C.Hosts) - 1
	b.C.Hosts[h].Drained = true
	b.C.Inject(PortDown(h, b.NIC("a", 0), b.Onset, 600, 33))
}

func buildS04(b *Build) {
	h, n := b.Host("a", 14), b.NIC("a", 1)
	for _, e := range [][2]float64{{0, 8}, {180, 12}, {420, 9}, {700, 15}, {1100, 11}} {
		b.C.Inject(PortDown(h, n, b.Onset+e[0], e[1], 30))
	}
	b.expect("link_flap", "repeated", "critical", 300*time.Second, b.nicOf(h, n))
	b.T.MustNot = []string{"leaf_degraded", "leaf_restart"}
}

func buildS04a(b *Build) {
	rail := b.NIC("a", 1)
	leaf := b.C.Hosts[0].NICs[rail].leaf
	b.C.Inject(DeadLeaf(leaf.Index, b.Onset, 70))
	// Not in the second in which the ports come back: a step that begins before
	// they do would take minutes over dead ones.
	b.C.Inject(Fault{Start: b.Onset + 72, At: []Action{{0, func(c *Cluster) { c.Jobs[0].Resume() }}}})
	b.expect("leaf_restart", "burst_down", "", 180*time.Second, Component{Kind: "switch", Switch: leaf.Name})
	b.T.AlsoClass = []string{"leaf_degraded"}
	b.T.MustNot = []string{"link_down", "link_flap", "nic_degraded"}
}

func buildS19(b *Build) {
	h, n := b.Host("a", 5), b.NIC("a", 1)
	b.C.Inject(ForeignTraffic(h, n, 3.6e10*b.Level, b.loss(0.437), b.Onset, 0))
	b.expect("nic_contention", "foreign_traffic", "warning", 180*time.Second, b.nicOf(h, n))
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded"}
}

func buildS19a(b *Build) {
	j := b.C.Jobs[0]
	b.C.at(b.C.start+int64(b.Onset*1000), orderFault, func() { j.Spec.NICPerStep *= 4.3 / 0.96 })
}

func buildS22(b *Build) {
	h, n := b.Host("a", 1), b.NIC("a", 6)
	other := n + 1
	if other == len(b.C.shape.NICs) {
		other = n - 1
	}
	b.C.Inject(PortDown(h, n, b.Onset, 12, 30))
	b.C.at(b.C.start+int64((b.Onset+12)*1000), orderFault, func() {
		host := b.C.Hosts[h]
		host.NICs[n].share, host.NICs[other].share = 0, 2
		host.GPUs[b.C.shape.gpuOfNIC(n)].NICs = []*NIC{host.NICs[other]}
	})
	b.expect("nic_unused_after_flap", "traffic_moved", "warning", 300*time.Second, b.nicOf(h, n))
	b.T.Allowed = []string{"link_flap"}
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded", "nic_contention"}
}

func prepareS22a(_ *Build, o *Options) { o.Shape.Jobs[0].NICs = 4; o.Jobs = o.Shape.Jobs }

func buildS23(b *Build) {
	h, n := b.Host("a", 2), b.NIC("a", 8)
	b.fault("retransmissions", 0, func(c *Cluster, _, _ float64) {
		x := c.NIC(h, n)
		x.Rates[cRetransBytes], x.Rates[cRetransTimeout] = 0.021*c.shape.Healthy.NICBytes*b.Level, 4*b.Level
		x.Factor = b.loss(0.68)
		for i := range c.Hosts {
			if i != h {
				c.NIC(i, i%len(c.shape.NICs)).Rates[cUnresponsive] = 0.6 * b.Level
			}
		}
	})
	b.expect("nic_degraded", "retransmissions", "critical", 180*time.Second, b.nicOf(h, n))
	b.T.MustNot = []string{"fabric_congestion", "straggler_compute"}
}

func buildS23a(b *Build) {
	b.fault("zone", 0, func(c *Cluster, _, _ float64) {
		for i, h := range c.Hosts {
			for k := range h.NICs {
				x := c.NIC(i, k)
				x.Rates[cRetransBytes], x.Factor = 8e-4*c.shape.Healthy.NICBytes, 0.8
			}
		}
	})
	b.expect("fabric_congestion", "zone_wide", "", 300*time.Second)
	b.T.MustNot = []string{"nic_degraded"}
}

func buildS23b(b *Build) {
	for _, h := range b.C.Hosts {
		for _, n := range h.NICs {
			n.fallsBackToIP = true
		}
		h.Path = 0.2
	}
	b.C.Inject(Fault{Name: "tcp", Apply: func(c *Cluster, _, _ float64) {
		for i := range c.Hosts {
			c.Host(i).Path = 0.2
		}
	}})
	b.expect("config_suspected", "tcp_fallback", "", 0)
	b.T.AlsoClass = []string{"inefficient_collective"}
	b.T.MustNot = []string{"nic_degraded", "host_path_degraded"}
	b.T.Onset = b.C.Start()
}
