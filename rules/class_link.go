package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

const nextLink = "look at both ends of the cable, reseat or replace transceiver and cable, take the port and its cage twin out together, restart the job without the host"

// portDown records the ports that left ACTIVE, without those that were never
// up and without hosts that have just booted.
func portDown(b *builder) (down, state string) {
	state = b.need(signals.NICState)
	if state == "" {
		return "", ""
	}
	const was = "nic_port:was_active:last"
	b.share(was, "1 for ports that have been active since they were first seen; it refers to its own past, so a gap of more than an hour forgets a port that is down",
		"(%s == 4) * 0 + 1 or (last_over_time(%s[1h]) and %s)", state, was, state)
	down = b.share("nic_port:not_active:last", "ports that left ACTIVE", "%s < 4 and %s%s", state, was, b.unlessBooted(b.o.Limits.BootGrace))
	return down, state
}

// unlessBooted leaves out hosts that booted a short time ago.
func (b *builder) unlessBooted(grace time.Duration) string {
	boot, ok := b.has(signals.HostBootTime)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" unless on (host) (time() - %s < %s)", boot, num(grace.Seconds()))
}

// railwide are rows that a majority, and at least three, of the equally named
// ports show at once: then it is no matter of one port.
func railwide(rows, all string) string {
	return fmt.Sprintf("(count by (device, port) (%s) >= 3 and count by (device, port) (%s) > 0.5 * count by (device, port) (%s))", rows, rows, all)
}

func linkDown(b *builder) {
	down, state := portDown(b)
	if b.blind("port_not_active") {
		return
	}
	wholeHost := fmt.Sprintf("(count by (host) (%s) == count by (host) (%s) and count by (host) (%s) > 1)", down, state, state)
	const series = "nic_port:link_down_port_not_active:evidence"
	b.record(series, "single ports that left ACTIVE", "%s unless on (host) %s unless on (device, port) %s", down, wholeHost, railwide(down, state))
	all := fabric(signals.NICState, 4, flat(4))
	lost := []step{{4, 20}, {1, 20}, {4, 40}}
	a := alert{
		reason: "port_not_active", severity: "critical", kind: "nic", scope: "job", owner: "infrastructure", level: "nic_port", hold: b.o.Interval,
		summary: "left ACTIVE (state {{ $value }}: 1 down, 2 init, 3 armed)", next: nextLink,
		cite: "NCCL gives a connection up after 4.096 us x 2^20 x 7 = 30 s: whatever waits longer arrives after the crash",
		test: testCase{
			fire:  with(all, in(signals.NICState, "node0", "mlx5_0", lost...)),
			quiet: with(all, in(signals.NICState, "node0", "mlx5_0", flat(1))),
			about: "a port that was never up", at: 15, clear: 30, want: on("node0", "mlx5_0", 1),
		},
	}
	if !b.jobs {
		b.addOn(series, a)
		return
	}
	// Where jobs are known, a port of a host without one wakes nobody.
	idle := fmt.Sprintf("(%s unless on (host) last_over_time(%s[%s]) and on () (count(%s) > 0))", series, jobNow, jobMemory, jobNow)
	b.addOn(fmt.Sprintf("(%s unless %s)", series, idle), a)
	a.severity, a.scope = "info", "cluster"
	a.test = testCase{
		fire:  with(all, in(signals.NICState, spareHost, "mlx5_0", lost...)),
		quiet: with(all, in(signals.NICState, spareHost, "mlx5_0", flat(1))), about: "a port that was never up", at: 15, clear: 30,
		want: on(spareHost, "mlx5_0", 1),
	}
	b.addOn(idle, a)
}

