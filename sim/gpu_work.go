package sim

import "math"

// gpuWork is what a GPU does at an instant, before an exporter reads it with
// its noise: clock in MHz, utilisation in percent, activities from 0 to 1, power
// in watts, heat in degrees above or below the healthy temperature, memory in MiB.
type gpuWork struct {
	clock, util, tensor, dram, sm, power, heat float64
	reasons, memory                            float64
	noise                                      float64 // coefficient of variation of what is read
}

// work follows from the state of the GPU and from what a fault sets. It draws
// from the host's random numbers only while a job starts.
func (g *GPU) work() gpuWork {
	h := g.host.c.shape.Healthy
	w := gpuWork{clock: 345, power: h.IdlePower, heat: -30, reasons: 1, memory: 3, noise: g.host.c.opt.Noise.GaugeCV}
	switch g.state {
	case gpuTraining:
		g.train(&w)
	case gpuWaiting:
		w.clock, w.util, w.sm, w.dram, w.power, w.reasons, w.memory, w.heat = h.ClockMHz*1.05, 100, 0.17, 0.003, h.WaitPower, 0, h.MemoryMiB, -20
		w.noise = min(w.noise, 0.01)
	case gpuStuck:
		w.memory = h.MemoryMiB
	case gpuIO:
		w.util, w.power, w.memory, w.clock, w.reasons = 3, h.IdlePower*1.7, h.MemoryMiB, h.ClockMHz*0.8, 0
		if g.Index == 0 && g.host.job != nil && g.host.job.hosts[0] == g.host {
			w.util = 40
		}
	case gpuInit:
		age := 90.0
		if g.host.job != nil {
			age = float64(g.host.c.now-g.host.job.start) / 1000
		}
		rng := g.host.rng
		w.util, w.power, w.clock, w.reasons = 100*rng.Float64(), 110+90*rng.Float64(), h.ClockMHz, 0
		w.memory = min(1, age/90) * h.MemoryMiB * 0.96
		w.sm = w.util / 100 * 0.3
	case gpuIdle:
	}
	if g.Memory >= 0 {
		w.memory = g.Memory
	}
	return w
}

// train is the work of a GPU whose job makes steps.
func (g *GPU) train(w *gpuWork) {
	h, b := g.host.c.shape.Healthy, g.busy
	w.clock, w.util, w.reasons, w.memory = h.ClockMHz*g.Clock, h.Util, h.Reasons, h.MemoryMiB
	w.tensor, w.dram, w.sm = h.Tensor*b, h.DRAM*(0.15+0.85*b), 0.17+(h.SMActive-0.17)*b
	if j := g.host.job; j != nil {
		w.tensor, w.dram, w.sm = w.tensor*j.TensorFactor, w.dram*j.DRAMFactor, min(1, w.sm*j.SMFactor)
	}
	w.power = h.WaitPower + (h.Power-h.WaitPower)*b*math.Pow(g.Clock, 2.2)*g.Power
	w.heat = 20 * (min(1.1, b) - 1) * 0.5
	if g.Reasons >= 0 {
		w.reasons = g.Reasons
	}
}
