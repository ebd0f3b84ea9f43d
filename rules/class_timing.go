package rules

import (
	"fmt"

	"github.com/collwatch/collwatch/signals"
)

// timing is the execution time of collectives per member, in seconds, from the
// best source. It contains waiting for peers: the rank that arrives late has
// the shortest time.
func timing(b *builder) string {
	const name = "rank:coll_exec_time:last"
	if b.metric("collwatch_nccl_busy_seconds_total") && b.metric("collwatch_nccl_ops_completed_total") {
		by := "job_id, host, gpu, comm, op, size, nranks, n_nodes, algo"
		half := func(metric string) string {
			v := fmt.Sprintf("sum by (job_id, node, gpu, comm, op, size_class, nranks, n_nodes, algo) (rate(%s[%s]))", metric, span(rateWindow))
			return fmt.Sprintf("sum by (%s) (%s)", by, relabel(relabel(v, "host", "node", hostPattern, "$1"), "size", "size_class", "(.+)", "$1"))
		}
		own := relabel(half("collwatch_nccl_busy_seconds_total")+" / ("+half("collwatch_nccl_ops_completed_total")+" > 0)", "gpu", "gpu", gpuPattern, "GPU$1")
		if rest := b.normal(reading{id: signals.CollExecTime}); rest != "" {
			own += " or on (host) " + b.fresh(rest)
		}
		return b.share(name, "coll_exec_time in s; contains waiting for peers", "%s", own)
	}
	rest := b.normal(reading{id: signals.CollExecTime})
	if rest == "" {
		return b.need(signals.CollExecTime)
	}
	return b.share(name, "coll_exec_time in s; contains waiting for peers", "%s", b.fresh(rest))
}

// inspectorFiles is the name of the files that Inspector writes.
const inspectorFiles = `file=~".*nccl_inspector_metrics_.*"`

// fresh drops times of hosts whose Inspector files stand still for two dumps:
// in a hang, and after a kill, the last healthy values are served for ever.
func (b *builder) fresh(expr string) string {
	if !b.metric("node_textfile_mtime_seconds") || !b.uname {
		return expr
	}
	age := b.inspectorAge()
	return fmt.Sprintf("(%s) unless on (host) (%s > 90)", expr, age)
}

// inspectorAge records the age of the youngest Inspector file of a host.
func (b *builder) inspectorAge() string {
	return b.share("host:inspector_age:min", "age of the youngest Inspector file of a host, in s: the only honest clock of its series",
		"time() - max by (host) (node_textfile_mtime_seconds{%s} * on (instance) group_left (host) %s)", inspectorFiles, hostMap)
}

// lateGroup is what must be equal for members to be compared.
const lateGroup = "job_id, comm, op, size, nranks, n_nodes, algo"

func stragglerCompute(b *builder) {
	times := timing(b)
	if b.blind("unexplained") {
		return
	}
	// A ratio of 0.7 in four disjoint minutes named nobody on a recorded job
	// whose sequence lengths are random, where three single dumps did.
	smooth := b.record("rank:coll_exec_time:avg1m", "over two dumps, between hosts, for operations that all members end together; pipelines are left out, since "+
		"their stages differ by design", `avg_over_time(%s{n_nodes!="1",op=~"AllReduce|ReduceScatter|AllGather"}[1m])%s`, times, b.unlessPiped())
	median := fmt.Sprintf("quantile by (%s) (0.5, %s)", lateGroup, smooth)
	low := b.record("rank:coll_exec_time_low:ratio", "members that wait far less than the median of at least five",
		"(%s / on (%s) group_left () %s) < 0.7 and on (%s) (count by (%s) (%s) >= 5) and %s + 250e-6 < on (%s) group_left () %s",
		smooth, lateGroup, median, lateGroup, lateGroup, smooth, smooth, lateGroup, median)
	// Members behind a slow GPU are late with it, so its whole host is left to
	// the class that knows about clocks.
	no := ""
	if c, ok := b.has(signals.GPUSMClock); ok {
		no = fmt.Sprintf(" unless on (host) (%s < on (host) group_left () (%s * quantile by (host) (0.5, %s)))", c, num(clockBelow), c)
	}
	late := b.record("rank:coll_exec_time_low_once:ratio", "the same, once for each GPU, and only while all of them are on one host",
		"min by (job_id, host, gpu) (%s) and on (job_id) (count by (job_id) (count by (job_id, host) (%s)) == 1)%s", low, low, no)
	lates := fmt.Sprintf("count by (job_id, host) (%s)", late)
	all := fmt.Sprintf("count by (job_id, host) (count by (job_id, host, gpu) (%s))", smooth)
	base := collectives(6, flat(0.006))
	const (
		next = "look at what else runs on the host: CPU, memory, data loading; the rank with the longest time is a victim"
		cite = "in a collective the late rank has the shortest time (late-arrival inversion)"
		says = "waits only {{ $value | humanizePercentage }} of what its peers wait: they wait for it"
	)
	b.add(alert{
		reason: "unexplained", severity: "warning", kind: "rank", scope: "job", owner: "unknown", level: "rank", hold: b.o.Interval * 10,
		evidence: fmt.Sprintf("%s and on (job_id, host) (%s == 1)", late, lates), summary: says, next: next, cite: cite,
		test: testCase{
			fire:  with(base, rank("node0", step{0.006, 20}, step{0.002, 60}, step{0.006, 60})),
			quiet: with(base, rank("node0", step{0.006, 20}, step{0.012, 60}, step{0.006, 60})), about: "the longest time: a victim, never named", at: 30, clear: 50,
			want: want{host: "node0", gpu: "GPU0", job: testJob, value: 1.0 / 3},
		},
	})
	var pairs []input // two GPUs on each host
	for _, h := range nodes(6) {
		pairs = with(pairs, rankOf(h, 0, flat(0.006)), rankOf(h, 1, flat(0.006)))
	}
	slow := []step{{0.006, 20}, {0.002, 60}, {0.006, 60}}
	lateHost := with(pairs, rankOf("node0", 0, slow...), rankOf("node0", 1, slow...))
	some := with(lateHost, rankOf("node0", 2, flat(0.006)))
	b.add(alert{
		reason: "unexplained", severity: "warning", kind: "node", scope: "job", owner: "unknown", level: "host", hold: b.o.Interval * 10,
		evidence: fmt.Sprintf("max by (host) (min by (job_id, host) (%s) and on (job_id, host) (%s > 1 and %s == %s))", late, lates, lates, all),
		summary:  "is late with all its GPUs: they wait only {{ $value | humanizePercentage }} of what its peers wait", next: next, cite: cite,
		test: testCase{
			fire: lateHost, quiet: some, about: "some GPUs of a host and not all: candidates, nobody is named", at: 30, clear: 50,
			want: want{host: "node0", value: 1.0 / 3},
		},
	})
}

