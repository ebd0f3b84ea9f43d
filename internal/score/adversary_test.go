package score

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/sim"
)

// adversaries are cases that nobody tuned on: other sizes, names and mixes, and
// normal life that looks like a fault. Their truths say who may be named.
func adversaries() []sim.Scenario {
	node := func(b *sim.Build, h int) sim.Component { return sim.Component{Kind: "node", Node: b.C.Hosts[h].Name} }
	forever := func(apply func(c *sim.Cluster)) sim.Fault {
		return sim.Fault{Name: "always", Apply: func(c *sim.Cluster, _, _ float64) { apply(c) }}
	}
	from := func(b *sim.Build, apply func(c *sim.Cluster)) sim.Fault {
		return sim.Fault{Name: "since", Start: b.Onset, Apply: func(c *sim.Cluster, _, _ float64) { apply(c) }}
	}
	quarter, third := 15*time.Minute, 20*time.Minute
	return []sim.Scenario{
		{ID: "two generations of GPUs in one job", Hosts: 12, Shape: sim.R16, After: third, Build: func(b *sim.Build) {
			b.C.Inject(forever(func(c *sim.Cluster) {
				for h := range 6 {
					for g := range c.Shape().GPUs {
						c.GPU(h, g).Clock, c.GPU(h, g).HeatC = 0.8, -6
					}
				}
			}))
			b.T.Allowed = []string{"rotating_straggler", "role_imbalance"}
		}},
		{ID: "a larger batch from one step to the next", Hosts: 9, Shape: sim.R16, After: third, Build: func(b *sim.Build) {
			b.C.Inject(from(b, func(c *sim.Cluster) { c.Job(0).ComputeFactor = 1.7 }))
		}},
		{ID: "evaluation every ten minutes", Hosts: 7, Shape: sim.R16, After: 40 * time.Minute, Build: func(b *sim.Build) {
			b.C.Jobs[0].SetCheckpoint(sim.Checkpoint{First: 300, Every: 600, For: 95, Jitter: 20, Bare: true})
		}},
		{ID: "a slow NIC here and a starved host there", Hosts: 14, Shape: sim.R16, After: quarter, Build: func(b *sim.Build) {
			b.C.Inject(sim.Downtrain(3, 5, 0.5, b.Onset, 0))
			b.C.Inject(sim.Starve(9, 0.5, 250, 1.6, b.Onset+40, 0))
			b.T.Class, b.T.AlsoClass = "nic_degraded", []string{"straggler_compute"}
			b.T.Suspects = []sim.Component{{Kind: "nic", Node: b.C.Hosts[3].Name, Device: b.C.Hosts[3].NICs[5].Name}, node(b, 9)}
		}},
		{ID: "the job ends while a NIC is slow", Hosts: 8, Shape: sim.R16, After: quarter, Prepare: func(b *sim.Build, o *sim.Options) {
			s := o.Shape.Jobs[0]
			s.EndAt = b.Onset + 150
			o.Jobs = []sim.JobSpec{s}
		}, Build: func(b *sim.Build) {
			b.C.Inject(sim.BitErrors(2, 1, 0.6, b.Onset, 0))
			b.T.Class, b.T.Suspects = "nic_degraded", []sim.Component{{Kind: "nic", Node: b.C.Hosts[2].Name, Device: b.C.Hosts[2].NICs[1].Name}}
		}},
		{ID: "pressure on a host of a job whose late rank changes", Hosts: 16, Shape: sim.R16, After: 40 * time.Minute, Prepare: func(b *sim.Build, o *sim.Options) {
			s, _ := sim.Find("N07-b")
			s.Prepare(b, o)
		}, Build: func(b *sim.Build) {
			s, _ := sim.Find("N07-b")
			s.Build(b)
			b.C.Inject(from(b, func(c *sim.Cluster) { c.Host(5).CPU, c.Host(5).Load = 0.5, 260 }))
			b.T.Allowed = append(b.T.Allowed, "straggler_compute")
		}},
		{ID: "hosts without a job are updated one after another", Hosts: 10, Shape: sim.R16, After: third, Prepare: func(_ *sim.Build, o *sim.Options) {
			s := sim.TensorData("48213", 6, 8)
			s.Hosts = []int{0, 1, 2, 3, 4, 5}
			o.Jobs = []sim.JobSpec{s}
		}, Build: func(b *sim.Build) {
			for i := range 4 {
				b.C.Inject(sim.Reboot(6+i, b.Onset+float64(i)*150, 120))
				b.T.MayName = append(b.T.MayName, node(b, 6+i))
			}
			b.T.Allowed = []string{"node_restart", "telemetry_gap", "link_down", "link_flap"}
		}},
		{ID: "everybody communicates slower", Hosts: 11, Shape: sim.R16, After: third, Build: func(b *sim.Build) {
			rng := rand.New(rand.NewPCG(b.P.Seed, 5))
			b.C.Inject(from(b, func(c *sim.Cluster) { c.Job(0).CommFactor = 0.72 + 0.02*rng.Float64() }))
			b.T.Allowed = []string{"fabric_congestion", "roce_congestion", "rail_degraded", "leaf_degraded", "compute_comm_contention"}
			for _, l := range b.C.Leaves {
				b.T.MayName = append(b.T.MayName, sim.Component{Kind: "switch", Switch: l.Name})
			}
		}},
		{ID: "few GPUs, few NICs, odd names", Hosts: 5, Shape: func(n int) sim.Shape {
			s := sim.R16(n)
			s.Hosts, s.GPUs, s.NICs, s.Storage = sim.Hosts("ai-pod7-worker", n, 2), 4, []string{"ibp12s0", "ibp141s0"}, ""
			s.Jobs = []sim.JobSpec{sim.TensorData("91", n, 4)}
			return s
		}, After: quarter, Build: func(b *sim.Build) {
			b.C.Inject(sim.Downtrain(4, 1, 0.5, b.Onset, 0))
			b.T.Class, b.T.Suspects = "nic_degraded", []sim.Component{{Kind: "nic", Node: b.C.Hosts[4].Name, Device: "ibp141s0"}}
		}},
		{ID: "a slow GPU among three hosts", Hosts: 3, Shape: sim.R16, After: third, Build: func(b *sim.Build) {
			b.C.Inject(from(b, func(c *sim.Cluster) { c.GPU(1, 6).Slow = 1.5 }))
			b.T.Class, b.T.Suspects = "straggler_compute", []sim.Component{{Kind: "gpu", Node: b.C.Hosts[1].Name, Device: "GPU6"}}
		}},
	}
}

// TestAdversaries: whatever is said, no innocent component is named, and what is
// normal stays without an alert.
func TestAdversaries(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, s := range adversaries() {
		t.Run(s.ID, func(t *testing.T) {
			for seed := range uint64(2) {
				o, err := Play(t.Context(), Case{Scenario: s, Params: sim.Params{Seed: 70 + seed}})
				require.NoError(t, err)
				v := Judge(o)
				t.Log(v.Got())
				require.Empty(t, v.Wrong, v.Got())
				if v.Quiet {
					require.Empty(t, v.False, v.Got())
				} else {
					require.True(t, v.Found, v.Got())
				}
			}
		})
	}
}
