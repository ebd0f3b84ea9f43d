package rules

import (
	"fmt"
	"strings"

	"github.com/collwatch/collwatch/signals"
)

func pcieDegraded(b *builder) {
	for _, p := range []struct {
		id     signals.ID
		reason string
		full   float64
		bad    float64
	}{{signals.GPUPCIeWidth, "width", 16, 8}, {signals.GPUPCIeGen, "generation", 5, 1}} {
		link, util := b.need(p.id), b.need(signals.GPUUtil)
		if b.blind(p.reason) {
			continue
		}
		busy := b.record("gpu:"+p.id.String()+"_busy:last", "of busy GPUs: an idle one may lower its link", "%s > 0 and %s > %s", link, util, num(busyUtil))
		base := with(gpus(p.id, 2, flat(p.full)), gpus(signals.GPUUtil, 2, flat(1))...)
		quiet := with(with(base, gpu(p.id, "node0", 3, flat(p.bad))), gpu(signals.GPUUtil, "node0", 3, flat(0.1)))
		b.add(alert{
			reason: p.reason, severity: "critical", kind: "gpu", scope: "job", owner: "infrastructure", level: "gpu", hold: 2 * dcgmHold,
			evidence: fmt.Sprintf("%s < on (host) group_left () (%s * quantile by (host) (0.5, %s)) and on (host) (count by (host) (%s) >= 3)", busy, num(rateBelow), busy, busy),
			summary:  "has PCIe " + p.reason + " {{ $value }} under load, less than the other GPUs of the host",
			next:     "reseat, check the slot and the kernel message about limited PCIe bandwidth, reboot once, then replace",
			test: testCase{
				fire: with(base, gpu(p.id, "node0", 3, step{p.full, 20}, step{p.bad, 40}, step{p.full, 40})), quiet: quiet,
				about: "an idle GPU", at: 20, clear: 45, want: gpuOn("node0", 3, p.bad),
			},
		})
	}
}

func nvlinkDegraded(b *builder) {
	var kinds []string
	var parts []string
	for _, k := range []string{"recovery", "replay", "crc_flit"} {
		rd := reading{id: signals.NVLinkErrors, details: []string{k}}
		if e := b.normal(rd); e != "" {
			name := "gpu:nvlink_errors_" + k + ":rate" + span(rateWindow)
			b.put(name, e, "NVLink errors of kind "+k+" per second")
			parts = append(parts, fmt.Sprintf("(avg_over_time(%s[1h]) * 3600 > on () group_left () clamp_min(%d * quantile(0.5, avg_over_time(%s[1h]) * 3600), 1.5))",
				name, errorFactor, name))
			kinds = append(kinds, k)
		}
	}
	if len(parts) == 0 {
		b.need(signals.NVLinkErrors)
		b.blind("recovery_counter")
		return
	}
	expr := strings.Join(parts, " or ")
	rd := reading{id: signals.NVLinkErrors, details: kinds[:1]}
	all := gpusOf(rd, 2, flat(0))
	b.add(alert{
		reason: "recovery_counter", severity: "warning", kind: "gpu", scope: "job", owner: "infrastructure", level: "gpu", hold: b.o.Limits.ErrorsHold,
		evidence: expr, summary: "has {{ $value | humanize }} NVLink errors an hour", next: "reset the GPU at the next pause; replace it if this repeats",
		cite: "public practice: more than one recovery an hour is a ticket, more than ten are urgent",
		test: testCase{
			fire:  with(all, gpuOf(rd, "node0", 3, step{0, 20}, step{0.01, 160}, step{0, 300})),
			quiet: gpusOf(rd, 2, flat(0.01)), about: "every GPU has them: the link type's usual level", at: 85, clear: 170, want: gpuOn("node0", 3, 36),
		},
	})
}

func nodeRestart(b *builder) {
	boot := b.need(signals.HostBootTime)
	if b.blind("boot_time_changed") {
		return
	}
	b.add(alert{
		reason: "boot_time_changed", severity: "info", kind: "node", scope: "cluster", owner: "platform", level: "host",
		evidence: fmt.Sprintf("time() - %s < 900 and %s offset 20m", boot, boot),
		summary:  "booted {{ $value | humanizeDuration }} ago", next: "find out why the host restarted if that was not planned",
		test: testCase{
			fire:  []input{host(signals.HostBootTime, "node0", step{0, 60}, step{1800, 120})},
			quiet: []input{host(signals.HostBootTime, "node0", step{gone, 60}, step{1800, 120})}, about: "a new host", at: 32, clear: 60, want: want{host: "node0", value: 120},
		},
	})
}

// telemetryGap says that what reported before does not any more, in one alert.
func telemetryGap(b *builder) {
	var metrics []string
	for _, m := range []string{"node_boot_time_seconds", "DCGM_FI_DEV_GPU_UTIL", "node_amazonefa_tx_bytes", "rdma_port_info", "collwatch_nccl_process_info"} {
		if b.metric(m) {
			metrics = append(metrics, m)
		}
	}
	if len(metrics) == 0 || !b.metric("up") {
		b.missing = append(b.missing, signals.TargetUp)
	}
	if b.blind("exporter_down") {
		return
	}
	const name = "target:up_lost:last"
	var seen []string
	for _, m := range metrics {
		seen = append(seen, "count by (instance, job) (last_over_time("+m+"[15m]))")
	}
	recent := strings.Join(seen, " or ")
	b.record(name, "exporters that answered before and do not now; it refers to its own past", "up == 0 and on (instance, job) (%s or last_over_time(%s[10m]))", recent, name)
	up := func(h string, pts ...step) input { return raw("up", h, pts...) }
	alive := func(h string, pts ...step) input { return raw(metrics[0], h, pts...) }
	b.add(alert{
		reason: "exporter_down", severity: "info", kind: "unknown", scope: "cluster", owner: "platform", level: "cluster", hold: b.o.Limits.ErrorsHold,
		evidence: "count(" + name + ") > 0", summary: "{{ $value }} exporters stopped reporting; nothing is concluded about their hosts",
		next: "look at the exporter on the hosts that do not report",
		test: testCase{
			fire:  []input{up("node0", step{1, 20}, step{0, 60}, step{1, 40}), alive("node0", step{1, 20}, step{gone, 60}, step{1, 40})},
			quiet: []input{up("other0", flat(0))}, about: "a target that never had such series", at: 30, clear: 45, want: want{value: 1},
		},
	})
}
