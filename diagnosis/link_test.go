package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// drop takes a port down, its counters as a real one moves them.
func drop(r *rig, nics ...signals.Entity) {
	r.Set(signals.NICState, 1, nics...)
	r.Set(signals.NICPhysState, 2, nics...)
	r.Add(signals.NICLinkDowned, 1, nics...)
}

func restore(r *rig, nics ...signals.Entity) {
	r.Set(signals.NICState, 4, nics...)
	r.Set(signals.NICPhysState, 5, nics...)
}

// onRail lists the k-th NICs of the first n hosts.
func onRail(r *rig, k, n int) []signals.Entity {
	var out []signals.Entity
	for _, h := range r.Shape.Hosts[:n] {
		out = append(out, snaptest.NIC(h, r.Shape.NICs[k]))
	}
	return out
}

func TestLinkDown(t *testing.T) {
	nic := snaptest.NIC("gpu-003", "mlx5_0")
	const single = "link_flap single info high nic:gpu-003/mlx5_0"
	const down = "link_down port_not_active critical high link:gpu-003/mlx5_0"
	runAll(t, []scenario{
		{
			name: "the job dies of it", after: 5 * time.Minute,
			fault: func(r *rig) {
				drop(r, nic)
				r.run(45 * time.Second)
				restore(r, nic)
				r.End("48213")
			},
			want: []string{down}, also: []string{single},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.Equal(t, "48213", v.Job)
				require.True(t, v.JobEnded)
				require.True(t, v.Immediate)
				require.Equal(t, "leaf-r0", v.Suspects[0].Switch)
				require.Contains(t, v.Consequences, "job 48213 terminated")
			},
		},
		{
			name: "it stays down", after: 2 * time.Minute, fault: func(r *rig) { drop(r, nic) },
			want: []string{down}, also: []string{single},
		},
		{
			name: "a flap that no poll sees", after: 5 * time.Minute, fault: func(r *rig) { r.Add(signals.NICLinkDowned, 1, nic) },
			want: []string{single},
		},
		{
			name: "the host rebooted, and its links are forgotten", after: 50 * time.Minute,
			fault: func(r *rig) {
				host := snaptest.Host("gpu-003")
				r.Gone(signals.None, host)
				r.End("48213")
				r.run(4 * time.Minute)
				r.Back(signals.None, host)
				for _, d := range r.Shape.NICs {
					n := snaptest.NIC("gpu-003", d)
					drop(r, n)
					r.Reset(signals.NICLinkDowned, n)
				}
				r.Set(signals.HostBootTime, float64(r.Now.Unix()-60), host)
				r.run(time.Minute)
				for _, d := range r.Shape.NICs {
					restore(r, snaptest.NIC("gpu-003", d))
				}
			},
			want: nil, also: []string{"node_restart boot_time_changed info high node:gpu-003"},
		},
		{
			name: "the host reboots", after: 10 * time.Minute,
			fault: func(r *rig) {
				host := snaptest.Host("gpu-003")
				r.Gone(signals.None, host)
				r.End("48213")
				r.run(4 * time.Minute)
				r.Back(signals.None, host)
				for _, d := range r.Shape.NICs {
					n := snaptest.NIC("gpu-003", d)
					drop(r, n)
					r.Reset(signals.NICLinkDowned, n)
				}
				r.Set(signals.HostBootTime, float64(r.Now.Unix()-60), host)
			},
			want: []string{"node_restart boot_time_changed info high node:gpu-003"},
			also: []string{"telemetry_gap zero_rows info high node:gpu-003"},
		},
		{
			name: "the host was drained before", after: 5 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NodeState, 1, signals.Entity{Kind: signals.KindHost, Host: "gpu-003", Detail: "drained"})
				r.run(time.Minute)
				drop(r, nic)
			},
		},
		{
			name: "it trains anew where no job is", after: 5 * time.Minute,
			setup: func(r *rig) { r.End("48213") },
			fault: func(r *rig) {
				drop(r, nic)
				r.run(30 * time.Second)
				restore(r, nic)
			},
			want: []string{single},
		},
		{
			name: "it stays down where no job is", after: time.Minute,
			setup: func(r *rig) { r.End("48213") },
			fault: func(r *rig) { drop(r, nic) },
			want:  []string{down}, also: []string{single},
		},
		{
			name: "a port that was never active", after: 5 * time.Minute,
			fault: func(r *rig) {
				second := snaptest.NIC("gpu-003", "mlx5_0")
				second.Port = "2"
				r.Set(signals.NICState, 1, second)
			},
		},
	})
}

