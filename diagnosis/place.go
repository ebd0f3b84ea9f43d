package diagnosis

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// NICOf returns the NIC next to a GPU. assumed says that it follows from the
// order of devices only.
func (c *Case) NICOf(gpu signals.Entity) (nic signals.Entity, assumed, ok bool) {
	dev, assumed, ok := c.Fabric.NICOf(gpu.Host, gpu.Device)
	if !ok {
		return signals.Entity{}, false, false
	}
	return nicEntity(gpu.Host, dev), assumed, true
}

// GPUOf returns the GPU next to a NIC.
func (c *Case) GPUOf(nic signals.Entity) (signals.Entity, bool) {
	dev, ok := c.Fabric.GPUOf(nic.Host, nic.Device)
	return signals.Entity{Kind: signals.KindGPU, Host: nic.Host, Device: dev}, ok
}

// Port returns what the fabric knows about a NIC, or nil.
func (c *Case) Port(nic signals.Entity) *topology.Port { return c.Fabric.Port(nic.Host, nic.Device) }

// NICSuspect names a NIC with the other end of its cable where that is known.
func (c *Case) NICSuspect(nic signals.Entity) Suspect {
	s := Suspect{Kind: "nic", Node: nic.Host, Device: nic.Device, Score: 1}
	if p := c.Port(nic); p != nil {
		s.Switch, s.Port = p.Leaf, p.LeafPort
	}
	return s
}

// Rail returns the rail of a NIC, "" if unknown, and whether it was assumed.
func (c *Case) Rail(nic signals.Entity) (rail string, assumed bool) {
	p := c.Port(nic)
	if p == nil {
		return "", false
	}
	return p.Rail, p.RailAssumed
}

// JobsOf returns the running jobs that use a thing: those on the GPU, on the
// GPU next to a NIC, or on the host.
func (c *Case) JobsOf(thing signals.Entity) []*signals.Job {
	switch thing.Kind {
	case signals.KindGPU:
		if jobs, ok := c.gpuJob[[2]string{thing.Host, thing.Device}]; ok {
			return jobs
		}
	case signals.KindNIC:
		if gpu, ok := c.GPUOf(thing); ok {
			if jobs, ok := c.gpuJob[[2]string{gpu.Host, gpu.Device}]; ok {
				return jobs
			}
		}
	case signals.KindJob:
		if j := c.jobs[thing.Job]; j != nil {
			return []*signals.Job{j}
		}
	}
	return c.onHost[thing.Host]
}

// Harmed returns the ids of the jobs that a fault of thing harms, running jobs
// first; where none runs any more, the one that ended there after began.
// ended says that the latter is the case.
func (c *Case) Harmed(thing signals.Entity, began time.Time) (ids []string, ended bool) {
	for _, j := range c.JobsOf(thing) {
		if began.IsZero() || j.FirstSeen.IsZero() || !j.FirstSeen.After(began) || len(c.memory.jobsAt(thing.Host, began)) == 0 {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		return slices.Compact(ids), false
	}
	ids = append(ids, c.memory.jobsAt(thing.Host, began)...)
	slices.Sort(ids)
	return slices.Compact(ids), len(ids) > 0
}

// users leaves out the jobs that work on the host of a NIC, but on no GPU next to
// it: they have NICs of their own, and what they suffer does not come of this one.
func (c *Case) users(thing signals.Entity, jobs []string) []string {
	return slices.DeleteFunc(slices.Clone(jobs), func(id string) bool { return c.beside(thing, id) })
}

func (c *Case) beside(nic signals.Entity, id string) bool {
	j := c.jobs[id]
	gpu, ok := c.GPUOf(nic)
	if j == nil || nic.Kind != signals.KindNIC || !ok {
		return false
	}
	here := false
	for _, g := range j.GPUs {
		if g.Host != nic.Host {
			continue
		}
		near, _, ok := c.NICOf(g)
		if !ok || near.Device == nic.Device || g.Device == gpu.Device {
			return false
		}
		here = true
	}
	return here
}

// Lead fills the fields of h that say whom it harms: the job, if it is exactly
// one, the list of jobs, and whether it ended.
func (c *Case) Lead(h *Hypothesis, thing signals.Entity) {
	ids, ended := c.Harmed(thing, h.StartedAt)
	h.Jobs, h.Beside = append(h.Jobs, ids...), append(h.Beside, subtract(ids, c.users(thing, ids))...)
	if len(ids) == 1 && h.Job == "" {
		h.Job, h.JobEnded = ids[0], ended && !slices.Contains(h.Beside, ids[0])
	}
}

// Hosts lists all hosts that the tick knows of: those of the jobs and those of
// findings, and those that are not looked at. It is the base of shares.
func (c *Case) Hosts() int {
	n := c.memory.hostCount()
	for h := range c.opts.Unread {
		if _, known := c.memory.hosts[h]; !known {
			n++
		}
	}
	return n
}

func nicEntity(host, device string) signals.Entity {
	return signals.Entity{Kind: signals.KindNIC, Host: host, Device: device}
}

func gpuEntity(host, device string) signals.Entity {
	return signals.Entity{Kind: signals.KindGPU, Host: host, Device: device}
}

func hostEntity(host string) signals.Entity {
	return signals.Entity{Kind: signals.KindHost, Host: host}
}

func jobEntity(id string) signals.Entity { return signals.Entity{Kind: signals.KindJob, Job: id} }
