package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// netdev is the network device of a card, which nothing connects with it.
func netdev(nic signals.Entity) signals.Entity {
	nic.Device = "ens" + nic.Device + "np0"
	return nic
}

// carriers gives each card a network device with a carrier, as node_exporter shows
// it, and each host a port for its management.
func carriers(r *rig) {
	for _, h := range r.Shape.Hosts {
		r.Set(signals.NICCarrierDown, 0, snaptest.NIC(h, "eth0"))
		for _, d := range r.Shape.NICs {
			r.Set(signals.NICCarrierDown, 0, netdev(snaptest.NIC(h, d)))
		}
	}
}

// TestCarriersOfNetworkDevices: what a card tells under its own name is told once,
// and a device that belongs to no card harms no job.
func TestCarriersOfNetworkDevices(t *testing.T) {
	nic := snaptest.NIC("roce-03", "mlx5_2")
	fall := func(r *rig, nics ...signals.Entity) {
		drop(r, nics...)
		for _, n := range nics {
			r.Add(signals.NICCarrierDown, 1, netdev(n))
		}
	}
	management := func(r *rig) { r.Add(signals.NICCarrierDown, 1, snaptest.NIC("roce-03", "eth0")) }
	noJob := func(t *testing.T, v diagnosis.Verdict) {
		if v.Class == diagnosis.LinkFlap {
			require.Empty(t, v.Job)
			require.Equal(t, "host:roce-03", v.Scope)
			require.False(t, v.Immediate)
		}
	}
	runAll(t, []scenario{
		{
			name: "a link goes down", shape: snaptest.Q8, setup: carriers, after: 70 * time.Minute,
			fault: func(r *rig) { fall(r, nic) },
			want:  []string{"link_down port_not_active critical high link:roce-03/mlx5_2"},
		},
		{
			name: "a link flaps", shape: snaptest.Q8, setup: carriers, after: 5 * time.Minute,
			fault: func(r *rig) {
				for range 3 {
					fall(r, nic)
					r.run(15 * time.Second)
					restore(r, nic)
					r.run(time.Minute)
				}
			},
			want: []string{"link_flap repeated critical high nic:roce-03/mlx5_2"},
			also: []string{"link_down port_not_active critical high link:roce-03/mlx5_2", "link_flap repeated warning high nic:roce-03/mlx5_2", "link_flap single info high nic:roce-03/mlx5_2"},
		},
		{
			name: "a flap is forgotten under both names", shape: snaptest.Q8, setup: carriers, after: 70 * time.Minute,
			fault: func(r *rig) {
				r.Add(signals.NICLinkDowned, 1, nic)
				r.run(15 * time.Second)
				r.Add(signals.NICCarrierDown, 1, netdev(nic)) // another scrape
			},
			also: []string{"link_flap single info high nic:roce-03/mlx5_2"},
		},
		{
			name: "a switch restarts", setup: carriers, after: 3 * time.Minute,
			fault: func(r *rig) {
				fall(r, onRail(r, 1, 16)...)
				r.run(75 * time.Second)
				restore(r, onRail(r, 1, 16)...)
			},
			want: []string{"leaf_restart burst_down info high switch:leaf-r1"},
		},
		{
			name: "the port for management flaps", shape: snaptest.Q8, setup: carriers, after: 2 * time.Minute,
			fault: func(r *rig) {
				for range 4 {
					management(r)
					r.run(time.Minute)
				}
			},
			want:  []string{"link_flap repeated warning high nic:roce-03/eth0"},
			also:  []string{"link_flap single info high nic:roce-03/eth0"},
			check: noJob,
		},
		{
			name: "the port for management flaps, and the job stalls", shape: snaptest.Q8, setup: carriers, after: time.Minute,
			fault: func(r *rig) {
				management(r)
				r.stand(10 * time.Minute)
			},
			want:  []string{"link_flap single info high nic:roce-03/eth0", "collective_stall all_alike critical unknown"},
			check: noJob,
		},
		{
			name: "where no card is known the device is all there is", shape: snaptest.Q8, after: 2 * time.Minute,
			setup: func(r *rig) {
				carriers(r)
				r.Without(signals.NICState, signals.NICPhysState, signals.NICRate, signals.NICTx, signals.NICRx, signals.NICModel, signals.SwitchLink, signals.NICLinkDowned)
			},
			fault: func(r *rig) { r.Add(signals.NICCarrierDown, 1, netdev(nic)) },
			want:  []string{"link_flap single info high nic:roce-03/ensmlx5_2np0"},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, "5110", v.Job) },
		},
	})
}

// TestLegOfABond: a leg that fails halves its card, which is told once and says
// which leg it was; a leg whose card keeps its rate is told itself.
func TestLegOfABond(t *testing.T) {
	bonds := func() snaptest.Shape {
		s := snaptest.Q8()
		s.NICs = []string{"mlx5_bond_0", "mlx5_bond_1", "mlx5_bond_2", "mlx5_bond_3"}
		return s
	}
	leg := snaptest.NIC("roce-03", "ens1f1np1")
	setup := func(r *rig) {
		for _, h := range r.Shape.Hosts {
			for k := range 4 {
				for _, port := range []string{"0", "1"} {
					r.Set(signals.NICCarrierDown, 0, snaptest.NIC(h, "ens"+string(rune('1'+k))+"f"+port+"np"+port))
				}
			}
		}
	}
	card := snaptest.NIC("roce-03", "mlx5_bond_0")
	told := func(t *testing.T, v diagnosis.Verdict) {
		if v.Class == diagnosis.NICDegraded {
			require.Condition(t, func() bool {
				for _, e := range v.Evidence {
					if e.Entity.Device == "ens1f1np1" {
						return true
					}
				}
				return false
			}, "%v", v.Evidence)
		}
	}
	runAll(t, []scenario{
		{
			name: "the card is halved", shape: bonds, setup: setup, after: 40 * time.Minute, check: told,
			fault: func(r *rig) { r.Add(signals.NICCarrierDown, 1, leg); r.Set(signals.NICRate, r.Shape.Rate/2, card) },
			want:  []string{"nic_degraded rate_downtrained critical high nic:roce-03/mlx5_bond_0"},
		},
		{
			name: "its rate is scraped a minute later", shape: bonds, setup: setup, after: 10 * time.Minute, check: told,
			fault: func(r *rig) {
				r.Add(signals.NICCarrierDown, 1, leg)
				r.run(time.Minute)
				r.Set(signals.NICRate, r.Shape.Rate/2, card)
			},
			want: []string{"nic_degraded rate_downtrained critical high nic:roce-03/mlx5_bond_0"},
		},
		{
			name: "the card keeps its rate", shape: bonds, setup: setup, after: 5 * time.Minute,
			fault: func(r *rig) { r.Add(signals.NICCarrierDown, 1, leg) },
			want:  []string{"link_flap single info high nic:roce-03/ens1f1np1"},
		},
		{
			name: "another card fell back long before", shape: bonds, setup: setup, after: 10 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NICRate, r.Shape.Rate/2, snaptest.NIC("roce-03", "mlx5_bond_2"))
				r.run(10 * time.Minute)
				r.Add(signals.NICCarrierDown, 1, leg)
			},
			want: []string{"nic_degraded rate_downtrained critical high nic:roce-03/mlx5_bond_2", "link_flap single info high nic:roce-03/ens1f1np1"},
		},
	})
}
