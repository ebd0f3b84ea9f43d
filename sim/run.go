package sim

import (
	"container/heap"
	"context"
	"time"
)

type event struct {
	t     int64
	order int // of events at one instant: state before what observes it
	seq   int64
	do    func()
}

// queue is a heap of events by time; ties are broken by order and then by the
// order of arrival, so that a run is reproducible.
type queue struct {
	list []event
	seq  int64
}

func (q *queue) Len() int { return len(q.list) }
func (q *queue) Less(a, b int) bool {
	x, y := &q.list[a], &q.list[b]
	if x.t != y.t {
		return x.t < y.t
	}
	if x.order != y.order {
		return x.order < y.order
	}
	return x.seq < y.seq
}
func (q *queue) Swap(a, b int) { q.list[a], q.list[b] = q.list[b], q.list[a] }
func (q *queue) Push(x any)    { q.list = append(q.list, x.(event)) }
func (q *queue) Pop() any {
	e := q.list[len(q.list)-1]
	q.list[len(q.list)-1] = event{}
	q.list = q.list[:len(q.list)-1]
	return e
}

func (c *Cluster) at(t int64, order int, do func()) {
	c.queue.seq++
	heap.Push(&c.queue, event{t: t, order: order, seq: c.queue.seq, do: do})
}

// every calls do at phase, phase+interval and so on.
func (c *Cluster) every(phase, interval int64, order int, do func()) {
	t := c.start + phase
	var again func()
	again = func() {
		do()
		t += interval
		c.at(t, order, again)
	}
	c.at(t, order, again)
}

// Orders of events at one instant.
const (
	orderState = iota
	orderFault
	orderStep
	orderDump
	orderScrape
)

// schedule starts the clocks of dumps, collections and scrapes, each target on
// a phase of its own.
func (c *Cluster) schedule() {
	rng := stream(c.opt.Seed, "phases")
	node, gpu, dump := c.opt.NodeScrape.Milliseconds(), c.opt.GPUScrape.Milliseconds(), c.opt.Dump.Milliseconds()
	d := c.opt.Dialect
	c.every(0, 1000, orderFault, c.faultTick)
	for _, h := range c.Hosts {
		h.phase = rng.Int64N(dump)
		nodePhase, gpuPhase, collect := rng.Int64N(node), rng.Int64N(gpu), rng.Int64N(30_000)
		if d.Inspector != "" {
			c.every(h.phase, dump, orderDump, h.dump)
		}
		h.node = &target{c: c, host: h, kind: "node", job: "node", instance: d.instance(h.Name, "9100"), interval: node, emit: h.emitNode, down: func() bool { return h.NodeDown }}
		c.add(h.node, nodePhase)
		if d.HostLabel != "" {
			c.every(collect, 30_000, orderDump, h.collect)
			h.dcgm = &target{c: c, host: h, kind: "dcgm", job: "dcgm", instance: d.instance(h.Name, "9400"), interval: gpu, emit: h.emitDCGM, down: func() bool { return h.DCGMDown }}
			c.add(h.dcgm, gpuPhase)
		}
		if d.Plugin {
			c.add(&target{c: c, host: h, kind: "collwatch", job: "collwatch", instance: d.instance(h.Name, "9436"), interval: node, emit: h.emitPlugin}, stream(c.opt.Seed, "plugin "+h.Name).Int64N(node))
		}
		if d.Pause == "rdma_exporter" {
			c.add(&target{c: c, host: h, kind: "rdma", job: "rdma", instance: d.instance(h.Name, "9879"), interval: node, emit: h.emitRDMA}, rng.Int64N(node))
		}
	}
	if d.Switches != "" {
		c.addSwitches(rng.Int64N(node), node)
	}
	if d.JobMap {
		c.scheduler = &target{c: c, kind: "slurm", job: "slurm", instance: d.instance("ctl", "8080"), interval: node, emit: c.emitSlurm}
		c.add(c.scheduler, rng.Int64N(node))
	}
	if d.NodeLabels {
		c.add(&target{c: c, kind: "kube", job: "kube-state-metrics", instance: d.instance("kube", "8080"), interval: node, emit: c.emitNodeLabels}, rng.Int64N(node))
	}
	if d.StepTime {
		c.trainer = &target{c: c, kind: "trainer", job: "trainer", instance: d.instance("trainer", "8000"), interval: node, emit: c.emitTrainer}
		c.add(c.trainer, rng.Int64N(node))
	}
	if d.Inspector == "G3" {
		c.add(&target{c: c, kind: "otel", job: "nccl-profiles", instance: d.instance("otel-collector", "8889"), interval: 30_000, emit: c.emitG3}, rng.Int64N(30_000))
	}
}

func (c *Cluster) add(t *target, phase int64) {
	c.targets = append(c.targets, t)
	c.every(phase, t.interval, orderScrape, func() {
		if !c.opt.Live {
			t.scrape(c.now)
		}
	})
}

// Run simulates up to and including offset from the start. It can be called
// again with a later offset. It stops early when ctx ends or the sink fails.
func (c *Cluster) Run(ctx context.Context, until time.Duration) error {
	end := c.start + until.Milliseconds()
	for n := 0; len(c.queue.list) > 0 && c.queue.list[0].t <= end; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e := heap.Pop(&c.queue).(event)
		c.now = e.t
		e.do()
		if c.err != nil {
			return c.err
		}
	}
	c.now = end
	return nil
}

// faultTick brings everything that faults touched back to health and lets the
// active ones act anew, so that faults combine whatever their order of ends.
func (c *Cluster) faultTick() {
	if len(c.faults) == 0 {
		return
	}
	touched := c.touched
	c.touched = c.touched[:0:0]
	clear(c.seen)
	for _, r := range touched {
		r.reset()
	}
	t := float64(c.now-c.start) / 1000
	for _, f := range c.faults {
		f.step(c, t)
	}
}
