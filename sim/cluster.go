package sim

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Options make a Cluster.
type Options struct {
	Seed    uint64
	Start   time.Time
	Shape   Shape
	Dialect Dialect
	Noise   Noise
	// Jobs replaces the shape's own jobs if not nil.
	Jobs []JobSpec
	// Live serves the series to real scrapes and text files instead of a Sink,
	// which may be nil then; see Handler and Files.
	Live bool
	// NodeScrape, GPUScrape and Dump are intervals; 15 s, 30 s and 30 s if zero.
	NodeScrape, GPUScrape, Dump time.Duration
}

// Cluster is a simulated cluster. It is not safe for concurrent use.
type Cluster struct {
	opt    Options
	shape  *Shape
	sink   Sink
	Hosts  []*Host
	Leaves []*Leaf
	Jobs   []*Job
	faults []*Fault

	now, start int64 // ms
	queue      queue
	err        error
	touched    []resetter
	seen       map[resetter]bool
	gaps       [][2]int64
	switches   []*target
	scheduler  *target
	trainer    *target
	jobRefs    map[[2]string]*ref
	targets    []*target
	render     func(labels []string, v float64)
}

type resetter interface{ reset() }

type nicReset struct{ *NIC }

func (r nicReset) reset() { r.advance(r.host.c.now); r.healthy() }

type gpuReset struct{ *GPU }

func (r gpuReset) reset() { r.advance(r.host.c.now); r.GPU.reset() }

type hostReset struct{ *Host }

func (r hostReset) reset() { r.advance(r.c.now); r.healthy() }

type leafReset struct{ *Leaf }

func (r leafReset) reset() {
	r.Factor, r.Missing = 1, 0
	for i := range r.Uplinks {
		r.Uplinks[i].Rate, r.Uplinks[i].Marked = 0, 0
	}
}

type jobReset struct{ *Job }

func (r jobReset) reset() {
	r.CommFactor, r.ComputeFactor, r.SMFactor, r.DRAMFactor, r.TensorFactor = 1, 1, 1, 1, 1
}

// New builds a healthy cluster whose series go to sink.
func New(opt Options, sink Sink) (*Cluster, error) {
	if len(opt.Shape.Hosts) == 0 || opt.Shape.GPUs == 0 || len(opt.Shape.NICs) == 0 {
		return nil, errors.New("sim: a shape needs hosts, GPUs and NICs")
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&opt.NodeScrape, 15 * time.Second}, {&opt.GPUScrape, 30 * time.Second}, {&opt.Dump, 30 * time.Second}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if opt.Start.IsZero() {
		opt.Start = time.Unix(1767225600, 0)
	}
	if opt.Jobs == nil {
		opt.Jobs = opt.Shape.Jobs
	}
	c := &Cluster{opt: opt, sink: sink, start: opt.Start.UnixMilli(), seen: map[resetter]bool{}, jobRefs: map[[2]string]*ref{}}
	c.shape = &c.opt.Shape
	c.now = c.start
	c.wire()
	for _, spec := range opt.Jobs {
		l := spec.Layout
		n := len(spec.Hosts)
		if spec.Hosts == nil {
			n = len(c.Hosts)
		}
		if n*c.shape.GPUs != l.TP*l.DP*l.PP {
			return nil, fmt.Errorf("sim: job %s: %d GPUs do not fit TP %d, DP %d, PP %d", spec.ID, n*c.shape.GPUs, l.TP, l.DP, l.PP)
		}
		j := newJob(c, spec)
		c.Jobs = append(c.Jobs, j)
		c.at(c.start+int64(spec.StartAt*1000), 0, func() { j.begin() })
		if spec.EndAt > 0 {
			c.at(c.start+int64(spec.EndAt*1000), 0, func() { j.end(spec.Kill) })
		}
	}
	c.schedule()
	return c, nil
}

