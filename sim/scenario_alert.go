package sim

import (
	"fmt"
	"math"
	"time"
)

func alertScenarios() []Scenario {
	return []Scenario{
		{ID: "B01", Title: "a leaf dies under twelve jobs", After: 10 * time.Minute, Shape: R16, Hosts: 256, Prepare: prepareB01, Build: buildB01},
		{ID: "B02", Title: "bandwidth that wanders around a limit", After: 130 * time.Minute, Shape: R16, Hosts: 16, Build: buildB02},
	}
}

func prepareB01(_ *Build, o *Options) {
	o.Jobs = nil
	each := len(o.Shape.Hosts) / 12
	for i := range 12 {
		s := TensorData(fmt.Sprintf("61%02d", i), each, 8)
		s.Hosts = span(i*each, (i+1)*each)
		o.Jobs = append(o.Jobs, s)
	}
}

func buildB01(b *Build) {
	leaf := b.C.Hosts[0].NICs[b.NIC("a", 2)].leaf
	b.C.Inject(DeadLeaf(leaf.Index, b.Onset, 1e6))
	lost := b.rng.Perm(len(b.C.Hosts))[:len(b.C.Hosts)/8]
	b.fault("management", 0, func(c *Cluster, _, _ float64) {
		for _, h := range lost {
			host := c.Host(h)
			host.NodeDown, host.DCGMDown = true, true
		}
	})
	b.expect("leaf_degraded", "leaf_down", "critical", 400*time.Second, Component{Kind: "switch", Switch: leaf.Name})
	b.T.AlsoClass = []string{"leaf_restart", "rail_degraded"}
	b.T.Allowed = []string{"collective_stall", "telemetry_gap"}
	b.T.MustNot = []string{"link_down", "link_flap", "nic_degraded", "gpu_fault"}
	b.T.Job = ""
}

func buildB02(b *Build) {
	h, n := b.Host("a", 10), b.NIC("a", 5)
	b.C.Inject(Fault{Name: "bit_errors", Start: b.Onset, End: b.Onset + 7200, Apply: func(c *Cluster, _, t float64) {
		x := c.NIC(h, n)
		x.Rates[cSymbol], x.Rates[cRxErrors], x.Rates[cLinkRecovery] = 38, 6, 1.0/240
		x.Factor = 0.80 + 0.02*math.Sin(t/170)
	}})
	b.expect("nic_degraded", "bit_errors", "critical", 240*time.Second, b.nicOf(h, n))
	b.T.Allowed = []string{"link_flap"}
	b.T.End = b.C.Start().Add(time.Duration(b.Onset+7200) * time.Second)
}
