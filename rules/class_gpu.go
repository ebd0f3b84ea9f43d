package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// The limits of the detectors. Power-capped GPUs of one job differ by 1 to 3 %
// of their clock.
const (
	clockBelow = 0.93 // with a reason
	busyUtil   = 0.5
)

// dcgmHold is three collections of dcgm-exporter at its default of 30 s: a
// value may be a minute old.
const dcgmHold = 90 * time.Second

func gpuThrottle(b *builder) {
	clock, util := b.need(signals.GPUSMClock), b.need(signals.GPUUtil)
	reasons, okR := b.has(signals.GPUClockReasons)
	events, okE := b.have(reading{id: signals.GPUClockEvents, details: []string{"hw_slowdown", "hw_thermal", "hw_power_brake"}})
	temp, okT := b.has(signals.GPUTemp)
	if b.blind("thermal") {
		return
	}
	group, busy := "host", fmt.Sprintf("(%s and %s > %s)", clock, util, num(busyUtil))
	if b.jobs {
		group, busy = "job_id", ofJob(busy)
	}
	c := b.record("gpu:gpu_sm_clock_busy:last", "clocks of busy GPUs, with the group in which they are compared", "%s", busy)
	low := func(than float64) string {
		return fmt.Sprintf("%s < on (%s) group_left () (%s * quantile by (%s) (0.5, %s)) and on (%s) (count by (%s) (%s) >= 4)", c, group, num(than), group, c, group,
			group, c)
	}
	var why []string
	fire := []input{}
	if okR {
		// Bits 0x8 slowdown, 0x20 and 0x40 thermal, 0x80 power brake of NVML's
		// clocks event reasons; 0x4 (power cap) is the normal state of a busy
		// GPU.
		bad := fmt.Sprintf("floor(%s / 8) %% 2 + floor(%s / 32) %% 2 + floor(%s / 64) %% 2 + floor(%s / 128) %% 2 > 0", reasons, reasons, reasons, reasons)
		bits := b.record("gpu:gpu_clock_reasons_bad:count", "reasons that slow a GPU down: hardware slowdown, heat, power brake", "%s", bad)
		why = append(why, fmt.Sprintf("(%s) and on (host, gpu) %s", low(clockBelow), bits))
		fire = with(fire, gpu(signals.GPUClockReasons, "node0", 3, step{0, 20}, step{0x48, 40}, step{0, 40}))
	}
	if okE {
		why = append(why, fmt.Sprintf("(%s) and on (host, gpu) (%s > 0)", low(clockBelow), events))
	}
	if okT {
		// Ten degrees above the same host's median: heat that the others do not
		// have, whatever the model allows.
		hot := fmt.Sprintf("(%s > on (host) group_left () (10 + quantile by (host) (0.5, %s)))", temp, temp)
		why = append(why, fmt.Sprintf("(%s) and on (host, gpu) %s", low(b.o.Limits.ThrottleClock), hot))
		fire = with(fire, gpu(signals.GPUTemp, "node0", 3, step{60, 20}, step{88, 40}, step{60, 40}))
	}
	if len(why) == 0 {
		b.need(signals.GPUClockReasons)
		b.blind("thermal")
		return
	}
	few := fmt.Sprintf("on (%s) (count by (%s) (%s) <= 0.5 * count by (%s) (%s))", group, group, low(clockBelow), group, c)
	base := with(gpus(signals.GPUSMClock, 2, flat(1.755e9)), gpus(signals.GPUUtil, 2, flat(1))...)
	slow := gpu(signals.GPUSMClock, "node0", 3, step{1.755e9, 20}, step{1.2e9, 40}, step{1.755e9, 40})
	quiet := with(with(base, gpus(signals.GPUClockReasons, 2, flat(0x4))...), gpus(signals.GPUTemp, 2, flat(88))...)
	b.add(alert{
		reason: "thermal", severity: "warning", kind: "gpu", scope: "job", owner: "infrastructure", level: "gpu", hold: dcgmHold,
		evidence: fmt.Sprintf("max by (host, gpu) ((%s) and %s)", strings.Join(why, " or "), few),
		summary:  "runs at {{ $value | humanize }}Hz, below its peers, and has a reason to",
		next:     "check cooling, power supply and memory temperature of this GPU; throttling alone is no reason to drain the host",
		test: testCase{
			fire: with(with(with(base, gpus(signals.GPUTemp, 2, flat(60))...), fire...), slow), quiet: quiet,
			about: "all GPUs at their power cap and warm, none below its peers", at: 20, clear: 45, want: gpuOn("node0", 3, 1.2e9),
		},
	})
}

