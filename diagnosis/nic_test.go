package diagnosis_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

func TestNICDegraded(t *testing.T) {
	nic := snaptest.NIC("gpu-007", "mlx5_3")
	slow := func(r *rig) {
		r.Set(signals.NICRate, 1.25e10, nic)
		r.Add(signals.NICLinkDowned, 1, nic)
		r.SlowGroups(0.26, rail("3"))
		r.Scale(signals.NICTx, 0.57, nil)
		r.Scale(signals.NICRx, 0.57, nil)
	}
	runAll(t, []scenario{
		{
			name: "a quarter of its speed", fault: slow, after: 2 * time.Minute,
			want: []string{"nic_degraded rate_downtrained critical high nic:gpu-007/mlx5_3"},
			also: []string{"link_flap single info high nic:gpu-007/mlx5_3"},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.Equal(t, "48213", v.Job)
				require.Equal(t, "leaf-r3", v.Suspects[0].Switch)
				require.Contains(t, v.Evidence[0].Text, "12.5 GB/s against 50 GB/s of 15 peers with the same card")
			},
		},
		{
			name: "with the plugin in deep mode", after: 2 * time.Minute,
			setup: func(r *rig) { ringWaits(r, "") },
			fault: func(r *rig) { slow(r); ringWaits(r, "gpu-007") },
			want:  []string{"nic_degraded rate_downtrained critical high nic:gpu-007/mlx5_3"},
			also:  []string{"link_flap single info high nic:gpu-007/mlx5_3"},
			check: func(t *testing.T, v diagnosis.Verdict) {
				text := ""
				for _, e := range v.Evidence {
					text += e.Text + "\n"
				}
				require.Contains(t, text, "gpu-007/GPU3: its network steps wait on the wire towards rank 7 for 0.9 s a second, on no other of 15 links more than 0.05")
			},
		},
		{
			name: "a rate that was misread once", after: 2 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NICRate, 1.25e10, snaptest.NIC("gpu-007", "mlx5_3"))
				r.run(15 * time.Second)
				r.Set(signals.NICRate, 5e10, snaptest.NIC("gpu-007", "mlx5_3"))
			},
		},
		{
			name: "a slow link without any fact names nobody", after: 10 * time.Minute,
			setup: func(r *rig) { ringWaits(r, "") },
			fault: func(r *rig) { ringWaits(r, "gpu-007") },
		},
		{
			name: "without switch data and models", fault: slow, after: 2 * time.Minute,
			setup: func(r *rig) { r.Without(signals.SwitchLink, signals.NICModel) },
			want:  []string{"nic_degraded rate_downtrained critical high nic:gpu-007/mlx5_3"},
			also:  []string{"link_flap single info high nic:gpu-007/mlx5_3"},
		},
		{
			name: "a host without a job", shape: func() snaptest.Shape { s := snaptest.R16(); s.Job = ""; return s },
			fault: func(r *rig) { r.Set(signals.NICRate, 1.25e10, nic) }, after: 2 * time.Minute,
			want: []string{"nic_degraded rate_downtrained critical high nic:gpu-007/mlx5_3"},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.Empty(t, v.Job)
				require.Equal(t, "host:gpu-007", v.Scope)
			},
		},
		{
			// What no collective uses harms no job and explains nothing of it.
			name: "a port that carries nothing", after: 12 * time.Minute,
			setup: func(r *rig) {
				for _, id := range []signals.ID{signals.NICTx, signals.NICRx} {
					r.SetAll(id, 1e3, func(e signals.Entity) bool { return e.Device == "mlx5_3" })
				}
			},
			fault: func(r *rig) { r.Set(signals.NICRate, 1.25e10, nic); r.Set(signals.NICSymbolErrors, 38, nic) },
			want:  []string{"nic_degraded rate_downtrained warning high nic:gpu-007/mlx5_3"},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.Empty(t, v.Job)
				require.Equal(t, "host:gpu-007", v.Scope)
			},
		},
		{
			name: "another generation of cards", fault: func(*rig) {}, after: 5 * time.Minute,
			setup: func(r *rig) {
				for _, h := range r.Shape.Hosts[12:] {
					for _, d := range r.Shape.NICs {
						r.Set(signals.NICRate, 2.5e10, snaptest.NIC(h, d))
					}
				}
			},
		},
		{
			name: "another generation of hosts with two cards", fault: func(*rig) {}, after: 5 * time.Minute,
			shape: func() snaptest.Shape { return snaptest.Rails("gpu-%03d", 12, 2) },
			setup: func(r *rig) {
				for _, d := range r.Shape.NICs {
					r.Set(signals.NICRate, 2.5e10, snaptest.NIC("gpu-012", d))
				}
			},
		},
		{
			name: "a rate of zero on a port that was never active", fault: func(*rig) {}, after: 5 * time.Minute,
			setup: func(r *rig) {
				second := nic
				second.Port = "2"
				r.Set(signals.NICState, 1, second)
				r.Set(signals.NICRate, 0, second)
			},
		},
		{
			name: "bit errors", after: 4 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NICSymbolErrors, 38, nic)
				r.Set(signals.NICRxErrors, 6, nic)
				r.SlowGroups(0.8, rail("3"))
			},
			want: []string{"nic_degraded bit_errors warning high nic:gpu-007/mlx5_3"},
			also: []string{"rail_degraded timing_only warning low"},
		},
		{
			name: "bit errors for long", after: 12 * time.Minute,
			fault: func(r *rig) { r.Set(signals.NICSymbolErrors, 38, nic) },
			want:  []string{"nic_degraded bit_errors critical high nic:gpu-007/mlx5_3"},
			also:  []string{"nic_degraded bit_errors warning high nic:gpu-007/mlx5_3"},
		},
		{
			name: "a burst after a neighbour's reboot", after: 10 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NICSymbolErrors, 38, nic)
				r.run(45 * time.Second)
				r.Set(signals.NICSymbolErrors, 0, nic)
			},
		},
		{
			name: "bit errors without a job", shape: func() snaptest.Shape { s := snaptest.R16(); s.Job = ""; return s }, after: 15 * time.Minute,
			fault: func(r *rig) { r.Set(signals.NICSymbolErrors, 38, nic) },
			want:  []string{"nic_degraded bit_errors warning high nic:gpu-007/mlx5_3"},
		},
		{
			name: "two sick NICs on two rails", after: 3 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.NICRate, 1.25e10, nic)
				r.Set(signals.NICRate, 2.5e10, snaptest.NIC("gpu-001", "mlx5_0"))
			},
			want: []string{
				"nic_degraded rate_downtrained critical high nic:gpu-007/mlx5_3",
				"nic_degraded rate_downtrained critical high nic:gpu-001/mlx5_0",
			},
		},
	})
}

