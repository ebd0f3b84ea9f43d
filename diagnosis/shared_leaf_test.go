package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// standAlone stops the ranks of one job for d.
func (r *rig) standAlone(job string, d time.Duration) {
	mine, hosts := map[signals.Entity]bool{}, map[string]bool{}
	for _, j := range r.Jobs {
		if j.ID == job {
			for _, g := range j.GPUs {
				mine[g], hosts[g.Host] = true, true
			}
		}
	}
	of := func(e signals.Entity) bool { return mine[e.Thing()] }
	r.SetAll(signals.GPUTensorActive, 0, of)
	r.SetAll(signals.GPUDRAMActive, 0.003, of)
	r.SetAll(signals.GPUPower, 185, of)
	for _, id := range []signals.ID{signals.NICTx, signals.NICRx} {
		r.SetAll(id, 1e4, func(e signals.Entity) bool { return hosts[e.Host] })
	}
	for range int(d / r.Interval) {
		for _, e := range r.Series(signals.InspectorAge) {
			if of(e) {
				r.Noise(signals.InspectorAge, 0, e)
				r.Set(signals.InspectorAge, r.Level(signals.InspectorAge, e)+r.Interval.Seconds(), e)
			}
		}
		r.run(r.Interval)
	}
}

// TestJobsBelowOneSwitch: a job whose GPUs have NICs on other rails does not stand
// because of a rail that it does not use.
func TestJobsBelowOneSwitch(t *testing.T) {
	shape := func() snaptest.Shape { s := snaptest.R16(); s.Job = ""; return s }
	jobs := func(r *rig) {
		r.AddJob("a", r.Shape.Hosts[:6], 8)
		r.AddJob("b", r.Shape.Hosts[6:12], 8)
		r.AddJob("c", r.Shape.Hosts[12:], 2)
		for _, e := range r.Series(signals.InspectorAge) {
			if e.Host > "gpu-012" && e.Device > "GPU1" {
				r.Gone(signals.InspectorAge, e)
			}
		}
		for _, id := range []signals.ID{signals.NICTx, signals.NICRx} {
			r.SetAll(id, 0, func(e signals.Entity) bool { return e.Host > "gpu-012" && e.Device > "mlx5_1" })
		}
	}
	const stall = "collective_stall all_alike critical unknown"
	jobOf := func(class diagnosis.Class, job string) func(*testing.T, diagnosis.Verdict) {
		return func(t *testing.T, v diagnosis.Verdict) {
			if v.Class == class {
				require.Equal(t, job, v.Job)
			}
		}
	}
	runAll(t, []scenario{
		{
			name: "two jobs are slow, and one of other rails stands", shape: shape, setup: jobs, after: time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NICTransmitWait, 6e6, onRail(r, 3, 16)...)
				r.SlowGroups(0.4, rail("3"))
				r.run(8 * time.Minute)
				r.standAlone("c", 10*time.Minute)
			},
			want:  []string{"leaf_degraded rail_wide critical high switch:leaf-r3", stall},
			check: jobOf(diagnosis.CollectiveStall, "c"),
		},
		{
			name: "the switch falls, the jobs on it stand", shape: shape, setup: jobs, after: time.Minute,
			fault: func(r *rig) {
				drop(r, onRail(r, 3, 16)...)
				r.standAlone("a", 10*time.Minute)
			},
			want: []string{"leaf_degraded leaf_down critical high switch:leaf-r3"},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.Len(t, v.Consequences, 1)
				require.Contains(t, v.Consequences[0], "job a stalled")
			},
		},
		{
			name: "a port of another rail is down", shape: shape, setup: jobs, after: time.Minute,
			fault: func(r *rig) {
				drop(r, snaptest.NIC("gpu-014", "mlx5_3"))
				r.run(2 * time.Minute)
				r.standAlone("c", 10*time.Minute)
			},
			want:  []string{"link_down port_not_active critical high link:gpu-014/mlx5_3", stall},
			also:  []string{"link_flap single info high nic:gpu-014/mlx5_3"},
			check: jobOf(diagnosis.CollectiveStall, "c"),
		},
		{
			name: "a job of other rails ends while a port is down", shape: shape, setup: jobs, after: 2 * time.Minute,
			fault: func(r *rig) {
				drop(r, snaptest.NIC("gpu-014", "mlx5_3"))
				r.run(2 * time.Minute)
				r.End("c")
			},
			want: []string{"link_down port_not_active critical high link:gpu-014/mlx5_3"},
			also: []string{"link_flap single info high nic:gpu-014/mlx5_3"},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.False(t, v.JobEnded)
				require.Empty(t, v.Consequences)
			},
		},
	})
}