func TestLinkFlap(t *testing.T) {
	nic := snaptest.NIC("gpu-015", "mlx5_1")
	flap := func(r *rig, after time.Duration) {
		r.Add(signals.NICLinkDowned, 1, nic)
		r.run(after)
	}
	runAll(t, []scenario{
		{
			name: "ladder", after: time.Minute,
			fault: func(r *rig) {
				flap(r, 3*time.Minute)
				flap(r, 4*time.Minute)
				flap(r, 15*time.Second)
			},
			want: []string{"link_flap repeated critical high nic:gpu-015/mlx5_1"},
			also: []string{"link_flap single info high nic:gpu-015/mlx5_1", "link_flap repeated warning high nic:gpu-015/mlx5_1"},
		},
		{
			name: "two events far apart", after: time.Minute,
			fault: func(r *rig) {
				flap(r, 30*time.Minute)
				flap(r, time.Minute)
			},
			want: []string{"link_flap repeated warning high nic:gpu-015/mlx5_1"},
			also: []string{"link_flap single info high nic:gpu-015/mlx5_1"},
		},
		{
			name: "it comes back with fewer lanes, and the outage is no notice of its own", after: 5 * time.Minute,
			fault: func(r *rig) {
				flap(r, 15*time.Second)
				r.Set(signals.NICRate, 1.25e10, nic)
			},
			want: []string{"nic_degraded rate_downtrained critical high nic:gpu-015/mlx5_1"},
		},
		{
			name: "recoveries with bit errors are bit errors", after: 5 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NICSymbolErrors, 38, nic)
				r.run(30 * time.Second)
				r.Add(signals.NICLinkRecovery, 2, nic)
			},
			want: []string{"nic_degraded bit_errors warning high nic:gpu-015/mlx5_1"},
		},
	})
}

func TestLeafLostItsPorts(t *testing.T) {
	cut := func(r *rig) { drop(r, onRail(r, 1, 16)...) }
	runAll(t, []scenario{
		{
			name: "a switch restarts", after: 3 * time.Minute,
			fault: func(r *rig) {
				cut(r)
				r.run(75 * time.Second)
				restore(r, onRail(r, 1, 16)...)
			},
			want: []string{"leaf_restart burst_down info high switch:leaf-r1"},
		},
		{
			name: "a job does not go on after a restart", after: 15 * time.Second,
			fault: func(r *rig) {
				cut(r)
				r.stand(75 * time.Second)
				restore(r, onRail(r, 1, 16)...)
				r.stand(7 * time.Minute)
			},
			want: []string{"leaf_restart burst_down info high switch:leaf-r1", "collective_stall network_no_progress critical low"},
			also: []string{"leaf_restart burst_down critical high switch:leaf-r1"},
		},
		{
			name: "a switch that stays down", after: 6 * time.Minute, fault: cut,
			want: []string{"leaf_degraded leaf_down critical high switch:leaf-r1"},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.Equal(t, 16, v.AffectedHosts)
				require.NotContains(t, v.Next, "keep new jobs off the host")
			},
		},
		{
			name: "jobs die of it", after: time.Minute,
			fault: func(r *rig) {
				cut(r)
				r.run(30 * time.Second)
				r.End("48213")
			},
			want: []string{"leaf_degraded leaf_down critical high switch:leaf-r1"},
		},
		{
			name: "without switch names", after: 6 * time.Minute, fault: cut,
			setup: func(r *rig) { r.Without(signals.SwitchLink) },
			want:  []string{"rail_degraded leaf_down critical medium rail:1"},
		},
		{
			name: "three of sixteen hosts are three links", after: 2 * time.Minute,
			fault: func(r *rig) { drop(r, onRail(r, 1, 3)...) },
			want: []string{
				"link_down port_not_active critical high link:gpu-001/mlx5_1",
				"link_down port_not_active critical high link:gpu-002/mlx5_1",
				"link_down port_not_active critical high link:gpu-003/mlx5_1",
			},
			also: []string{
				"link_flap single info high nic:gpu-001/mlx5_1", "link_flap single info high nic:gpu-002/mlx5_1", "link_flap single info high nic:gpu-003/mlx5_1",
			},
		},
	})
}

// TestPortsThatStayDownOverARestart: a port that has been down for longer than
// history is read is not one that was never there.
func TestPortsThatStayDownOverARestart(t *testing.T) {
	nic, spare := snaptest.NIC("gpu-003", "mlx5_0"), snaptest.NIC("gpu-005", "mlx5_2")
	r := newRig(snaptest.New(snaptest.R16(), 11))
	r.Set(signals.NICState, 1, spare) // since ever
	r.run(20 * time.Minute)
	require.Empty(t, r.told)
	drop(r, nic)
	r.run(2 * time.Hour)
	want := []string{"link_down port_not_active critical high link:gpu-003/mlx5_0"}
	require.Equal(t, want, r.verdicts())
	began := r.last.Verdicts[0].StartedAt
	again := r.restarted(t).restarted(t)
	again.run(30 * time.Minute)
	require.Equal(t, want, again.told)
	require.WithinDuration(t, began, again.last.Verdicts[0].StartedAt, time.Minute)
	restore(again, nic)
	again.run(2 * time.Hour)
	require.Empty(t, again.verdicts(), "it is back, and its flaps are over")
}
