package sim

import "time"

func nicScenarios() []Scenario {
	return []Scenario{
		{ID: "S01", Title: "a NIC negotiated a quarter of its speed", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS01, Levels: []float64{1, 2.0 / 3}},
		{ID: "S03", Title: "one port loss longer than the NCCL timeout", After: 10 * time.Minute, Shape: R16, Hosts: 16, Build: buildS03},
	}
}

// Downtrain lowers the negotiated rate of a NIC to a share.
func Downtrain(host, nic int, share, start, end float64) Fault {
	return Fault{
		Name: "rate_downtrained", Start: start, End: end,
		Apply: func(c *Cluster, _, _ float64) {
			n := c.NIC(host, nic)
			n.Rate = c.shape.NICRate * share
			n.SwitchWait = 9e7
		},
		At: []Action{{0, func(c *Cluster) { c.Hosts[host].NICs[nic].counts[cLinkDowned]++ }}},
	}
}

// PortDown takes a port down for some seconds; the job's operations over it
// wait, and if the job's timer runs out first, the job dies.
func PortDown(host, nic int, start, seconds, timeout float64) Fault {
	return Fault{
		Name: "link_down", Start: start, End: start + seconds,
		Apply: func(c *Cluster, _, _ float64) { portDown(c.NIC(host, nic)) },
		At: []Action{
			{0, func(c *Cluster) {
				n := c.Hosts[host].NICs[nic]
				n.counts[cLinkDowned]++
				n.counts[cCarrierDown]++
				if j := c.Hosts[host].job; j != nil && n.share > 0 {
					if seconds > timeout {
						j.Hang()
					} else {
						j.block(n, seconds)
					}
				}
			}},
			{timeout, func(c *Cluster) {
				if j := c.Hosts[host].job; j != nil && seconds > timeout && j.phase == jobHung {
					j.end(false)
				}
			}},
		},
	}
}

func portDown(n *NIC) { n.State, n.Phys, n.Factor = 1, 2, 0.001 }

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

func buildS03(b *Build) {
	h, n := b.Host("a", 2), b.NIC("a", 0)
	b.C.Inject(PortDown(h, n, b.Onset, 42, 33))
	b.expect("link_down", "port_not_active", "critical", 90*time.Second, b.nicOf(h, n))
	b.T.Allowed = []string{"link_flap"}
	b.T.Ends = true
}