func (c *Cluster) wire() {
	s := c.shape
	rng := stream(c.opt.Seed, "hardware")
	for hi, name := range s.Hosts {
		h := &Host{c: c, Index: hi, Name: name, rng: stream(c.opt.Seed, "host "+name), Release: "6.8.0-52-generic", advanced: c.start}
		h.healthy()
		h.boot = c.start - int64(20+rng.IntN(40))*86400_000
		h.cpuSec, h.ioSec, h.memSec = 1e4*rng.Float64(), 1e3*rng.Float64(), 10*rng.Float64()
		for ni, dev := range s.NICs {
			n := &NIC{host: h, Index: ni, Name: dev, share: 1, nominal: s.NICRate, card: s.Card, advanced: c.start, netdev: fmt.Sprintf("ens%df0np0", ni+1)}
			n.healthy()
			n.moved = 1e14 * (1 + rng.Float64())
			for _, k := range []int{cLinkDowned, cLinkRecovery, cSymbol} {
				n.counts[k] = float64(rng.IntN(14))
			}
			n.counts[cXmitWait] = 1e9 * rng.Float64()
			if li := s.leafOf(hi, ni); li >= 0 {
				n.leaf = c.leaf(li)
			}
			h.NICs = append(h.NICs, n)
		}
		if s.Storage != "" {
			h.disk = &NIC{host: h, Index: -1, Name: s.Storage, nominal: s.StorageRate, card: "MT_0000000540", advanced: c.start, netdev: "ens20f0"}
			h.disk.healthy()
			h.disk.moved = 1e13 * rng.Float64()
		}
		for gi := range s.GPUs {
			g := &GPU{host: h, Index: gi, UUID: newUUID(rng), Memory: -1, advanced: c.start, index: strconv.Itoa(gi), device: "nvidia" + strconv.Itoa(gi)}
			g.reset()
			g.energy = 1e9 * rng.Float64()
			for ni, n := range h.NICs {
				if s.gpuOfNIC(ni) == gi {
					g.NICs = append(g.NICs, n)
				}
			}
			if len(g.NICs) == 0 {
				g.NICs = []*NIC{h.NICs[s.nicOfGPU(gi)]}
			}
			h.GPUs = append(h.GPUs, g)
		}
		h.files = make([]file, s.GPUs)
		c.Hosts = append(c.Hosts, h)
	}
}

func (c *Cluster) leaf(i int) *Leaf {
	for len(c.Leaves) <= i {
		l := &Leaf{Index: len(c.Leaves), Name: c.shape.leafName(len(c.Leaves)), Factor: 1, Uplinks: make([]Uplink, c.shape.Spines)}
		for u := range l.Uplinks {
			l.Uplinks[u].at = c.start
		}
		c.Leaves = append(c.Leaves, l)
	}
	return c.Leaves[i]
}

// Shape is what the cluster was built from.
func (c *Cluster) Shape() *Shape { return c.shape }

// Start is the first instant.
func (c *Cluster) Start() time.Time { return time.UnixMilli(c.start) }

// Now is the simulated time.
func (c *Cluster) Now() time.Time { return time.UnixMilli(c.now) }

func (c *Cluster) fail(err error) {
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("sim: append at %s: %w", time.UnixMilli(c.now).UTC().Format(time.RFC3339), err)
	}
}

// touch remembers that a fault changes a thing, so that it is healthy again
// before the faults act the next time.
func (c *Cluster) touch(r resetter) {
	if !c.seen[r] {
		c.seen[r] = true
		c.touched = append(c.touched, r)
		r.reset()
	}
}

// NIC gives a fault access to a NIC.
func (c *Cluster) NIC(host, nic int) *NIC {
	n := c.Hosts[host].NICs[nic]
	c.touch(nicReset{n})
	return n
}

// Disk gives a fault access to the storage card of a host, nil if there is
// none.
func (c *Cluster) Disk(host int) *NIC {
	n := c.Hosts[host].disk
	if n != nil {
		c.touch(nicReset{n})
	}
	return n
}

// GPU gives a fault access to a GPU.
func (c *Cluster) GPU(host, gpu int) *GPU {
	g := c.Hosts[host].GPUs[gpu]
	c.touch(gpuReset{g})
	return g
}

// Host gives a fault access to a host.
func (c *Cluster) Host(host int) *Host {
	h := c.Hosts[host]
	c.touch(hostReset{h})
	return h
}

// Leaf gives a fault access to a switch.
func (c *Cluster) Leaf(i int) *Leaf {
	l := c.Leaves[i]
	c.touch(leafReset{l})
	return l
}

// Job gives a fault access to a job.
func (c *Cluster) Job(i int) *Job {
	j := c.Jobs[i]
	c.touch(jobReset{j})
	return j
}

// Gap makes Prometheus itself miss everything between two offsets.
func (c *Cluster) Gap(from, to time.Duration) {
	c.gaps = append(c.gaps, [2]int64{c.start + from.Milliseconds(), c.start + to.Milliseconds()})
}

func (c *Cluster) blind(t int64) bool {
	for _, g := range c.gaps {
		if t >= g[0] && t < g[1] {
			return true
		}
	}
	return false
}
