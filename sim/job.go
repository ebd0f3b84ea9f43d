package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Layout is how the ranks of a job are cut. Tensor-parallel neighbours are next
// to each other, then come the data-parallel replicas, then the pipeline stages:
// rank = tp + TP·(dp + DP·pp).
type Layout struct {
	TP, DP, PP int
	// EP is the size of expert-parallel groups, neighbours among the replicas;
	// 0 for none.
	EP int
}

// GroupKind says which ranks form a communicator.
type GroupKind uint8

// Kinds of groups.
const (
	GroupTP    GroupKind = iota // tensor-parallel: equal dp and pp
	GroupDP                     // data-parallel: equal tp and pp
	GroupPP                     // pipeline: equal tp and dp
	GroupEP                     // expert-parallel
	GroupWorld                  // all ranks
)

// Comm is one kind of operation of one kind of communicator.
type Comm struct {
	Group GroupKind
	Name  string // what the framework calls the communicator, "" for unknown
	Op    string
	Size  int64 // bytes of the operation as the profiler shows it
	Ops   int   // per step
	Algo  string
	// Bandwidth is the healthy bus bandwidth in GB/s. For AllToAll, whose
	// exported bandwidth is always 0, it is that of an all-gather of the size.
	Bandwidth float64
	NVLink    bool // stays inside an NVLink domain
	// Only are the GPU indexes that do it, nil for all.
	Only []int
}

// Pipe is a pipeline pass of micro-batches through the stages.
type Pipe struct {
	Micro   int
	Size    int64   // bytes sent per micro-batch
	Latency float64 // s, healthy transfer
	// Heavy multiplies the compute of the last stage.
	Heavy float64
	// Compute is the total of a rank per step, s.
	Compute float64
}

// Phase is a part of a step. Exactly one field is set.
type Phase struct {
	Compute float64 // s per rank at full clock
	Comm    *Comm
	Pipe    *Pipe
}

// JobSpec describes a training job.
type JobSpec struct {
	ID     string
	Hosts  []int // indexes; nil is all
	Layout Layout
	Phases []Phase
	// NICPerStep is what each NIC sends and receives per step, in bytes.
	NICPerStep float64
	// StartAt and EndAt are seconds from the beginning; a job that starts at 0
	// is taken to have run for long. EndAt 0 means that it goes on.
	StartAt, EndAt float64
	// Kill ends it without a clean exit: its files stay.
	Kill bool
	// InitFor is how long compile and first step take, for StartAt above 0.
	InitFor float64
	// NICs is the number of GPUs with a NIC in use; 0 is all.
	NICs int
	// Version of the profiler, "v5.1" if empty.
	Version string
	// CommName overrides all communicator names.
	CommName string
}

type jobPhase uint8

const (
	jobWaiting jobPhase = iota // not started
	jobInit
	jobTraining
	jobCheckpoint
	jobHung
	jobOver
)

// Job is a running JobSpec.
type Job struct {
	Spec  JobSpec
	c     *Cluster
	hosts []*Host
	ranks []rank
	comms []*commState
	rng   *rand.Rand
	phase jobPhase

	start, stepStart, stepEnd int64 // ms
	steps                     int64
	healthyStep               float64 // s
	base                      float64 // share of a healthy step that a rank computes
	windows                   int     // dumps since the start, for the slow first ones
	arrival, computed, path   []float64
	shift                     []float64 // s by which all of a rank's work is late in this step
	pauses                    []pause

	// CommFactor and OpsFactor let faults of the whole job act: bandwidth and
	// compute of all members.
	CommFactor, ComputeFactor float64
	// SMFactor and DRAMFactor act on the activity of all GPUs of the job.
	SMFactor, DRAMFactor, TensorFactor float64
	checkpoint                         *Checkpoint
	nextCheckpoint, phaseEnd           int64
	stepRefs                           [2]ref
	lastStep                           float64 // s
}

// Checkpoint makes a job write its state to storage at intervals.
type Checkpoint struct {
	First, Every, For, Jitter float64 // s
	// Bare leaves out the signature: no io pressure, storage card idle.
	Bare bool
}

// pause is time that one operation of a group lost in the current step.
type pause struct {
	comm, group int
	seconds     float64
}

type rank struct {
	gpu     *GPU
	dp, pp  int
	compute ar1
	// up, stopped and heartbeat are series of the collwatch exporter.
	up, stopped, heartbeat ref
}

// commState is the groups of one Comm and what their members measured.
type commState struct {
	spec    Comm
	groups  [][]int32
	nodes   []int32 // NVLink domains of each group
	of      []int32 // group of each rank, -1 for none
	noise   []ar1   // per group
	acc     []window
	send    []window        // pipeline only: acc is the receive side
	seq     []int64         // per group
	counts  [2][]counted    // per rank: collectives or receives, and sends
	plugin  [2][]pluginRefs // the same
	lastOp  []float64       // s per operation in the current step, per rank
	pipe    *Pipe
	busSize float64 // bytes × bus factor
	base    float64 // healthy seconds per operation
}