func TestEFA(t *testing.T) {
	device := snaptest.NIC("efa-03", "rdmap113s0")
	retransmit := func(r *rig, share float64, keep func(signals.Entity) bool) {
		r.SetAll(signals.NICRetransmitBytes, share*r.Shape.Traffic, keep)
	}
	runAll(t, []scenario{
		{
			name: "one device", shape: snaptest.E8, after: 3 * time.Minute,
			fault: func(r *rig) {
				retransmit(r, 0.021, func(e signals.Entity) bool { return e == device })
				for _, h := range r.Shape.Hosts {
					if h != device.Host {
						r.Set(signals.NICRemoteUnresponsive, 0.6, snaptest.NIC(h, "rdmap90s0"))
					}
				}
			},
			want: []string{"nic_degraded retransmissions critical high nic:efa-03/rdmap113s0"},
		},
		{
			name: "the whole zone", shape: snaptest.E8, after: 3 * time.Minute,
			fault: func(r *rig) { retransmit(r, 8e-4, nil) },
			want:  []string{"fabric_congestion zone_wide warning medium"},
		},
		{
			name: "one host", shape: snaptest.E8, after: 3 * time.Minute,
			fault: func(r *rig) {
				retransmit(r, 0.021, func(e signals.Entity) bool { return e.Host == "efa-03" })
			},
			want: []string{"nic_degraded retransmissions critical high node:efa-03"},
		},
	})
}

// ringWaits sets what the network steps of GPU3 of each host wait for in a ring
// over all hosts; those from one host wait on the wire.
func ringWaits(r *rig, slow string) {
	hosts := r.Shape.Hosts
	for i, host := range hosts {
		e := signals.Entity{Kind: signals.KindComm, Job: r.Shape.Job, Host: host, Device: "GPU3", Comm: "5e5e5e5e", Rank: int32(i) + 1}
		wait := 0.05
		if host == slow {
			wait = 0.9
		}
		e.Peer, e.Detail = strconv.Itoa((i+1)%len(hosts)), "wire"
		r.Set(signals.ProxyWait, wait, e)
		e.Peer, e.Detail = strconv.Itoa((i+len(hosts)-1)%len(hosts)), "recv_wait"
		r.Set(signals.ProxyWait, 0.6, e)
	}
}
