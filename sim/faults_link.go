package sim

// Downtrain lowers the negotiated rate of a NIC to a share.
func Downtrain(host, nic int, share, start, end float64) Fault {
	return Fault{
		Name: "rate_downtrained", Start: start, End: end,
		Apply: func(c *Cluster, _, _ float64) {
			n := c.NIC(host, nic)
			n.Rate = n.nominal * share
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