func newJob(c *Cluster, spec JobSpec) *Job {
	j := &Job{Spec: spec, c: c, rng: stream(c.opt.Seed, "job "+spec.ID), CommFactor: 1, ComputeFactor: 1, SMFactor: 1, DRAMFactor: 1, TensorFactor: 1}
	if spec.Hosts == nil {
		j.hosts = c.Hosts
	} else {
		for _, h := range spec.Hosts {
			j.hosts = append(j.hosts, c.Hosts[h])
		}
	}
	per := c.shape.GPUs
	n := len(j.hosts) * per
	l := spec.Layout
	if n != l.TP*l.DP*l.PP {
		panic(fmt.Sprintf("job %s: %d ranks do not fit TP %d × DP %d × PP %d", spec.ID, n, l.TP, l.DP, l.PP))
	}
	j.ranks = make([]rank, n)
	for r := range j.ranks {
		j.ranks[r] = rank{gpu: j.hosts[r/per].GPUs[r%per], dp: r / l.TP % l.DP, pp: r / (l.TP * l.DP)}
	}
	j.arrival, j.computed, j.path, j.shift = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	compute := 0.0
	for _, p := range spec.Phases {
		switch {
		case p.Comm != nil:
			j.addComm(*p.Comm, nil)
		case p.Pipe != nil:
			j.addComm(Comm{Group: GroupPP, Name: "PP Group", Op: "Recv", Size: p.Pipe.Size, Ops: p.Pipe.Micro, Algo: "RING_SIMPLE", Bandwidth: float64(p.Pipe.Size) / p.Pipe.Latency / 1e9}, p.Pipe)
			compute += p.Pipe.Compute
		default:
			compute += p.Compute
		}
	}
	j.healthyStep = j.healthy()
	j.base = compute / j.healthyStep
	return j
}

func (j *Job) addComm(spec Comm, pipe *Pipe) {
	cs := &commState{spec: spec, pipe: pipe, of: make([]int32, len(j.ranks)), acc: make([]window, len(j.ranks)), counts: [2][]counted{make([]counted, len(j.ranks))}, lastOp: make([]float64, len(j.ranks))}
	if pipe != nil {
		cs.send, cs.counts[1] = make([]window, len(j.ranks)), make([]counted, len(j.ranks))
	}
	index := map[int]int32{}
	l := j.Spec.Layout
	for r := range j.ranks {
		if cs.of[r] = -1; spec.Only != nil && !slices.Contains(spec.Only, j.ranks[r].gpu.Index) {
			continue
		}
		tp, dp, pp := r%l.TP, j.ranks[r].dp, j.ranks[r].pp
		key := 0
		switch spec.Group {
		case GroupTP:
			key = dp + l.DP*pp
		case GroupDP:
			key = tp + l.TP*pp
		case GroupPP:
			key = tp + l.TP*dp
		case GroupEP:
			key = tp + l.TP*(dp/max(1, l.EP)+l.DP*pp)
		case GroupWorld:
		}
		g, ok := index[key]
		if !ok {
			g = int32(len(cs.groups))
			index[key] = g
			cs.groups = append(cs.groups, nil)
		}
		cs.groups[g] = append(cs.groups[g], int32(r))
		cs.of[r] = g
	}
	cs.noise, cs.seq = make([]ar1, len(cs.groups)), make([]int64, len(cs.groups))
	for g, members := range cs.groups {
		domains := map[int]bool{}
		for _, r := range members {
			domains[j.c.shape.domainOf(j.ranks[r].gpu.host.Index)] = true
		}
		cs.nodes = append(cs.nodes, int32(len(domains)))
		cs.seq[g] = 90000
	}
	cs.busSize = float64(spec.Size) * busFactor(spec.Op, len(cs.groups[0]))
	cs.base = cs.busSize / (spec.Bandwidth * 1e9)
	j.comms = append(j.comms, cs)
}

// busFactor is bytes on the busiest hop per byte of message, as nccl-tests
// defines bus bandwidth; AllToAll counts as an all-gather here, for its time
// only.
func busFactor(op string, n int) float64 {
	switch op {
	case "AllReduce":
		return 2 * float64(n-1) / float64(n)
	case "ReduceScatter", "AllGather", "AllToAll":
		return float64(n - 1)
	default:
		return 1
	}
}

// healthy is the step time without any noise or fault.
func (j *Job) healthy() float64 {
	t := 0.0
	for _, p := range j.Spec.Phases {
		switch {
		case p.Comm != nil:
			t += float64(p.Comm.Ops) * float64(p.Comm.Size) * busFactor(p.Comm.Op, j.groupSize(p.Comm.Group)) / (p.Comm.Bandwidth * 1e9)
		case p.Pipe != nil:
			n := float64(p.Pipe.Micro)
			t += p.Pipe.Compute * (n + float64(j.Spec.Layout.PP) - 1) / n * max(1, p.Pipe.Heavy)
		default:
			t += p.Compute
		}
	}
	return t
}

func (j *Job) groupSize(k GroupKind) int {
	l := j.Spec.Layout
	switch k {
	case GroupTP:
		return l.TP
	case GroupDP:
		return l.DP
	case GroupPP:
		return l.PP
	case GroupEP:
		return l.EP
	default:
		return l.TP * l.DP * l.PP
	}
}

// relabel makes the next dumps carry the changed sizes and algorithms.
func (j *Job) relabel() {
	for _, cs := range j.comms {
		cs.plugin = [2][]pluginRefs{}
	}
	for _, h := range j.hosts {
		for i := range h.files {
			h.files[i].keys = nil
		}
	}
}
