package exporter

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// Limits bound what is served, whatever is in the folder.
type Limits struct {
	Series     int // lines of the text format; communicators beyond are left out whole
	Peers      int // peers of a communicator, those with the most traffic
	SizeOctave int // width of a size class in powers of two
}

// DefaultLimits suits a node of 8 GPUs with a few dozen communicators each.
func DefaultLimits() Limits { return Limits{Series: 100_000, Peers: 32, SizeOctave: 1} }

// builder turns observations into samples.
type builder struct {
	m      *metrics
	limits Limits
	node   string

	out        *families
	taken      map[string]bool // label sets in use
	processes  map[string]*processTotals
	order      []string
	duplicates int
	capped     int
}

// processTotals adds up what processes with the same labels say: without a GPU's UUID several share one set.
type processTotals struct {
	labels             []*dto.LabelPair
	lastEvent          float64
	dropped            [dropKinds]uint64
	foreign, unmatched uint64
	capped             uint64
}

func newBuilder(m *metrics, limits Limits, node string) *builder {
	return &builder{
		m: m, limits: limits, node: node, out: newFamilies(), taken: map[string]bool{}, processes: map[string]*processTotals{},
	}
}

func (b *builder) process(o *Observation, wall float64, monoNow int64) {
	gpu, pci := onlyGPU(o.Comms)
	t := b.processTotals(o.JobID, gpu)
	base := t.labels
	if o.lastEventNs > 0 {
		t.lastEvent = max(t.lastEvent, wall-float64(monoNow-o.lastEventNs)*1e-9)
	}
	t.foreign += o.ForeignOps
	t.unmatched += o.Unmatched
	t.capped += uint64(o.Capped) + uint64(o.Failed)
	b.self(o, base, gpu, pci)
	for i := range o.Comms {
		c := &o.Comms[i]
		for j, n := range c.Drops {
			t.dropped[j] += n
		}
		t.unmatched += c.Unmatched
		if !b.comm(o, c) {
			t.capped++
		}
	}
}

func (b *builder) processTotals(job, gpu string) *processTotals {
	base := with(nil, "job_id", job, "node", b.node, "gpu", gpu)
	key := identity(base)
	t := b.processes[key]
	if t == nil {
		t = &processTotals{labels: base}
		b.processes[key] = t
		b.order = append(b.order, key)
	}
	return t
}

// heartbeat notes the time of the last sign of life that another source has seen.
func (b *builder) heartbeat(o *Observation, at float64) {
	t := b.processTotals(o.JobID, "")
	t.lastEvent = max(t.lastEvent, at)
}

// self serves the series that carry the pid. A process that ended in good order is no dead process.
func (b *builder) self(o *Observation, base []*dto.LabelPair, gpu, pci string) {
	labels := with(base, "pid", o.pid())
	if gpu == "" {
		labels = with(labels, "global_rank", number(o.GlobalRank))
	}
	if (o.Ended && !o.Alive) || b.take(labels, "process") {
		return
	}
	b.out.gauge(b.m.up, labels, truth(o.Alive))
	if o.Alive && o.StateKnown {
		b.out.gauge(b.m.stopped, labels, truth(o.Stopped))
	}
	b.out.gauge(b.m.startTime, labels, float64(o.Started.UnixMilli())/1000)
	if gpu != "" {
		labels = with(labels, "global_rank", number(o.GlobalRank))
	}
	b.out.gauge(b.m.info, with(labels, "local_rank", number(o.LocalRank), "pci_bus_id", pci,
		"version", o.Release, "abi", fmt.Sprintf("v%d", o.ABI), "mode", o.Mode, "mask", fmt.Sprintf("0x%x", o.Mask)), 1)
}

// pid is the process's number on the host, or the one it has in its own namespace.
func (o *Observation) pid() string {
	if o.HostPID != 0 {
		return strconv.FormatUint(uint64(o.HostPID), 10)
	}
	return strconv.FormatUint(uint64(o.PID), 10)
}

