package rules

import (
	"fmt"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// collectiveStall needs all clocks that are there to stand still and compute to
// have collapsed, while the job still holds its memory: that tells a hang from
// the end of a job. It names nobody: who is behind is for the daemon to say.
func collectiveStall(b *builder) {
	tx, mem := b.need(signals.NICTx), b.need(signals.GPUMemUsed)
	activity, id, collapsed := activityOfGPUs(b)
	if !b.jobs {
		b.missing = append(b.missing, signals.JobOnNode)
	}
	if b.blind("all_alike") {
		return
	}
	const stalled = "job:collective_stall_all_alike:evidence"
	sum := func(name, what, agg, s string) string {
		return b.record(name, what, "%s by (job_id) (%s)", agg, ofJob(s))
	}
	bytes := sum("job:nic_tx:sum", "bytes that the hosts of a job send per second", "sum", tx)
	work := sum("job:gpu_activity:avg", "how active the GPUs of a job are", "avg", activity)
	held := sum("job:gpu_mem_used:sum", "memory that the job holds", "sum", mem)
	// The usual level is the maximum of half an hour, and frozen while the job
	// stands, or a long stall would become usual.
	usual := func(s string) string {
		name := s[:len(s)-len(":sum")] + ":usual"
		return b.record(name, "its usual level; frozen while the job stands", "(max_over_time(%s[30m]) unless on (job_id) last_over_time(%s[2m])) or last_over_time(%s[5m])",
			s, stalled, name)
	}
	excuses := excusesOfJobs(b)
	hold := max(b.o.Limits.StallAlike-rateWindow, 2*b.o.Interval)
	alive := func(id signals.ID, v ...step) []input { return gpus(id, 4, v...) }
	busy := []step{{1e10, 60}, {0, 60}, {1e10, 60}}
	base := with(fabric(signals.NICTx, 4, busy...), alive(id, step{usualOf(id), 60}, step{usualOf(id) / 100, 60}, step{usualOf(id), 60})...)
	b.add(alert{
		reason: "all_alike", severity: "critical", kind: "unknown", scope: "job", owner: "unknown", level: "job", hold: hold,
		evidence: fmt.Sprintf("%s < 0.02 * (%s > %s) and %s < %s * %s and %s > 0.5 * %s%s", bytes, usual(bytes), num(trafficBusy), work, num(collapsed),
			usual(work), held, usual(held), excuses),
		summary: "stands still: no bytes, no computation, and memory is still held",
		next:    "before the watchdog kills the job collect RAS status twice, a stack dump of every rank and the flight recorder",
		cite:    "PyTorch's watchdog acts after 10 minutes by default; checkpoints are excused while tasks wait for storage",
		test: testCase{
			fire: with(base, alive(signals.GPUMemUsed, flat(7e10))...), quiet: with(base, alive(signals.GPUMemUsed, step{7e10, 60}, step{1e8, 60}, step{7e10, 60})...),
			about: "the job ended: its memory is free", at: 42, clear: 66, want: want{job: testJob, value: 0},
		},
	})
}

// activityOfGPUs is the best series that tells whether GPUs compute, and the part
// of its usual level below which they do not: a GPU that spins draws less than
// half of its power, and computes nothing.
func activityOfGPUs(b *builder) (name string, id signals.ID, collapsed float64) {
	for _, id := range []signals.ID{signals.GPUTensorActive, signals.GPUSMActive} {
		if name, ok := b.has(id); ok {
			return name, id, 0.1
		}
	}
	if name, ok := b.has(signals.GPUPower); ok {
		return name, signals.GPUPower, 0.5
	}
	return b.need(signals.GPUTensorActive), signals.None, 0.1
}

// excusesOfJobs takes out jobs of which a rank wrote its file a moment ago, and
// those that wait for storage.
func excusesOfJobs(b *builder) (out string) {
	if b.metric("node_textfile_mtime_seconds") && b.uname {
		out = fmt.Sprintf(" unless on (job_id) (min by (job_id) (%s) < 60)", ofJob(b.inspectorAge()))
	}
	if io, ok := b.has(signals.HostIOPressure); ok {
		out += fmt.Sprintf(" unless on (job_id) (max by (job_id) (%s) > 0.1)", ofJob(io))
	}
	return out
}

// usualOf is a plausible level of a busy GPU, for tests.
func usualOf(id signals.ID) float64 {
	if id == signals.GPUPower {
		return 600
	}
	return 0.4
}

func initStall(b *builder) {
	mem := b.need(signals.GPUMemUsed)
	if !b.metric("slurm_node_job") && !b.metric("kube_pod_labels") && !b.hasOwnJobs() {
		b.missing = append(b.missing, signals.JobOnNode)
	}
	times := timing(b)
	if b.blind("slow_init") {
		return
	}
	// 10 GB a GPU: a context alone takes half a gigabyte.
	held := gpus(signals.GPUMemUsed, 4, flat(7e10))
	limit := int(b.o.Limits.InitStall / time.Minute)
	b.add(alert{
		reason: "slow_init", severity: "warning", kind: "unknown", scope: "job", owner: "unknown", level: "job", hold: b.o.Limits.InitStall,
		evidence: fmt.Sprintf("avg by (job_id) (%s) > 1e10 unless on (job_id) last_over_time(%s[30m])", ofJob(mem), times),
		summary:  "holds memory and has not communicated yet", next: "look at the log of the job's first rank: rendezvous, name resolution, loading of the checkpoint",
		cite: "public practice allows 45 minutes for loading a large checkpoint",
		test: testCase{
			fire: with(held, rankAll(4, step{gone, 2*limit + 30}, step{0.006, 60})...), quiet: with(held, rankAll(4, step{gone, 20}, step{0.006, 160})...),
			about: "a job that communicates after ten minutes", at: limit + 10, clear: limit + 20, want: want{job: testJob, value: 7e10},
		},
	})
}

func (b *builder) hasOwnJobs() bool { return b.metric("DCGM_FI_DEV_GPU_UTIL") && b.metrics != nil }
