package rules

import (
	"fmt"

	"github.com/collwatch/collwatch/signals"
)

func roceCongestion(b *builder) {
	marks, ok := b.has(signals.NICCNPHandled)
	id := signals.NICCNPHandled
	if !ok {
		id, marks = signals.NICECNReceived, b.need(signals.NICECNReceived)
	}
	if b.blind("incast") {
		return
	}
	// A thousand marks a second and ten times the hour before; public rules
	// page at 10,000 a second whatever is usual.
	bad := b.record("nic_port:roce_marks_far:rate3m", "ports with far more congestion marks than in their own past hour",
		"%s > 1000 and %s > %d * avg_over_time(%s[1h] offset 15m)", marks, marks, errorFactor, marks)
	no := ""
	if oos, ok := b.has(signals.NICOutOfSequence); ok {
		no += fmt.Sprintf(" unless on () (count(%s > %s) > 0.05 * count(%s))", oos, num(errorRate), oos)
	}
	if pause, ok := b.has(signals.NICPauseTx); ok {
		no += fmt.Sprintf(" unless on () (max(%s) > %s)", pause, num(pauseShare))
	}
	spread := step{20000, 60}
	b.add(alert{
		reason: "incast", severity: "warning", kind: "unknown", scope: "cluster", owner: "infrastructure", level: "cluster", hold: b.o.Limits.ErrorsHold,
		evidence: fmt.Sprintf("(count(%s) / count(%s) > 0.25)%s", bad, marks, no),
		summary:  "{{ $value | humanizePercentage }} of all ports see far more congestion marks than before; no host is to blame",
		next:     "look at job placement, incast and congestion-control settings; no host is to blame",
		test: testCase{
			fire:  fabric(id, 4, step{10, 180}, spread, step{10, 120}),
			quiet: with(fabric(id, 4, flat(10)), in(id, "node0", "mlx5_0", step{10, 180}, spread)), about: "one port only", at: 100, clear: 130, want: want{value: 1},
		},
	})
}

// pauseShare is the share of time that a port spends pausing its peer from
// which it cannot absorb what it gets.
const pauseShare = 0.1

func pfcStorm(b *builder) {
	tx, rx := b.need(signals.NICPauseTx), b.need(signals.NICPauseRx)
	if b.blind("host_not_absorbing") {
		return
	}
	base := with(fabric(signals.NICPauseTx, 4, flat(0)), fabric(signals.NICPauseRx, 4, step{0, 20}, step{0.2, 40}, step{0, 40})...)
	far := fmt.Sprintf("%s > on () group_left () clamp_min(%d * quantile(0.5, %s), %s)", tx, errorFactor, tx, num(pauseShare))
	b.add(alert{
		reason: "host_not_absorbing", severity: "critical", kind: "nic", scope: "cluster", owner: "infrastructure", level: "nic_port", hold: 4 * b.o.Interval,
		evidence: fmt.Sprintf("(%s) and on () (count(%s) == 1) and on () (count(%s > 0.05) >= 2)", far, far, rx),
		summary:  "pauses its peer for {{ $value | humanizePercentage }} of the time, and others are paused: this host does not absorb",
		next:     "look at this host: PCIe, buffers, memory, firmware; isolate it first, because a pause storm spreads",
		test: testCase{
			fire:  with(base, in(signals.NICPauseTx, "node0", "mlx5_0", step{0, 20}, step{0.5, 40}, step{0, 40})),
			quiet: with(base, fabric(signals.NICPauseTx, 4, step{0, 20}, step{0.5, 40}, step{0, 40})...), about: "all hosts pause for a moment: reading a checkpoint",
			at: 20, clear: 45, want: on("node0", "mlx5_0", 0.5),
		},
	})
}

func roceLoss(b *builder) {
	oos := b.need(signals.NICOutOfSequence)
	senders, id := "", signals.None
	for _, s := range []signals.ID{signals.NICSeqErrors, signals.NICAckTimeouts, signals.NICRetransmits} {
		if name, ok := b.has(s); ok {
			senders, id = name, s
			break
		}
	}
	if senders == "" {
		b.need(signals.NICSeqErrors)
	}
	if b.blind("drops_everywhere") {
		return
	}
	lossy := fmt.Sprintf("%s > %s", oos, num(errorRate))
	base := fabric(id, 4, step{0, 20}, step{50, 60}, step{0, 40})
	b.add(alert{
		reason: "drops_everywhere", severity: "critical", kind: "unknown", scope: "cluster", owner: "infrastructure", level: "cluster", hold: b.o.Limits.ErrorsHold,
		evidence: fmt.Sprintf("count(%s) >= 3 and count(%s) > 0.05 * count(%s) and on () (count(%s > %s) >= 1)", lossy, lossy, oos, senders, num(errorRate)),
		summary:  "{{ $value }} ports receive packets out of sequence and senders repeat: the fabric drops",
		next:     "check QoS and PFC settings of the switches and discards per queue",
		test: testCase{
			fire:  with(base, fabric(signals.NICOutOfSequence, 4, step{0, 20}, step{200, 60}, step{0, 40})...),
			quiet: with(with(base, fabric(signals.NICOutOfSequence, 4, flat(0))...), in(signals.NICOutOfSequence, "node0", "mlx5_0", step{0, 20}, step{200, 60})),
			about: "one receiver: its own port", at: 25, clear: 50, want: want{value: 16},
		},
	})
}

func fabricCongestion(b *builder) {
	share := sentAgain(b)
	if b.blind("zone_wide") {
		return
	}
	base := fabric(signals.NICTx, 4, flat(1e10))
	b.add(alert{
		reason: "zone_wide", severity: "warning", kind: "unknown", scope: "cluster", owner: "infrastructure", level: "cluster", hold: b.o.Limits.ErrorsHold,
		evidence: fmt.Sprintf("quantile(0.5, %s) > 0.01 and on () (count(%s > 0.01) > 0.8 * count(%s)) and on () (count(%s) >= 4)", share, share, share, share),
		summary:  "all devices send bytes again, {{ $value | humanizePercentage }} in the median; no host is to blame",
		next:     "nothing to do on the hosts; look at placement, ask the provider",
		test: testCase{
			fire:  with(base, fabric(signals.NICRetransmitBytes, 4, step{0, 20}, step{5e8, 60}, step{0, 40})...),
			quiet: with(with(base, fabric(signals.NICRetransmitBytes, 4, flat(0))...), in(signals.NICRetransmitBytes, "node0", "mlx5_0", step{0, 20}, step{5e8, 60})),
			about: "one device", at: 25, clear: 50, want: want{value: 0.05},
		},
	})
}
