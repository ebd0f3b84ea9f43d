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

func world(*signals.Group) bool { return true }

func isNIC(host, device string) func(signals.Entity) bool {
	return func(e signals.Entity) bool { return e.Host == host && (device == "" || e.Device == device) }
}

func TestLeafDegraded(t *testing.T) {
	sick := func(r *rig) {
		r.Set(signals.NICTransmitWait, 6e6, onRail(r, 2, 16)...)
		r.SlowGroups(0.4, rail("2"))
	}
	const timing = "rail_degraded timing_only warning low"
	runAll(t, []scenario{
		{
			name: "a whole rail waits for credit", fault: sick, after: 4 * time.Minute,
			want: []string{"leaf_degraded rail_wide critical high switch:leaf-r2"}, also: []string{timing},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, 16, v.AffectedHosts) },
		},
		{
			name: "without topology", fault: sick, after: 4 * time.Minute,
			setup: func(r *rig) { r.Without(signals.SwitchLink) },
			want:  []string{"rail_degraded no_topology critical medium rail:2"}, also: []string{timing},
		},
		{
			name: "without counters of NICs nobody is named", after: 8 * time.Minute,
			setup: func(r *rig) { r.Without(signals.NICTransmitWait) },
			fault: func(r *rig) { r.SlowGroups(0.4, rail("2")) },
			want:  []string{timing},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, 17, v.TieSet) },
		},
		{
			name: "one host has a sign of its own", after: 4 * time.Minute,
			fault: func(r *rig) {
				sick(r)
				r.Set(signals.NICRate, 1.25e10, snaptest.NIC("gpu-007", "mlx5_2"))
			},
			want: []string{"nic_degraded rate_downtrained critical high nic:gpu-007/mlx5_2"},
		},
		{
			name: "load everywhere", after: 4 * time.Minute,
			fault: func(r *rig) { r.SetAll(signals.NICTransmitWait, 6e6, nil) },
		},
	})
}

func TestFlowControl(t *testing.T) {
	storm := func(r *rig) {
		nic := snaptest.NIC("roce-05", "mlx5_4")
		r.Set(signals.NICPauseTx, 0.38, nic)
		r.Set(signals.NICPCIeStall, 0.6, nic)
		r.SetAll(signals.NICPauseRx, 0.04, func(e signals.Entity) bool { return e.Host != "roce-05" })
		r.SetAll(signals.NICECNReceived, 2e4, nil)
		r.SlowGroups(0.33, world)
	}
	rails := func() snaptest.Shape {
		s := snaptest.Q8()
		s.World = false
		return s
	}
	runAll(t, []scenario{
		{
			name: "one NIC does not absorb", shape: snaptest.Q8, fault: storm, after: 2 * time.Minute,
			want: []string{"pfc_storm host_not_absorbing critical high nic:roce-05/mlx5_4"},
		},
		{
			name: "incast", shape: snaptest.Q8, warm: 40 * time.Minute, after: 6 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICPauseRx, 0.15, nil)
				r.SetAll(signals.NICPauseTx, 0.01, nil)
				r.SetAll(signals.NICECNReceived, 2e4, nil)
				r.SlowGroups(0.5, world)
			},
			want: []string{"roce_congestion incast warning low"}, also: []string{"roce_congestion incast info low"},
		},
		{
			// What the network holds back is slow in the same communicators.
			name: "incast that slows one rail for long", shape: rails, warm: 40 * time.Minute, after: 12 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICECNReceived, 2e4, nil)
				r.SlowGroups(0.3, rail("3"))
			},
			want: []string{"roce_congestion incast warning low"}, also: []string{"roce_congestion incast info low"},
		},
		{
			// Windows of collectives end after the fault that made them slow.
			name: "one NIC does not absorb for ten minutes", shape: rails, warm: 40 * time.Minute, after: 20 * time.Minute,
			fault: func(r *rig) {
				storms := func(tx, rx float64) {
					r.SetAll(signals.NICPauseRx, rx, nil)
					r.Set(signals.NICPauseTx, tx, snaptest.NIC("roce-05", "mlx5_4"))
				}
				storms(0.38, 0.04)
				r.SlowGroups(0.5, world)
				r.run(10 * time.Minute)
				storms(0, 0)
				r.SlowGroups(2, func(g *signals.Group) bool { return !rail("2")(g) })
				r.run(90 * time.Second)
				r.SlowGroups(2, rail("2"))
			},
			also: []string{"pfc_storm host_not_absorbing critical high nic:roce-05/mlx5_4"},
		},
		{
			name: "a rail that stays slow after the storm", shape: rails, warm: 40 * time.Minute, after: 8 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICPauseRx, 0.04, nil)
				r.Set(signals.NICPauseTx, 0.38, snaptest.NIC("roce-05", "mlx5_4"))
				r.SlowGroups(0.5, rail("2"))
				r.run(10 * time.Minute)
				r.SetAll(signals.NICPauseRx, 0, nil)
				r.Set(signals.NICPauseTx, 0, snaptest.NIC("roce-05", "mlx5_4"))
			},
			want: []string{"rail_degraded timing_only warning low"},
			also: []string{"pfc_storm host_not_absorbing critical high nic:roce-05/mlx5_4"},
		},
		{
			name: "a little pause during a checkpoint", shape: snaptest.Q8, after: 2 * time.Minute,
			fault: func(r *rig) { r.SetAll(signals.NICPauseTx, 0.02, nil) },
		},
		{
			// Cards have a series for each priority, of which one is in use.
			name: "as much pause as ever, on one of eight priorities", shape: snaptest.Q8, after: 10 * time.Minute,
			setup: func(r *rig) { pausesByPriority(r, 0.03) }, fault: func(*rig) {},
		},
		{
			name: "one NIC does not absorb, on two of eight priorities", shape: snaptest.Q8, after: 2 * time.Minute,
			setup: func(r *rig) { pausesByPriority(r, 0.001) },
			fault: func(r *rig) {
				nic := isNIC("roce-05", "mlx5_4")
				r.SetAll(signals.NICPauseTx, 0.38, func(e signals.Entity) bool { return nic(e) && e.Detail >= "prio3" && e.Detail <= "prio4" })
				r.SetAll(signals.NICPauseRx, 0.04, func(e signals.Entity) bool { return e.Host != "roce-05" && e.Detail == "prio3" })
				r.SlowGroups(0.33, world)
			},
			want: []string{"pfc_storm host_not_absorbing critical high nic:roce-05/mlx5_4"},
		},
		{
			name: "marks without loss", shape: snaptest.Q8, after: 4 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICECNReceived, 1.5e4, nil)
				r.SetAll(signals.NICCNPHandled, 1.2e4, nil)
			},
			want: []string{"roce_congestion incast info low"},
		},
	})
}

