package rules

import (
	"fmt"

	"github.com/collwatch/collwatch/signals"
)

// Byte rates do not tell one member of a ring from another; they do tell
// traffic of others and a port that is no longer used.
const (
	trafficAbove = 1.5  // of what the sister ports do, relative to their own past
	trafficGone  = 0.02 // of the sister ports
	trafficShare = 0.5  // of the usual level of the sister ports, for a card of the job's collectives
	trafficMoved = 0.3  // of what the sister ports do, relative to their own past: another port carries the rest
)

func nicContention(b *builder) {
	tx := b.need(signals.NICTx)
	transfer, usual := transferLevel(b)
	if !b.jobs {
		b.missing = append(b.missing, signals.JobOnNode)
	}
	if b.blind("foreign_traffic") {
		return
	}
	const was = "nic_port:nic_tx_busy_usual:ewma"
	busy := b.share("nic_port:nic_tx_busy:last", "bytes per second of ports that are busy, or were in the same job; of hosts with one job",
		"clamp_min(%s or (%s and on (job_id, host, device, port) last_over_time(%s[%s])), 1)", ofJob(fmt.Sprintf("(%s > %s)", tx, num(trafficBusy))), ofJob(tx), was, span(smoothMemory))
	sent := b.smoothed(busy, "")
	ratio := b.record("nic_port:nic_tx_per_usual:ratio", "what a port sends against its usual level in this job", "%s / %s", busy, sent.usual)
	// A card for storage has bursts of its own, and is not what collectives wait for.
	compute := fmt.Sprintf("(%s > on (host) group_left () (%s * quantile by (host) (0.5, %s)))", sent.usual, num(trafficShare), sent.usual)
	moved := fmt.Sprintf("(%s < on (host) group_left () (%s * quantile by (host) (0.5, %s)))", ratio, num(trafficMoved), ratio)
	slow := b.record("host:coll_transfer_per_usual:ratio", "the worst communicator with members on a host, of those above their band",
		"exp(max by (host) (%s * 0 + on (%s) group_left () (%s and %s > %s)))", timing(b), transferGroup, usual.perUsual, transfer, usual.upper)
	all := with(fabric(signals.NICTx, 4, flat(1e10)), collectives(4, step{0.004, 80}, step{0.006, 120})...)
	foreign := with(all, in(signals.NICTx, "node0", "mlx5_0", step{1e10, 80}, step{2e10, 40}, step{1e10, 100}))
	left := with(foreign, in(signals.NICTx, "node0", "mlx5_1", step{1e10, 80}, step{0, 140}))
	storage := with(all, in(signals.NICTx, "node0", "mlx5_0", step{1e9, 80}, step{2e10, 40}, step{1e9, 100}))
	quiet := with(fabric(signals.NICTx, 4, step{1e10, 80}, step{2e10, 120}), collectives(4, step{0.004, 80}, step{0.006, 120})...)
	b.add(alert{
		reason: "foreign_traffic", severity: "warning", kind: "nic", scope: "job", owner: "workload", level: "nic_port", hold: b.o.Limits.ErrorsHold,
		evidence: fmt.Sprintf("%s > on (host) group_left () (%s * quantile by (host) (0.5, %s)) and on (host) (count by (host) (%s) >= 3) and %s > %s and %s and on (host) (%s > 1.1) unless on (host) %s",
			ratio, num(trafficAbove), ratio, ratio, busy, sent.upper, compute, slow, moved),
		summary: "carries {{ printf \"%.1f\" $value }} times what it did, its sister ports do not, and collectives are slower",
		next:    "find the other traffic on this card (storage, second tenant, second job) and move it to the storage card; this is no hardware case",
		test: testCase{
			fire: foreign, quiet: quiet, about: "all ports of all hosts carry more: a phase that communicates more", at: 50, clear: 75, want: on("node0", "mlx5_0", 2),
		},
		also: []testCase{
			{fire: foreign, quiet: left, about: "the traffic of a sister port that fell silent", at: 50, clear: 75, want: on("node0", "mlx5_0", 2)},
			{fire: foreign, quiet: storage, about: "a burst of a card that carries little else: storage", at: 50, clear: 75, want: on("node0", "mlx5_0", 2)},
		},
	})
}

func nicUnused(b *builder) {
	tx := b.need(signals.NICTx)
	inc := b.needs(reading{id: signals.NICLinkDowned, increase: flapWindow})
	state := b.need(signals.NICState)
	if b.blind("traffic_moved") {
		return
	}
	idle := fmt.Sprintf("%s < on (host) group_left () (%s * (quantile by (host) (0.5, %s) > %s)) and on (host) (count by (host) (%s) >= 3) and %s == 4",
		tx, num(trafficGone), tx, num(trafficBusy), tx, state)
	const name = "nic_port:nic_unused_after_flap_traffic_moved:evidence"
	events := fabricOf(reading{id: signals.NICLinkDowned, increase: flapWindow}, 4, flat(0))
	base := with(with(fabric(signals.NICState, 4, flat(4)), fabric(signals.NICTx, 4, flat(1e10))...), events...)
	b.add(alert{
		reason: "traffic_moved", severity: "warning", kind: "nic", scope: "job", owner: "workload", level: "nic_port", hold: b.o.Limits.ErrorsHold,
		evidence: fmt.Sprintf("(%s) and ((max_over_time(%s[1h]) > %s and max_over_time(%s[1h]) >= 1) or last_over_time(%s[10m]))", idle, tx, num(trafficBusy), inc, name),
		summary:  "is up again after it lost its link, but unused ({{ $value | humanize }}B/s) while its sister ports carry the traffic",
		next:     "restart the job: NCCL does not return to a NIC that came back; no repair is needed for this",
		test: testCase{
			fire: with(base, in(signals.NICTx, "node0", "mlx5_0", step{1e10, 20}, step{0, 200}, step{1e10, 60}),
				inOf(reading{id: signals.NICLinkDowned, increase: flapWindow}, "node0", "mlx5_0", step{0, 20}, step{1, 1}, step{0, 250})),
			quiet: with(base, in(signals.NICTx, "node0", "mlx5_0", flat(0))), about: "a spare port that is idle since the job's start", at: 90, clear: 125,
			want: on("node0", "mlx5_0", 0),
		},
	})
}