// transferGroup is what must be equal for members to share a transfer time. By
// the index of the GPU, since exporters that do not tell communicators apart put
// all rails into one.
const transferGroup = lateGroup + ", gpu"

// transferLevel records how long the transfer of each communicator's operations
// takes, which is the least time of its members, and its usual level. It returns
// "" if nobody offers times.
func transferLevel(b *builder) (series string, usual smooth) {
	times := timing(b)
	if times == "" {
		return "", smooth{}
	}
	series = b.share("comm:coll_transfer:min", "the least time of a member, in s: what an operation takes when nobody is late", "min by (%s) (%s) > 0", transferGroup, times)
	return series, b.smoothed(series, "")
}

// unlessPiped leaves out jobs with pipelines.
func (b *builder) unlessPiped() string {
	if b.metric("nccl_p2p_exec_time_microseconds") {
		return ` unless on (job_id) label_replace(nccl_p2p_exec_time_microseconds, "job_id", "$1", "slurm_job_id", "(.+)")`
	}
	return ""
}

func computeCommContention(b *builder) {
	transfer, usual := transferLevel(b)
	dram, sm := b.need(signals.GPUDRAMActive), b.need(signals.GPUSMActive)
	if !b.jobs {
		b.missing = append(b.missing, signals.JobOnNode)
	}
	if b.blind("sm_sharing") {
		return
	}
	const evidence = "job:compute_comm_contention_sm_sharing:evidence"
	// A rise of a tenth is inside of the band of most jobs, so what the alert
	// compares is not learnt while it stands.
	held := fmt.Sprintf("on (job_id) last_over_time(%s[2m])", evidence)
	up := func(what, s string) string {
		name := b.share("job:"+what+":avg", "its mean over the GPUs of a job", "avg by (job_id) (%s) > 0", ofJob(s))
		return b.smoothed(name, held).perUsual
	}
	d, m := up("gpu_dram_active", dram), up("gpu_sm_active", sm)
	slow := b.record("job:coll_transfer_per_usual:ratio", "how much slower than usual a job communicates, where nine in ten of its communicators are above their band",
		"quantile by (job_id) (0.1, %s / %s) and on (job_id) (count by (job_id) (%s > %s) >= 0.9 * count by (job_id) (%s))",
		transfer, usual.usual, transfer, usual.upper, transfer)
	base := with(collectives(4, step{0.004, 80}, step{0.006, 40}, step{0.004, 60}), gpus(signals.GPUSMActive, 4, step{0.6, 80}, step{0.7, 40}, step{0.6, 60})...)
	b.add(alert{
		reason: "sm_sharing", severity: "info", kind: "job", scope: "job", owner: "workload", level: "job", hold: b.o.Limits.ErrorsHold,
		evidence: fmt.Sprintf("%s > 1.15 and exp(%s) > 1.05 and exp(%s) > 1.05", slow, d, m),
		summary:  "communicates {{ printf \"%.1f\" $value }} times slower on all hosts while SM and DRAM activity rose: computation and communication are in each other's way",
		next:     "look at the overlap settings, the number of NCCL channels and CUDA_DEVICE_MAX_CONNECTIONS; no host is to blame",
		cite:     "the direction decides: a slow network lowers DRAM activity, contention raises it",
		test: testCase{
			fire:  with(base, gpus(signals.GPUDRAMActive, 4, step{0.3, 80}, step{0.36, 40}, step{0.3, 60})...),
			quiet: with(base, gpus(signals.GPUDRAMActive, 4, step{0.3, 80}, step{0.2, 40}, step{0.3, 60})...), about: "DRAM activity fell: a slow network", at: 50, clear: 72,
			want: want{job: testJob, value: 1.5},
		},
	})
}