// The Xid codes that are evidence against a GPU: memory, NVLink, and fatal bus
// or firmware errors. Codes of the application (13, 31, 43, 45) and contained
// memory errors (94) are not: 45 alone is what every aborted job leaves behind.
func badXids() []int { return []int{48, 61, 62, 63, 64, 74, 79, 92, 95, 119, 120} }

func gpuFault(b *builder) {
	xidFault(b)
	rowRemap(b)
	gpuLost(b)
}

func codes(format, sep string) string {
	var out []string
	for _, c := range badXids() {
		out = append(out, fmt.Sprintf(format, c))
	}
	return strings.Join(out, sep)
}

const nextXid = "check the kernel log for Xid messages and act by code: 79 reboot; 48, 64, 74, 95, 119, 120 reset the GPU"

// xidFault reads the count of the exporter's sliding window, and the sticky
// gauge by its change: the last code stays for days, so its value alone says
// nothing about now.
func xidFault(b *builder) {
	count, okC := b.have(reading{id: signals.GPUXidCount, keep: "xid"})
	last, okL := b.has(signals.GPUXid)
	var parts []string
	var tests []testCase
	if okC {
		parts = append(parts, fmt.Sprintf(`max by (host, gpu) (%s{xid=~"%s"} > 0)`, count, codes("%d", "|")))
		tests = append(tests, testCase{
			fire:  []input{xid("node0", 3, "79", step{0, 20}, step{1, 10}, step{0, 200})},
			quiet: []input{xid("node0", 3, "45", step{0, 20}, step{8, 10}, step{0, 200})}, about: "Xid 45, which an aborted job leaves behind", at: 14, clear: 90,
			want: gpuOn("node0", 3, 1),
		})
	}
	if okL {
		parts = append(parts, fmt.Sprintf("(%s) and %s != %s offset 5m", codes(last+" == %d", " or "), last, last))
		tests = append(tests, testCase{
			fire:  []input{gpu(signals.GPUXid, "node0", 3, step{0, 20}, step{79, 200})},
			quiet: []input{gpu(signals.GPUXid, "node0", 3, flat(79))}, about: "a code of last week that still stands", at: 12, clear: 90, want: gpuOn("node0", 3, 79),
		})
	}
	if len(parts) == 0 {
		b.need(signals.GPUXidCount)
		b.blind("xid")
		return
	}
	b.add(alert{
		reason: "xid", severity: "critical", kind: "gpu", scope: "job", owner: "infrastructure", level: "gpu", keep: time.Hour,
		evidence: strings.Join(parts, " or "), summary: "reported an Xid error of a hardware class (kept for an hour)", next: nextXid,
		test: tests[0], also: tests[1:],
	})
}

func rowRemap(b *builder) {
	failed := b.need(signals.GPURowRemapFailure)
	if b.blind("row_remap_failure") {
		return
	}
	b.add(alert{
		reason: "row_remap_failure", severity: "critical", kind: "gpu", scope: "job", owner: "infrastructure", level: "gpu", hold: dcgmHold,
		evidence: failed + " > 0", summary: "has used up its spare memory rows", next: "replace the GPU; memory errors can no longer be mapped away",
		test: testCase{
			fire:  with(gpus(signals.GPURowRemapFailure, 2, flat(0)), gpu(signals.GPURowRemapFailure, "node0", 3, step{0, 20}, step{1, 40}, step{0, 40})),
			quiet: gpus(signals.GPURowRemapFailure, 2, flat(0)), about: "no failure", at: 20, clear: 45, want: gpuOn("node0", 3, 1),
		},
	})
}

func gpuLost(b *builder) {
	util := b.need(signals.GPUUtil)
	if b.blind("gpu_lost") {
		return
	}
	const name = "gpu:gpu_fault_gpu_lost:evidence"
	base := gpus(signals.GPUUtil, 2, flat(0.9))
	var restart []input
	for g := range 4 {
		restart = with(restart, gpu(signals.GPUUtil, "node0", g, step{0.9, 40}, step{gone, 40}, step{0.9, 60}))
	}
	b.add(alert{
		reason: "gpu_lost", severity: "critical", kind: "gpu", scope: "job", owner: "infrastructure", level: "gpu", hold: dcgmHold,
		evidence: fmt.Sprintf("(%s offset 10m or last_over_time(%s[10m])) unless %s and on (host) (count by (host) (%s) >= 1)", util, name, util, util),
		summary:  "stopped reporting while the other GPUs of the host go on", next: nextXid,
		test: testCase{
			fire:  with(base, gpu(signals.GPUUtil, "node0", 3, step{0.9, 40}, step{gone, 40}, step{0.9, 60})),
			quiet: with(base, restart...), about: "the exporter restarts: all GPUs of the host are gone", at: 28, clear: 50, want: gpuOn("node0", 3, 0.9),
		},
	})
}
