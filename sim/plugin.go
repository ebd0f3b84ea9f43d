package sim

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// firstPID is the process of the first rank of the first job.
const firstPID = 20_000

// counted is what the collwatch plugin counts of one member and operation.
type counted struct{ ops, busy float64 }

func (k *counted) add(n, seconds float64) { k.ops, k.busy = k.ops+n, k.busy+n*seconds }

// pluginRefs are the series of one member and operation.
type pluginRefs struct {
	ops, busy, bytes, enqueued, done, inflight, age ref
	labels                                          []string // of the communicator and member
	kind                                            []string // and of the operation
}

// emitPlugin is collwatch-exporter on one host: counters per rank and
// communicator, sequence numbers and what is in flight. They are read from
// shared memory, so a rank that hangs or was killed still answers, and one that
// left in good order does not.
func (h *Host) emitPlugin(t *target, now int64) {
	j := h.job
	if j == nil || j.phase == jobInit || j.phase == jobWaiting || j.phase == jobOver {
		return
	}
	for r := range j.ranks {
		g := j.ranks[r].gpu
		if g.host != h || g.pinned && g.state == gpuIdle && !g.killed {
			continue
		}
		process := []string{"job_id", j.Spec.ID, "node", h.c.opt.Dialect.node(h.Name), "gpu", g.UUID}
		last := now
		switch j.phase {
		case jobHung:
			last = j.phaseEnd
		case jobCheckpoint:
			last = j.stepEnd
		}
		up := 1.0
		if g.killed {
			up = 0
		}
		pid := append(slices.Clip(process), "pid", strconv.Itoa(firstPID+len(j.ranks)*j.index()+r))
		t.put(&j.ranks[r].up, up, "collwatch_nccl_process_up", pid...)
		t.put(&j.ranks[r].stopped, 0, "collwatch_nccl_process_stopped", pid...)
		t.put(&j.ranks[r].heartbeat, float64(last)/1000, "collwatch_nccl_last_event_timestamp_seconds", process...)
		for _, cs := range j.comms {
			if cs.of[r] < 0 {
				continue
			}
			j.emitMember(t, now, cs, r, false)
			if cs.send != nil {
				j.emitMember(t, now, cs, r, true)
			}
		}
	}
}

func (j *Job) emitMember(t *target, now int64, cs *commState, r int, send bool) {
	side := 0
	if send {
		side = 1
	}
	if cs.plugin[side] == nil {
		cs.plugin[side] = make([]pluginRefs, len(j.ranks))
	}
	o, k := &cs.plugin[side][r], &cs.counts[side][r]
	if o.labels == nil {
		o.labels, o.kind = j.pluginLabels(cs, r, send)
	}
	const p = "collwatch_nccl_"
	t.put(&o.ops, k.ops, p+"ops_completed_total", o.kind...)
	t.put(&o.bytes, k.ops*cs.payload(), p+"bytes_total", o.kind...)
	t.put(&o.busy, k.busy, p+"busy_seconds_total", append(slices.Clip(o.kind), "timing", "gpu")...)
	if cs.pipe != nil || j.numberedBy(cs) != cs {
		return
	}
	done := float64(cs.seq[cs.of[r]])
	enqueued, waits := done, j.phase == jobHung && j.ranks[r].gpu.state == gpuWaiting
	if waits {
		enqueued++
	}
	seq := append(slices.Clip(o.labels), "op", cs.spec.Op)
	t.put(&o.enqueued, enqueued, p+"last_enqueued_seq", seq...)
	t.put(&o.done, done, p+"last_completed_seq", seq...)
	if waits {
		state := append(seq, "state", "running")
		t.put(&o.inflight, 1, p+"inflight_ops", append(slices.Clip(o.labels), "state", "running")...)
		t.put(&o.age, float64(now-j.phaseEnd)/1000, p+"oldest_inflight_age_seconds", state...)
	}
}

// numberedBy is the kind that speaks for the sequence numbers of a communicator
// and operation: sizes share them.
func (j *Job) numberedBy(cs *commState) *commState {
	i := slices.IndexFunc(j.comms, func(o *commState) bool { return o.spec.Group == cs.spec.Group && o.spec.Op == cs.spec.Op })
	return j.comms[i]
}

// payload is what the plugin counts as bytes of an operation: the whole
// message, where the Inspector shows the share of a rank.
func (cs *commState) payload() float64 {
	switch cs.spec.Op {
	case "ReduceScatter", "AllGather":
		return float64(cs.spec.Size) * float64(len(cs.groups[0]))
	}
	return float64(cs.spec.Size)
}

func (j *Job) pluginLabels(cs *commState, r int, send bool) (member, kind []string) {
	g := cs.of[r]
	rank := 0
	for i, m := range cs.groups[g] {
		if int(m) == r {
			rank = i
		}
	}
	op := cs.spec.Op
	if send {
		op = "Send"
	}
	name := cs.spec.Name
	if j.Spec.CommName != "" {
		name = j.Spec.CommName
	}
	d := j.ranks[r].gpu
	member = []string{
		"job_id", j.Spec.ID, "node", j.c.opt.Dialect.node(d.host.Name), "gpu", d.UUID, "rank", strconv.Itoa(rank),
		"comm", fmt.Sprintf("%016x", uint64(0x7f3a00000000)+uint64(j.index())<<24+uint64(cs.spec.Group)<<16+uint64(g)), "comm_name", name,
		"nranks", strconv.Itoa(len(cs.groups[g])), "n_nodes", strconv.Itoa(int(cs.nodes[g])),
	}
	algo, proto, _ := strings.Cut(cs.spec.Algo, "_")
	size := uint64(math.Max(1, cs.payload()))
	kind = append(slices.Clip(member), "op", op, "size_class", strconv.FormatUint(1<<bits.Len64(size-1), 10))
	if cs.pipe == nil {
		kind = append(kind, "algo", algo, "proto", proto)
	}
	return member, kind
}
