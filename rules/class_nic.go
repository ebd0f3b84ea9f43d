package rules

import (
	"fmt"
	"strings"

	"github.com/collwatch/collwatch/signals"
)

// The limits of the detectors: a rate is lost by halves, so 0.8 separates; an
// error counter counts when it is far above the fabric's median, because a
// counter that rises slowly for ever is healthy on PAM4 links.
const (
	rateBelow   = 0.8
	errorFactor = 10
	errorRate   = 0.1 // per second
	trafficBusy = 1e8 // B/s, about 1 % of a 100G port: below it a port is idle
)

const nextNIC = "reseat the cable at both ends, check the switch port, retrain the link, measure with a pair bandwidth test"

func nicDegraded(b *builder) {
	rateDowntrained(b)
	bitErrors(b)
	packetLoss(b)
	retransmissions(b)
}

// activeRate records the rate of ports that are up, with the card's model where
// that is known: cards of different models are never compared.
func activeRate(b *builder) string {
	rate := b.need(signals.NICRate)
	if rate == "" {
		return ""
	}
	expr := rate + " > 0"
	if state, ok := b.has(signals.NICState); ok {
		expr += fmt.Sprintf(" and %s == 4", state)
	}
	if b.metric("node_infiniband_info") && b.uname {
		model := `topk by (host, device) (1, max by (host, device, model) (label_replace(label_replace(node_infiniband_info, "model", "$1", "hca_type", "(.+)"), ` +
			`"model", "$1", "board_id", "(.+)") * on (instance) group_left (host) ` + hostMap + `))`
		expr = fmt.Sprintf("(%s) * on (host, device) group_left (model) %s", expr, model)
	}
	return b.share("nic_port:nic_rate_active:last", "rates of active ports, with the card's model", "%s", expr)
}

func rateDowntrained(b *builder) {
	rate := activeRate(b)
	if b.blind("rate_downtrained") {
		return
	}
	const peers = "model, device, port"
	low := b.record("nic_port:nic_rate_low:last", "ports below "+num(rateBelow)+" of the median of at least four equal cards in the same slot",
		"%s < on (%s) group_left () (%s * quantile by (%s) (0.5, %s)) and on (%s) (count by (%s) (%s) >= 4)", rate, peers, num(rateBelow), peers, rate, peers, peers, rate)
	few := fmt.Sprintf("(count by (%s) (%s) <= clamp_min(0.1 * count by (%s) (%s), 1))", peers, low, peers, rate)
	otherKind := fmt.Sprintf("(count by (host, model) (%s) == count by (host, model) (%s) and count by (host, model) (%s) >= 2)", low, rate, rate)
	all := with(fabric(signals.NICRate, 6, flat(5e10)), fabric(signals.NICState, 6, flat(4))...)
	all = with(all, models(6)...)
	older := fabricHost(signals.NICRate, "node0", flat(2.5e10))
	b.add(alert{
		reason: "rate_downtrained", severity: "critical", kind: "nic", scope: "job", owner: "infrastructure", level: "nic_port", hold: 4 * b.o.Interval,
		evidence: fmt.Sprintf("%s and on (%s) %s unless on (host, model) %s", low, peers, few, otherKind),
		summary:  "runs at {{ $value | humanize }}B/s, less than its peers", next: nextNIC,
		test: testCase{
			fire:  with(all, in(signals.NICRate, "node0", "mlx5_0", step{5e10, 20}, step{2.5e10, 40}, step{5e10, 30})),
			quiet: with(all, older...), about: "a host whose cards are all of an older generation", at: 20, clear: 40, want: on("node0", "mlx5_0", 2.5e10),
		},
	})
}

// far are rows far above the fabric's median and above a floor.
func far(series string) string {
	return fmt.Sprintf("%s > on () group_left () clamp_min(%d * quantile(0.5, %s), %s)", series, errorFactor, series, num(errorRate))
}

