package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// stand stops every rank of every job for d: all spin, and no file is written.
func (r *rig) stand(d time.Duration) {
	r.SetAll(signals.GPUTensorActive, 0, nil)
	r.SetAll(signals.GPUDRAMActive, 0.003, nil)
	r.SetAll(signals.GPUPower, 185, nil)
	r.SetAll(signals.NICTx, 1e4, nil)
	r.SetAll(signals.NICRx, 1e4, nil)
	for range int(d / r.Interval) {
		for _, e := range r.Series(signals.InspectorAge) {
			r.Noise(signals.InspectorAge, 0, e)
			r.Set(signals.InspectorAge, r.Level(signals.InspectorAge, e)+r.Interval.Seconds(), e)
		}
		r.run(r.Interval)
	}
}

// TestFlapAndStall: a stall comes of a flap that it follows at once, and of no
// older one; and it stays that flap's when the link falls again.
func TestFlapAndStall(t *testing.T) {
	nic := snaptest.NIC("gpu-003", "mlx5_2")
	const name = "high nic:gpu-003/mlx5_2"
	runAll(t, []scenario{
		{
			name: "at once", after: time.Minute,
			fault: func(r *rig) {
				r.Add(signals.NICLinkDowned, 1, nic)
				r.stand(10 * time.Minute)
			},
			want: []string{"link_flap single critical " + name}, also: []string{"link_flap single info " + name},
		},
		{
			name: "forty minutes later", after: time.Minute,
			fault: func(r *rig) {
				r.Add(signals.NICLinkDowned, 1, nic)
				r.run(40 * time.Minute)
				r.stand(10 * time.Minute)
			},
			want: []string{"link_flap single info " + name, "collective_stall all_alike critical unknown"},
		},
		{
			name: "a port is down for forty minutes, and the job went on", after: time.Minute,
			fault: func(r *rig) {
				drop(r, nic)
				r.run(40 * time.Minute)
				r.stand(10 * time.Minute)
			},
			want: []string{"link_down port_not_active critical high link:gpu-003/mlx5_2", "collective_stall all_alike critical unknown"},
			also: []string{"link_flap single info " + name},
		},
		{
			name: "and the link falls again", after: time.Minute,
			fault: func(r *rig) {
				r.Add(signals.NICLinkDowned, 1, nic)
				r.stand(8 * time.Minute)
				r.Add(signals.NICLinkDowned, 1, nic)
				r.stand(8 * time.Minute)
			},
			want: []string{"link_flap repeated critical " + name},
			also: []string{"link_flap single info " + name, "link_flap single critical " + name, "link_flap repeated warning " + name},
		},
	})
}

// TestStallOfAFlapOverARestart: who brought the stall is known after a restart.
func TestStallOfAFlapOverARestart(t *testing.T) {
	nic := snaptest.NIC("gpu-003", "mlx5_2")
	r := newRig(snaptest.New(snaptest.R16(), 11))
	r.run(20 * time.Minute)
	r.Add(signals.NICLinkDowned, 1, nic)
	r.stand(8 * time.Minute)
	r.Add(signals.NICLinkDowned, 1, nic)
	r.stand(time.Minute)
	state, err := r.diag.Save()
	require.NoError(t, err)
	fresh := newRig(r.Cluster)
	require.NoError(t, fresh.diag.Restore(state))
	r.diag = fresh.diag
	r.told = nil
	r.stand(5 * time.Minute)
	require.Equal(t, []string{"link_flap repeated critical high nic:gpu-003/mlx5_2"}, r.told)
}
