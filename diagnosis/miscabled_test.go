package diagnosis_test

import (
	"testing"
	"time"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestPortsElsewhereThanPlanned: two ports of a host are on each other's leaf, as a
// plan has it. That is a fault only if both rails are slow, and nothing else is why.
func TestPortsElsewhereThanPlanned(t *testing.T) {
	plan := func(r *rig) {
		for device, leaf := range map[string]string{"mlx5_2": "leaf-r4", "mlx5_4": "leaf-r2"} {
			r.Set(signals.HostParent, 1, signals.Entity{Kind: signals.KindHost, Host: "gpu-009", Device: device, Detail: "leaf_expected", Peer: leaf})
		}
	}
	slow := func(r *rig, factor float64, rails ...string) {
		for _, k := range rails {
			r.SlowGroups(factor, rail(k))
		}
	}
	runAll(t, []scenario{
		{
			name: "both rails are slow", setup: plan, after: 4 * time.Minute, fault: func(r *rig) { slow(r, 0.7, "2", "4") },
			want: []string{"rail_miscabled cables_swapped warning high nic:gpu-009/mlx5_2 nic:gpu-009/mlx5_4"},
		},
		{name: "no rail is slow", setup: plan, after: 4 * time.Minute, fault: func(*rig) {}},
		{
			name: "one rail is slow", setup: plan, after: 8 * time.Minute, fault: func(r *rig) { slow(r, 0.5, "2") },
			want: []string{"rail_degraded timing_only warning low"},
		},
		{
			name: "a NIC elsewhere is sick, on both rails", setup: plan, after: 4 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NICRate, 1.25e10, snaptest.NIC("gpu-003", "mlx5_2"))
				r.Set(signals.NICRate, 1.25e10, snaptest.NIC("gpu-004", "mlx5_4"))
				slow(r, 0.3, "2", "4")
			},
			want: []string{
				"nic_degraded rate_downtrained critical high nic:gpu-003/mlx5_2", "nic_degraded rate_downtrained critical high nic:gpu-004/mlx5_4",
			},
		},
	})
}