// nameless adds what tells the processes of a job apart where no GPU does: the rank in the job, else the pid. The rank in
// a communicator does not, because a process has another one in each.
func (o *Observation) nameless(labels []*dto.LabelPair) []*dto.LabelPair {
	if o.GlobalRank >= 0 {
		return with(labels, "global_rank", number(o.GlobalRank))
	}
	return with(labels, "pid", o.pid())
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// take notes a label set and says whether it was taken already.
func (b *builder) take(labels []*dto.LabelPair, kind string) bool {
	key := kind + identity(labels)
	if b.taken[key] {
		b.duplicates++
		return true
	}
	b.taken[key] = true
	return false
}

// comm serves one communicator; false if the limit on series does not allow it.
func (b *builder) comm(o *Observation, c *Comm) bool {
	labels := with(nil, "job_id", o.JobID, "node", b.node, "gpu", c.GPU, "rank", rankLabel(c.Rank), "comm", fmt.Sprintf("%016x", c.ID),
		"comm_name", c.Name, "nranks", count(c.NRanks), "n_nodes", count(c.NNodes))
	if c.GPU == "" {
		labels = o.nameless(labels)
	}
	if b.out.series+c.series(b.limits) > b.limits.Series {
		b.capped++
		return false
	}
	if b.take(labels, "comm") {
		return true
	}
	b.keys(c, labels)
	for _, in := range c.Inflight {
		b.inflight(in, labels, o.NowNs)
	}
	if c.Tracking() {
		b.idle(c, labels)
	}
	b.sequences(c, labels)
	if c.APICalls > 0 {
		b.out.counter(b.m.apiCalls, labels, float64(c.APICalls))
	}
	b.peers(c, labels)
	return true
}

// series estimates from above how many lines a communicator takes.
func (c *Comm) series(l Limits) int {
	return len(c.Keys)*(6+durationBuckets.series()+bandwidthBuckets.series()) + 2*len(c.Inflight) + 40 + min(len(c.Peers), l.Peers)*22
}

func (b *builder) inflight(in Inflight, labels []*dto.LabelPair, now int64) {
	l := with(labels, "op", in.Op, "state", in.State)
	b.out.gauge(b.m.age, l, max(0, float64(now-in.OldestNs)*1e-9))
	if in.P2P {
		b.out.gauge(b.m.agePeer, l, float64(in.OldestSeq))
		return
	}
	b.out.gauge(b.m.ageSeq, l, float64(in.OldestSeq))
}

// idle serves the three sums over all operations: a state that is empty is zero and not absent, so that "nothing hangs"
// can be told from "nobody looks".
func (b *builder) idle(c *Comm, labels []*dto.LabelPair) {
	for _, state := range []string{statePartial, stateQueued, stateRunning} {
		n := 0
		for _, in := range c.Inflight {
			if in.State == state {
				n += in.Count
			}
		}
		b.out.gauge(b.m.inflight, with(labels, "state", state), float64(n))
	}
}

func (b *builder) sequences(c *Comm, labels []*dto.LabelPair) {
	served := map[string]bool{}
	for i, name := range opNames {
		if served[name] || (c.EnqueuedSeq[i] == 0 && c.CompletedSeq[i] == 0) {
			continue
		}
		served[name] = true
		l := with(labels, "op", name)
		if !c.CompletedOnly {
			b.out.gauge(b.m.enqueuedSeq, l, float64(c.EnqueuedSeq[i]))
		}
		if c.Followed || c.CompletedSeq[i] != 0 {
			b.out.gauge(b.m.completedSeq, l, float64(c.CompletedSeq[i]))
		}
	}
}

func (b *builder) peers(c *Comm, labels []*dto.LabelPair) {
	peers := slices.Clone(c.Peers)
	if len(peers) > b.limits.Peers {
		slices.SortStableFunc(peers, func(x, y Peer) int { return cmpFloat(y.traffic(), x.traffic()) })
		peers = peers[:b.limits.Peers]
	}
	for _, p := range peers {
		rank := rankLabel(p.Rank)
		for d, dir := range p.Dir {
			l := with(labels, "peer", rank, "direction", directionNames[d])
			if dir.Ops > 0 {
				b.out.counter(b.m.peerBytes, l, float64(dir.Bytes))
				b.out.counter(b.m.peerOps, l, float64(dir.Ops))
			}
			if dir.ProxyStarted > 0 {
				b.out.counter(b.m.proxyStarted, l, float64(dir.ProxyStarted))
				b.out.counter(b.m.proxyEnded, l, float64(dir.ProxyEnded))
			}
			if !dir.stepsKnown {
				continue
			}
			for i, phase := range phaseNames[d] {
				lp := with(labels, "peer", rank, "direction", directionNames[d], "phase", phase)
				b.out.gauge(b.m.steps, lp, float64(dir.Steps[i]))
				b.out.counter(b.m.wait, lp, float64(dir.WaitNs[i])*1e-9)
			}
		}
	}
}

func (p *Peer) traffic() float64 {
	sum := 0.0
	for _, d := range p.Dir {
		sum += float64(d.Bytes) + float64(d.ProxyStarted)
		for _, n := range d.Steps {
			sum += float64(n) * 1e18 // a peer that somebody waits for now must not fall under the limit
		}
	}
	return sum
}

// totals serves what was added up over processes.
func (b *builder) totals() {
	for _, key := range b.order {
		t := b.processes[key]
		if t.lastEvent > 0 {
			b.out.gauge(b.m.lastEvent, t.labels, math.Round(t.lastEvent*1000)/1000)
		}
		for i, n := range t.dropped {
			b.out.counter(b.m.dropped, with(t.labels, "reason", dropNames[i]), float64(n))
		}
		b.out.counter(b.m.foreign, t.labels, float64(t.foreign))
		b.out.counter(b.m.unmatched, t.labels, float64(t.unmatched))
		b.out.gauge(b.m.capped, t.labels, float64(t.capped))
	}
}
