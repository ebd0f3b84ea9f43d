package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// unplugged is a cluster of so many hosts of which no cable is known.
func unplugged(hosts int) func() snaptest.Shape {
	return func() snaptest.Shape {
		s := snaptest.Rails("gpu-%03d", hosts, 8)
		s.Leaf, s.Rack, s.Storage = nil, nil, nil
		return s
	}
}

// below puts hosts on a switch as a whole, as Slurm's topology.conf does.
func below(r *rig, leaf string, hosts ...string) {
	for _, h := range hosts {
		r.Set(signals.HostParent, 1, signals.Entity{Kind: signals.KindHost, Host: h, Detail: "leaf", Peer: leaf})
	}
}

// TestSwitchesOfWholeHosts: where only hosts are placed, the rails that follow from
// the order of devices are no second explanation of a switch that fell.
func TestSwitchesOfWholeHosts(t *testing.T) {
	ports := func(r *rig, hosts int) []signals.Entity {
		var out []signals.Entity
		for k := range r.Shape.NICs {
			out = append(out, onRail(r, k, hosts)...)
		}
		return out
	}
	two := func(r *rig) {
		below(r, "tor-1", r.Shape.Hosts[:8]...)
		below(r, "tor-2", r.Shape.Hosts[8:]...)
	}
	runAll(t, []scenario{
		{
			name: "the only switch", shape: unplugged(6), after: 6 * time.Minute,
			setup: func(r *rig) { below(r, "tor-1", r.Shape.Hosts...) },
			fault: func(r *rig) { drop(r, ports(r, 6)...) },
			want:  []string{"leaf_degraded leaf_down critical high switch:tor-1"},
		},
		{
			name: "the larger of two", shape: unplugged(12), setup: two, after: 6 * time.Minute,
			fault: func(r *rig) { drop(r, ports(r, 8)...) },
			want:  []string{"leaf_degraded leaf_down critical high switch:tor-1"},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, 8, v.AffectedHosts) },
		},
		{
			name: "it restarts", shape: unplugged(12), setup: two, after: 3 * time.Minute,
			fault: func(r *rig) {
				drop(r, ports(r, 8)...)
				r.run(75 * time.Second)
				restore(r, ports(r, 8)...)
			},
			want: []string{"leaf_restart burst_down info high switch:tor-1"},
		},
		{
			name: "a rail is none of them", shape: unplugged(12), setup: two, after: 6 * time.Minute,
			fault: func(r *rig) { drop(r, onRail(r, 3, 12)...) },
			want:  []string{"rail_degraded leaf_down critical medium rail:3"},
		},
		{
			name: "rails that restart one after another are rails", shape: unplugged(12), setup: two, after: 2 * time.Minute,
			fault: func(r *rig) {
				for k := range 8 {
					drop(r, onRail(r, k, 12)...)
					r.run(75 * time.Second)
					restore(r, onRail(r, k, 12)...)
					r.run(3 * time.Minute)
				}
			},
			want: []string{
				"leaf_restart burst_down info medium rail:5", "leaf_restart burst_down info medium rail:6", "leaf_restart burst_down info medium rail:7",
			},
			also: []string{
				"leaf_restart burst_down info medium rail:0", "leaf_restart burst_down info medium rail:1", "leaf_restart burst_down info medium rail:2",
				"leaf_restart burst_down info medium rail:3", "leaf_restart burst_down info medium rail:4",
			},
		},
		{
			name: "nothing is known and all fall", shape: unplugged(6), after: 6 * time.Minute,
			fault: func(r *rig) { drop(r, ports(r, 6)...) },
			want:  []string{"leaf_degraded leaf_down critical low"},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.Equal(t, 8, v.TieSet)
				require.Equal(t, "cluster", v.Scope)
				require.Equal(t, 48, v.AffectedGPUs)
			},
		},
		{
			name: "nothing is known and all wait for credit", shape: unplugged(12), after: 6 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICTransmitWait, 6e6, nil)
				r.SlowGroups(0.6, func(g *signals.Group) bool { return g.NNodes > 1 })
			},
		},
		{
			name: "all wait for credit below both switches", shape: unplugged(12), setup: two, after: 6 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICTransmitWait, 6e6, nil)
				r.SlowGroups(0.6, func(g *signals.Group) bool { return g.NNodes > 1 })
			},
		},
	})
}

// TestMembersOutOfService: ports that were never active, and those of hosts out of
// service, do not keep a switch that fell from being named.
func TestMembersOutOfService(t *testing.T) {
	const fell = "leaf_degraded leaf_down critical high switch:leaf-r5"
	fall := func(r *rig) { drop(r, onRail(r, 5, 16)[9:]...) }
	runAll(t, []scenario{
		{
			name: "ports that were never active", after: 6 * time.Minute, fault: fall, want: []string{fell},
			setup: func(r *rig) {
				r.Set(signals.NICState, 1, onRail(r, 5, 9)...)
				r.Set(signals.NICRate, 1.25e9, onRail(r, 5, 9)...)
			},
		},
		{
			name: "hosts that are drained", after: 6 * time.Minute, fault: func(r *rig) { drop(r, onRail(r, 5, 16)...) }, want: []string{fell},
			setup: func(r *rig) {
				for _, h := range r.Shape.Hosts[:9] {
					r.Set(signals.NodeState, 1, signals.Entity{Kind: signals.KindHost, Host: h, Detail: "drained"})
				}
			},
		},
		{
			name: "ports that are active keep it", after: 2 * time.Minute, fault: fall,
			want: []string{
				"link_down port_not_active critical high link:gpu-010/mlx5_5", "link_down port_not_active critical high link:gpu-011/mlx5_5",
				"link_down port_not_active critical high link:gpu-012/mlx5_5", "link_down port_not_active critical high link:gpu-013/mlx5_5",
				"link_down port_not_active critical high link:gpu-014/mlx5_5", "link_down port_not_active critical high link:gpu-015/mlx5_5",
				"link_down port_not_active critical high link:gpu-016/mlx5_5",
			},
		},
	})
}