func bitErrors(b *builder) {
	var parts []string
	var test signals.ID
	for _, id := range []signals.ID{signals.NICSymbolErrors, signals.NICLinkRecovery, signals.NICRxErrors, signals.NICICRC, signals.NICLinkIntegrity} {
		if s, ok := b.has(id); ok {
			parts = append(parts, "("+far(s)+")")
			if test == signals.None {
				test = id
			}
		}
	}
	if len(parts) == 0 {
		b.need(signals.NICSymbolErrors)
		b.blind("bit_errors")
		return
	}
	l := b.o.Limits
	bad := b.record("nic_port:bit_errors_far:rate3m", "ports whose link errors rise far above the fabric's median", "%s%s", strings.Join(parts, " or "),
		b.unlessBooted(l.BootGrace))
	lasting := b.record("nic_port:nic_degraded_bit_errors:evidence", "in two windows that do not overlap: a burst after a neighbour's reboot is in one of them only",
		"%s and %s offset %s", bad, bad, span(l.ErrorsHold))
	long := fmt.Sprintf("(count_over_time(%s[%s]) >= %s)", bad, span(l.ErrorsCritical), num(float64(int(0.9*float64(l.ErrorsCritical)/float64(b.o.Interval)))))
	all := fabric(test, 6, flat(0))
	burst := with(all, in(test, "node0", "mlx5_0", step{0, 20}, step{50, 1}, step{0, 60}))
	errors := with(all, in(test, "node0", "mlx5_0", step{0, 20}, step{50, 60}, step{0, 60}))
	for _, s := range []struct {
		severity, op string
		at           int
	}{{"warning", "unless", 15}, {"critical", "and", 30}} {
		b.addOn(fmt.Sprintf("(%s %s %s)", lasting, s.op, long), alert{
			reason: "bit_errors", severity: s.severity, kind: "nic", scope: "job", owner: "infrastructure", level: "nic_port", hold: b.o.Interval,
			summary: "has {{ $value | humanize }} link errors per second, far above the fabric", next: "clean or replace optics and cable; " + nextNIC,
			cite: "judged against the fabric's median: public limits of 120 per hour or 10 per second page on healthy PAM4 links",
			test: testCase{fire: errors, quiet: burst, about: "one burst that then stays flat", at: s.at, clear: 60, want: on("node0", "mlx5_0", 50)},
		})
	}
}

// alone are rows that not more than one port in a hundred shows.
func alone(rows, all string) string {
	return fmt.Sprintf("on () (count(%s) <= clamp_min(0.01 * count(%s), 1))", rows, all)
}

func packetLoss(b *builder) {
	oos := b.need(signals.NICOutOfSequence)
	if b.blind("packet_loss") {
		return
	}
	bad := b.share("nic_port:out_of_sequence_far:rate3m", "receivers that see packets out of sequence far above the fabric's median", "%s%s", far(oos),
		b.unlessBooted(b.o.Limits.BootGrace))
	all := fabric(signals.NICOutOfSequence, 6, flat(0))
	b.add(alert{
		reason: "packet_loss", severity: "critical", kind: "nic", scope: "job", owner: "infrastructure", level: "nic_port", hold: b.o.Limits.ErrorsHold,
		evidence: fmt.Sprintf("%s and %s", bad, alone(bad, oos)),
		summary:  "alone receives {{ $value | humanize }} packets per second out of sequence", next: nextNIC,
		test: testCase{
			fire:  with(all, in(signals.NICOutOfSequence, "node0", "mlx5_0", step{0, 20}, step{200, 60}, step{0, 40})),
			quiet: fabric(signals.NICOutOfSequence, 6, step{0, 20}, step{200, 60}, step{0, 40}), about: "all receivers at once: the fabric", at: 25, clear: 50,
			want: on("node0", "mlx5_0", 200),
		},
	})
}

// sentAgain records the share of bytes sent again, of busy ports.
func sentAgain(b *builder) string {
	again, tx := b.need(signals.NICRetransmitBytes), b.need(signals.NICTx)
	if again == "" || tx == "" {
		return ""
	}
	return b.share("nic_port:retransmit_bytes_per_sent:ratio", "share of bytes sent again, on busy ports", "%s / (%s > %s)", again, tx, num(trafficBusy))
}

func retransmissions(b *builder) {
	share := sentAgain(b)
	if b.blind("retransmissions") {
		return
	}
	// A hundredth of the bytes sent again is far above what a healthy SRD
	// fabric shows.
	bad := b.record("nic_port:retransmit_far:ratio", "ports that send far more again than the fabric's median", "%s > on () group_left () clamp_min(%d * quantile(0.5, %s), 0.01)",
		share, errorFactor, share)
	all := with(fabric(signals.NICRetransmitBytes, 6, flat(0)), fabric(signals.NICTx, 6, flat(1e10))...)
	b.add(alert{
		reason: "retransmissions", severity: "critical", kind: "nic", scope: "job", owner: "infrastructure", level: "nic_port", hold: b.o.Limits.ErrorsHold,
		evidence: fmt.Sprintf("%s and %s", bad, alone(bad, share)),
		summary:  "alone sends {{ $value | humanizePercentage }} of its bytes again", next: "replace the instance; the port state of EFA says nothing",
		test: testCase{
			fire:  with(all, in(signals.NICRetransmitBytes, "node0", "mlx5_0", step{0, 20}, step{5e8, 60}, step{0, 40})),
			quiet: with(all, fabric(signals.NICRetransmitBytes, 6, step{0, 20}, step{5e8, 60})...), about: "all devices of all hosts: the fabric", at: 25, clear: 50,
			want: on("node0", "mlx5_0", 0.05),
		},
	})
}