// pausesByPriority gives each NIC a series of each priority, as mlx5 has them,
// with pause on the third.
func pausesByPriority(r *rig, pause float64) {
	for _, id := range []signals.ID{signals.NICPauseRx, signals.NICPauseTx} {
		for _, e := range r.Series(id) {
			r.Gone(id, e)
			for p := range 8 {
				e.Detail, e.Port = "prio"+strconv.Itoa(p), "1"
				r.Set(id, 0, e)
				if p == 3 {
					r.Set(id, pause, e)
				}
			}
		}
	}
}

func TestLoss(t *testing.T) {
	behindB := func(e signals.Entity) bool { return e.Host >= "roce-05" }
	lossy := func(r *rig) {
		r.SetAll(signals.NICOutOfSequence, 900, behindB)
		r.SetAll(signals.NICSeqErrors, 400, nil)
		r.SetAll(signals.NICRetransmits, 300, nil)
		r.SetAll(signals.NICAckTimeouts, 3, nil)
		r.SlowGroups(0.2, world)
	}
	runAll(t, []scenario{
		{
			name: "behind one switch", shape: snaptest.Q8, fault: lossy, after: 3 * time.Minute,
			want:  []string{"roce_loss drops_behind_switch critical medium switch:leaf-b"},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, 4, v.AffectedHosts) },
		},
		{
			name: "with switch data", shape: snaptest.Q8, after: 3 * time.Minute,
			setup: func(r *rig) {
				for _, sw := range []string{"leaf-a", "leaf-b"} {
					for _, p := range []string{"1", "2", "3", "4"} {
						r.Set(signals.SwitchPortDiscards, 0, signals.Entity{Kind: signals.KindSwitchPort, Device: sw, Port: p})
					}
				}
			},
			fault: func(r *rig) {
				lossy(r)
				r.Set(signals.SwitchPortDiscards, 1e4, signals.Entity{Kind: signals.KindSwitchPort, Device: "leaf-b", Port: "3"})
			},
			want: []string{"roce_loss drops_behind_switch critical high switch:leaf-b"},
			also: []string{"roce_loss drops_behind_switch critical medium switch:leaf-b"},
		},
		{
			name: "everywhere", shape: snaptest.Q8, after: 3 * time.Minute,
			fault: func(r *rig) {
				lossy(r)
				r.SetAll(signals.NICOutOfSequence, 900, nil)
			},
			want: []string{"roce_loss drops_everywhere critical low"},
		},
		{
			name: "one receiver", shape: snaptest.Q8, after: 3 * time.Minute,
			fault: func(r *rig) { r.SetAll(signals.NICOutOfSequence, 900, isNIC("roce-06", "mlx5_2")) },
			want:  []string{"nic_degraded packet_loss critical high nic:roce-06/mlx5_2"},
		},
		{
			name: "few packets towards one receiver", shape: snaptest.Q8, after: 3 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICOutOfSequence, 7, isNIC("roce-06", "mlx5_2"))
				r.SetAll(signals.NICSeqErrors, 7, isNIC("roce-05", "mlx5_2"))
			},
			want:  []string{"nic_degraded packet_loss warning low"},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, 2, v.TieSet) },
		},
		{
			name: "a sender whose losses are spread", shape: snaptest.Q8, after: 3 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICOutOfSequence, 3, nil)
				r.SetAll(signals.NICSeqErrors, 30, isNIC("roce-05", "mlx5_2"))
			},
			want: []string{"nic_degraded packet_loss critical high nic:roce-05/mlx5_2"},
		},
		{
			name: "a sender where nothing is known of receivers", shape: snaptest.Q8, after: 3 * time.Minute,
			setup: func(r *rig) { r.Without(signals.NICOutOfSequence) },
			fault: func(r *rig) { r.SetAll(signals.NICSeqErrors, 30, isNIC("roce-05", "mlx5_2")) },
			want:  []string{"nic_degraded packet_loss warning low"},
		},
		{
			name: "one receiver and one sender are one path", shape: snaptest.Q8, after: 3 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.NICOutOfSequence, 900, isNIC("roce-06", "mlx5_2"))
				r.SetAll(signals.NICSeqErrors, 400, isNIC("roce-03", "mlx5_2"))
			},
			want:  []string{"nic_degraded packet_loss warning low"},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, 2, v.TieSet) },
		},
	})
}

