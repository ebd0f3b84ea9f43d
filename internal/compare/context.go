package compare

import (
	"github.com/collwatch/collwatch/signals"
)

// share adds the part of wall time inside operations: seconds busy per second
// where an exporter counts them, else operations per second times their time.
func (c *Collector) share(s *signals.Snapshot) {
	now := s.Time.UnixMilli()
	acc := map[*row]*mean{}
	add := func(m *member, v float64) {
		if m == nil || c.early(m.job, now) {
			return
		}
		r := m.ch.row
		if acc[r] == nil {
			acc[r] = &mean{}
		}
		acc[r].add(v)
	}
	if f := s.Frames[signals.CollBusy]; f.Len() > 0 {
		for i, id := range f.Entity {
			if v := f.Value[i]; v >= 0 {
				add(c.member(s, id), v)
			}
		}
	} else if ops := s.Frames[signals.CollOps]; ops.Len() > 0 {
		times := s.Frames[signals.CollExecTime]
		for i, id := range ops.Entity {
			if v := ops.Value[i] * times.Get(id); v >= 0 {
				add(c.member(s, id), v)
			}
		}
	}
	for r, m := range acc {
		if v := m.value(); Share.plausible(v) {
			r.cells[Share].add(now/c.window, v)
		}
	}
}

// runSignals are the signals of the whole run and their metrics.
var runSignals = [...]struct {
	id signals.ID
	m  Metric
}{
	{signals.StepTime, StepTime},
	{signals.GPUSMActive, SMActive},
	{signals.GPUTensorActive, TensorActive},
	{signals.GPUDRAMActive, DRAMActive},
	{signals.HostCPUPressure, CPUPressure},
}

// context adds what GPUs and hosts of the jobs did meanwhile. It never makes a
// verdict; it tells where to look.
func (c *Collector) context(s *signals.Snapshot) {
	if c.first == 0 {
		return
	}
	if c.gpus == nil || c.ticks%16 == 0 {
		c.inventory(s)
	}
	now := s.Time.UnixMilli()
	for _, rs := range runSignals {
		f, acc := s.Frames[rs.id], mean{}
		for i := range f.Len() {
			if v := f.Value[i]; rs.m.plausible(v) && c.ours(s.Entities.Of(f.Entity[i])) {
				acc.add(v)
			}
		}
		if acc.n > 0 {
			c.run[rs.m].add(now/c.window, acc.value())
		}
	}
}

func (c *Collector) inventory(s *signals.Snapshot) {
	c.gpus, c.hosts = map[signals.Entity]bool{}, map[signals.Entity]bool{}
	for _, j := range s.Jobs {
		if !c.jobs[j.ID] {
			continue
		}
		for _, g := range j.GPUs {
			c.gpus[signals.Entity{Kind: signals.KindGPU, Host: g.Host, Device: g.Device}] = true
		}
		for _, h := range j.Hosts {
			c.hosts[signals.Entity{Kind: signals.KindHost, Host: h}] = true
		}
	}
}

func (c *Collector) ours(e signals.Entity) bool {
	switch e.Kind {
	case signals.KindGPU:
		return c.gpus[signals.Entity{Kind: signals.KindGPU, Host: e.Host, Device: e.Device}]
	case signals.KindHost:
		return c.hosts[signals.Entity{Kind: signals.KindHost, Host: e.Host}]
	default:
		return e.Job == "" || c.jobs[e.Job]
	}
}