func linkFlap(b *builder) {
	l := b.o.Limits
	inc := b.needs(reading{id: signals.NICLinkDowned, increase: flapWindow})
	if b.blind("repeated") {
		return
	}
	up := ""
	if state, ok := b.has(signals.NICState); ok {
		up = fmt.Sprintf(" and %s == 4", state)
	}
	worst := b.record("nic_port:link_flap:max1h", "link losses in the worst "+span(flapWindow)+" of the last hour, so that a flapping port is one alert and not many",
		"max_over_time(%s[1h]) >= 1%s%s", inc, up, b.unlessBooted(l.BootGrace))
	calm := fmt.Sprintf("%s unless on (device, port) %s", worst, railwide(worst, inc))
	b.record("nic_port:link_flap_repeated:evidence", "flaps of single ports", "%s", calm)
	const series = "nic_port:link_flap_repeated:evidence"
	for _, s := range flapLadder(l.FlapCritical) {
		s.events = []step{{0, 20}, {1, s.losses}, {0, 200}}
		state := fabric(signals.NICState, 4, flat(4))
		events := fabricOf(reading{id: signals.NICLinkDowned, increase: flapWindow}, 4, flat(0))
		flapping := inOf(reading{id: signals.NICLinkDowned, increase: flapWindow}, "node0", "mlx5_0", s.events...)
		var burst []input
		for _, e := range events {
			e.points = s.events
			burst = with(burst, e)
		}
		b.addOn("("+series+s.only+")", alert{
			reason: "repeated", severity: s.severity, kind: "nic", scope: "job", owner: "infrastructure", level: "nic_port",
			summary: "lost its link {{ $value }} times within " + span(flapWindow),
			next:    "read error counters and bit error rate at both ends, replace the cable at the next pause of the job; compare NIC bytes afterwards if the job runs on",
			cite:    "one loss is info, a second a warning, the third (as configured) within the window critical; severities exclude each other, so a rise resolves the former alert",
			test: testCase{
				fire: with(with(events, flapping), state...), quiet: with(burst, state...), about: "all hosts lose the same port at once: a switch",
				at: 12 + (s.losses+1)/2, clear: 90 + s.losses, want: on("node0", "mlx5_0", float64(s.losses)),
			},
		})
	}
}

// flapWindow is the time in which link losses are counted together, as in the
// diagnosis.
const flapWindow = 10 * time.Minute

// flapStep is a severity of flapping: which counts it covers, and one of them.
type flapStep struct {
	severity, only string
	losses         int
	events         []step
}

// flapLadder lists the severities that the critical count leaves room for.
func flapLadder(critical int) []flapStep {
	all := []flapStep{
		{severity: "info", only: " < 2", losses: 1},
		{severity: "warning", only: fmt.Sprintf(" >= 2 < %d", critical), losses: 2},
		{severity: "critical", only: fmt.Sprintf(" >= %d", critical), losses: critical},
	}
	return slices.DeleteFunc(all, func(s flapStep) bool { return s.severity != "critical" && s.losses >= critical })
}

func railDegraded(b *builder) {
	down, state := portDown(b)
	if b.blind("no_topology") {
		return
	}
	rails := fmt.Sprintf("count by (device, port) (%s)", state)
	all := fabric(signals.NICState, 4, flat(4))
	dead := fabricDevice(signals.NICState, 4, "mlx5_0", step{4, 20}, step{1, 40}, step{4, 40})
	b.add(alert{
		reason: "no_topology", severity: "critical", kind: "rail", scope: "rail:{{ $labels.suspect_device }}", owner: "infrastructure", level: "device",
		hold: b.o.Limits.LeafRestart,
		evidence: fmt.Sprintf("max by (device) (%s and %s and on () (count(%s) == 1) and on () (count(%s) > 1))", rails, railwide(down, state), railwide(down, state),
			rails),
		summary: "are down on a majority of {{ $value }} hosts, other ports are well",
		next:    "find the switch of these ports and check ports, uplinks, firmware and power",
		test: testCase{
			fire: with(all, dead...), quiet: with(all, in(signals.NICState, "node0", "mlx5_0", step{4, 20}, step{1, 80})), about: "one port of the rail",
			at: 20, clear: 45, want: want{device: "mlx5_0", value: 4},
		},
	})
}

func leafRestart(b *builder) {
	down, state := portDown(b)
	if b.blind("burst_down") {
		return
	}
	all := fabric(signals.NICState, 4, flat(4))
	b.add(alert{
		reason: "burst_down", severity: "info", kind: "unknown", scope: "rail:{{ $labels.suspect_device }}", owner: "infrastructure", level: "device",
		evidence: fmt.Sprintf("max by (device) (%s)", railwide(down, state)),
		summary:  "went down together on {{ $value }} hosts: a switch restarts or is lost", next: "none if the restart was planned, otherwise read the switch log",
		test: testCase{
			fire:  with(all, fabricDevice(signals.NICState, 4, "mlx5_0", step{4, 20}, step{1, 6}, step{4, 40})...),
			quiet: with(all, in(signals.NICState, "node0", "mlx5_0", step{4, 20}, step{1, 80})), about: "one port alone",
			at: 12, clear: 16, want: want{device: "mlx5_0", value: 4},
		},
	})
}