func TestUplinkCongestion(t *testing.T) {
	port := func(p string) signals.Entity {
		return signals.Entity{Kind: signals.KindSwitchPort, Device: "leaf-a", Port: p}
	}
	uplinks := func(r *rig) {
		for _, p := range []string{"swp49", "swp50", "swp51", "swp52"} {
			r.Set(signals.SwitchPortTx, 1.6e10, port(p))
			r.Noise(signals.SwitchPortTx, 0.02, port(p))
			r.Set(signals.SwitchPortECNMarked, 0, port(p))
		}
	}
	runAll(t, []scenario{
		{
			name: "two flows on one uplink", shape: snaptest.Q8, setup: uplinks, after: 3 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.SwitchPortTx, 4.9e10, port("swp49"))
				r.Set(signals.SwitchPortECNMarked, 9e4, port("swp49"))
				r.SetAll(signals.NICPauseRx, 0.02, nil)
			},
			want: []string{"uplink_congestion uneven_uplinks warning high link:leaf-a/swp49"},
			also: []string{"roce_congestion incast info low"},
		},
		{
			name: "plain load", shape: snaptest.Q8, setup: uplinks, after: 3 * time.Minute,
			fault: func(r *rig) { r.SetAll(signals.SwitchPortTx, 3.5e10, nil) },
		},
		{
			name: "without switch data", shape: snaptest.Q8, after: 3 * time.Minute,
			fault: func(r *rig) { r.SetAll(signals.NICPauseRx, 0.02, nil) },
			want:  []string{"roce_congestion incast info low"},
		},
	})
}

