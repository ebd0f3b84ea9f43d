package sim

// Reboot takes a host down and up again: its exporters do not answer, its
// counters start at 0, its ports come up last. A job on it dies.
func Reboot(host int, start, seconds float64) Fault {
	return Fault{
		Name: "node_restart", Start: start, End: start + seconds + 30,
		Apply: func(c *Cluster, _, t float64) {
			h := c.Host(host)
			if t < seconds {
				h.NodeDown, h.DCGMDown = true, true
			}
			for i := range h.NICs {
				portDown(c.NIC(host, i))
			}
		},
		At: []Action{
			{0, func(c *Cluster) {
				if j := c.Hosts[host].job; j != nil {
					j.Hang()
				}
			}},
			{30, func(c *Cluster) {
				if j := c.Hosts[host].job; j != nil {
					j.end(true)
				}
			}},
			{seconds, func(c *Cluster) { c.Hosts[host].rebooted() }},
		},
	}
}

func (h *Host) rebooted() {
	h.advance(h.c.now)
	h.boot = h.c.now - 40_000
	h.cpuSec, h.ioSec, h.memSec, h.oom = 0, 0, 0, 0
	for i := range h.files {
		h.files[i].unlink()
	}
	h.resetCounters()
	for _, g := range h.GPUs {
		g.replays, g.energy, g.Xid, g.pinned, g.killed, g.state, g.Memory = 0, 0, 0, false, false, gpuIdle, -1
	}
}

// resetCounters is what a reload of the NIC driver does.
func (h *Host) resetCounters() {
	for _, n := range append(append([]*NIC(nil), h.NICs...), h.disk) {
		if n == nil {
			continue
		}
		n.advance(h.c.now)
		n.counts = [nCounters]float64{}
		n.moved, n.otherTx, n.otherRx = 0, 0, 0
		if h.job != nil {
			n.moved = -n.perStep * h.job.progress(h.c.now)
		}
	}
}

// RestartDCGM restarts the GPU exporter of a host: no rows for some seconds, and
// the last error codes are forgotten.
func RestartDCGM(host int, start, seconds float64) Fault {
	return Fault{
		Name: "dcgm_restart", Start: start, End: start + seconds,
		Apply: func(c *Cluster, _, _ float64) { c.Host(host).DCGMEmpty = true },
		At: []Action{{0, func(c *Cluster) {
			for _, g := range c.Hosts[host].GPUs {
				g.Xid = 0
			}
		}}},
	}
}

// Starve takes the CPU of a host away from the job's processes.
func Starve(host int, pressure, load, slow, start, end float64) Fault {
	return Fault{Name: "host_cpu", Start: start, End: end, Apply: func(c *Cluster, level, _ float64) {
		h := c.Host(host)
		h.CPU, h.Load, h.Slow = pressure, load, lerp(1, slow, level)
	}}
}

// BitErrors makes a cable noisy: symbol and receive errors, a link recovery
// every four minutes, retransmissions that cost bandwidth and make it uneven.
func BitErrors(host, nic int, factor, start, end float64) Fault {
	return Fault{Name: "bit_errors", Start: start, End: end, Apply: func(c *Cluster, _, _ float64) {
		n := c.NIC(host, nic)
		n.Rates[cSymbol], n.Rates[cRxErrors], n.Rates[cLinkRecovery] = 38, 6, 1.0/240
		n.Factor, n.Jitter = factor, 0.12
	}}
}

// SickLeaf lowers the bandwidth through a switch and takes uplinks away; ports
// below it wait for credits.
func SickLeaf(leaf int, factor, start, end float64) Fault {
	return Fault{Name: "leaf_degraded", Start: start, End: end, Apply: func(c *Cluster, _, _ float64) {
		l := c.Leaf(leaf)
		l.Factor, l.Missing = factor, 8
		for _, h := range c.Hosts {
			for i, n := range h.NICs {
				if n.leaf == l {
					c.NIC(h.Index, i).Rates[cXmitWait] = 6e6
				}
			}
		}
	}}
}

// ForeignTraffic sends other traffic over a NIC.
func ForeignTraffic(host, nic int, bytes, factor, start, end float64) Fault {
	return Fault{Name: "foreign_traffic", Start: start, End: end, Apply: func(c *Cluster, _, _ float64) {
		n := c.NIC(host, nic)
		n.Tx, n.Factor = bytes, factor
		n.Rates[cXmitWait] = 4e6
	}}
}

// LaneLoss halves the PCIe width of a GPU.
func LaneLoss(host, gpu int, factor, start, end float64) Fault {
	return Fault{Name: "pcie_degraded", Start: start, End: end, Apply: func(c *Cluster, _, _ float64) {
		g := c.GPU(host, gpu)
		g.Width, g.Replays, g.PCIe = 8, 5.8, factor
	}}
}

// ExitRank makes the process of one rank exit while the others wait for it.
func ExitRank(host, gpu int, oom bool, start float64) Fault {
	return Fault{Name: "rank_exited", Start: start, At: []Action{{0, func(c *Cluster) {
		h := c.Hosts[host]
		g := h.GPUs[gpu]
		if h.job != nil {
			h.job.Hang()
		}
		g.Memory, g.killed = 3, true
		g.pin(gpuIdle)
		if oom {
			h.oom++
		}
	}}}}
}

// DeadLeaf kills all ports of a leaf, from both ends.
func DeadLeaf(leaf int, start, seconds float64) Fault {
	return Fault{
		Name: "leaf_down", Start: start, End: start + seconds,
		Apply: func(c *Cluster, _, _ float64) { c.eachPort(leaf, portDown) },
		At: []Action{{0, func(c *Cluster) {
			c.eachPort(leaf, func(n *NIC) { n.counts[cLinkDowned]++; n.counts[cCarrierDown]++ })
			for _, j := range c.Jobs {
				j.Hang()
			}
		}}},
	}
}

func (c *Cluster) eachPort(leaf int, do func(*NIC)) {
	l := c.Leaf(leaf)
	for _, h := range c.Hosts {
		for i, n := range h.NICs {
			if n.leaf == l {
				do(c.NIC(h.Index, i))
			}
		}
	}
}