func TestShares(t *testing.T) {
	runAll(t, []scenario{
		{
			name: "another tenant on one NIC", after: 4 * time.Minute,
			fault: func(r *rig) {
				nic := snaptest.NIC("gpu-006", "mlx5_1")
				r.SlowGroups(0.44, rail("1"))
				r.Scale(signals.NICTx, 0.73, nil)
				r.Scale(signals.NICRx, 0.73, nil)
				r.Set(signals.NICTx, 4.3e10, nic)
				r.Set(signals.NICTransmitWait, 4e6, nic)
			},
			want: []string{"nic_contention foreign_traffic warning high nic:gpu-006/mlx5_1"},
			also: []string{"rail_degraded timing_only warning low"},
		},
		{
			// While nothing is reported of NICs, and just after, the slow rail is
			// still that NIC's.
			name: "another tenant, and a gap in the counters of NICs", after: 8 * time.Minute,
			fault: func(r *rig) {
				nic := snaptest.NIC("gpu-006", "mlx5_1")
				r.SlowGroups(0.44, rail("1"))
				r.Scale(signals.NICTx, 0.73, nil)
				r.Scale(signals.NICRx, 0.73, nil)
				r.Set(signals.NICTx, 4.3e10, nic)
				r.Set(signals.NICTransmitWait, 4e6, nic)
				r.run(5 * time.Minute)
				for _, id := range []signals.ID{signals.NICTx, signals.NICRx, signals.NICTransmitWait} {
					all := r.Series(id)
					r.Gone(id, all...)
					defer r.Back(id, all...)
				}
				r.run(10 * time.Minute)
			},
			want: []string{"nic_contention foreign_traffic warning high nic:gpu-006/mlx5_1"},
		},
		{
			name: "a communication-heavy phase", after: 4 * time.Minute,
			fault: func(r *rig) { r.Scale(signals.NICTx, 4, nil); r.Scale(signals.NICRx, 4, nil) },
		},
		{
			name: "unused after a flap", after: 5 * time.Minute,
			fault: func(r *rig) {
				nic, sister := snaptest.NIC("gpu-002", "mlx5_6"), snaptest.NIC("gpu-002", "mlx5_7")
				r.Add(signals.NICLinkDowned, 1, nic)
				for _, id := range []signals.ID{signals.NICTx, signals.NICRx} {
					r.Scale(id, 0.83, nil)
					r.Set(id, 2e4, nic)
					r.Set(id, 1.6e10, sister)
				}
				r.SlowGroups(0.5, func(g *signals.Group) bool { return g.Comm == "dp6" || g.Comm == "dp7" })
			},
			want: []string{"nic_unused_after_flap traffic_moved warning high nic:gpu-002/mlx5_6"},
			also: []string{"link_flap single info high nic:gpu-002/mlx5_6", "rail_degraded timing_only warning low", "nic_unused_after_flap traffic_moved warning medium nic:gpu-002/mlx5_6"},
		},
		{
			name: "spare NICs", fault: func(*rig) {}, after: 5 * time.Minute,
			shape: func() snaptest.Shape { s := snaptest.R16(); s.GPUs = 4; return s },
			setup: func(r *rig) {
				for _, d := range r.Shape.NICs[4:] {
					r.SetAll(signals.NICTx, 1e3, func(e signals.Entity) bool { return e.Device == d })
				}
			},
		},
	})
}

// TestPortsOfWhichNoCableIsKnown: where nothing is known of a switch, the ports of
// the few hosts that work stand out as an uplink with too many flows does.
func TestPortsOfWhichNoCableIsKnown(t *testing.T) {
	port := func(p int) signals.Entity {
		return signals.Entity{Kind: signals.KindSwitchPort, Device: "sw-1", Port: "swp" + strconv.Itoa(p)}
	}
	setup := func(r *rig) {
		for p := range 32 {
			r.Set(signals.SwitchPortTx, 1e7, port(p))
			r.Set(signals.SwitchPortRate, 5e10, port(p))
			r.Set(signals.SwitchPortECNMarked, 0, port(p))
		}
	}
	busy := func(r *rig, rate float64) {
		for p := range 3 {
			r.Set(signals.SwitchPortTx, rate, port(p))
			r.Set(signals.SwitchPortECNMarked, 2e4, port(p))
		}
	}
	runAll(t, []scenario{
		{
			name: "hosts that receive", shape: unplugged(8), setup: setup, after: 10 * time.Minute,
			fault: func(r *rig) {
				busy(r, 3.5e10)
				r.Set(signals.NICRx, 3.6e10, onRail(r, 0, 3)...)
			},
		},
		{
			name: "nobody receives so much", shape: unplugged(8), setup: setup, after: 3 * time.Minute,
			fault: func(r *rig) { busy(r, 4.9e10); r.Set(signals.SwitchPortTx, 1e7, port(1), port(2)) },
			want:  []string{"uplink_congestion uneven_uplinks warning high link:sw-1/swp0"},
		},
	})
}
