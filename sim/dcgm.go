package sim

import (
	"math"
	"strconv"
)

// Fields of the GPU exporter.
const (
	fSMClock = iota
	fMemClock
	fTemp
	fMemTemp
	fPower
	fEnergy
	fUtil
	fReplay
	fXid
	fFBUsed
	fFBFree
	fNVLinkRate
	fRemapFailure
	fRemapped
	fGREngine
	fTensor
	fDRAM
	fSMActive
	fReasons
	fPCIeGen
	fPCIeWidth
	fThermalViolation
	fPowerViolation
	fXidCount
	nFields
)

func fieldName(f int) string {
	return [nFields]string{
		"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_POWER_USAGE",
		"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_XID_ERRORS",
		"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_ROW_REMAP_FAILURE",
		"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
		"DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_PCIE_LINK_GEN",
		"DCGM_FI_DEV_PCIE_LINK_WIDTH", "DCGM_FI_DEV_THERMAL_VIOLATION", "DCGM_FI_DEV_POWER_VIOLATION", "DCGM_EXP_XID_ERRORS_COUNT",
	}[f]
}

func (d Dialect) has(f int) bool {
	switch f {
	case fSMActive:
		return d.SMActive
	case fReasons:
		return d.Reasons
	case fPCIeGen, fPCIeWidth:
		return d.PCIeLink
	case fThermalViolation, fPowerViolation:
		return d.Violations
	case fXidCount:
		return d.XidCount
	}
	return true
}

// advance integrates counters up to t.
func (g *GPU) advance(t int64) {
	dt := float64(t-g.advanced) / 1000
	if dt <= 0 {
		return
	}
	g.advanced = t
	g.replays += poisson(g.host.rng, g.Replays*dt)
	g.energy += g.snap[fPower] * 1000 * dt
	if bits := int(g.Reasons); g.Reasons > 0 {
		if bits&0x60 != 0 {
			g.violations[0] += dt * 1e9 * 0.9
		}
		if bits&0x80 != 0 {
			g.violations[1] += dt * 1e9 * 0.9
		}
	}
}

// collect is the 30 s collection of the GPU exporter, on its own phase: what a
// scrape sees can be a minute old.
func (h *Host) collect() {
	for _, g := range h.GPUs {
		g.advance(h.c.now)
		g.sample()
		for f, v := range g.glitch {
			g.snap[f] = v
		}
		g.glitch = nil
	}
}

func (g *GPU) sample() {
	h := g.host.c.shape.Healthy
	s := &g.snap
	rng := g.host.rng
	noise := g.host.c.opt.Noise.GaugeCV
	clock, util, tensor, dram, sm, power, heat := 345.0, 0.0, 0.0, 0.0, 0.0, h.IdlePower, -30.0
	reasons, memory := 1.0, 3.0
	busy := h.MemoryMiB
	switch g.state {
	case gpuTraining:
		j := g.host.job
		b := g.busy
		clock, util, reasons, memory = h.ClockMHz*g.Clock, h.Util, h.Reasons, busy
		tensor, dram, sm = h.Tensor*b, h.DRAM*(0.15+0.85*b), 0.17+(h.SMActive-0.17)*b
		if j != nil {
			tensor, dram, sm = tensor*j.TensorFactor, dram*j.DRAMFactor, min(1, sm*j.SMFactor)
		}
		power = h.WaitPower + (h.Power-h.WaitPower)*b*math.Pow(g.Clock, 2.2)*g.Power
		heat = 20 * (min(1.1, b) - 1) * 0.5
	case gpuWaiting:
		clock, util, sm, dram, power, reasons, memory, heat = h.ClockMHz*1.05, 100, 0.17, 0.003, h.WaitPower, 0, busy, -20
		noise = min(noise, 0.01)
	case gpuStuck:
		memory = busy
	case gpuIO:
		util, power, memory, clock, reasons = 3, h.IdlePower*1.7, busy, h.ClockMHz*0.8, 0
		if g.Index == 0 && g.host.job != nil && g.host.job.hosts[0] == g.host {
			util = 40
		}
	case gpuInit:
		age := 90.0
		if g.host.job != nil {
			age = float64(g.host.c.now-g.host.job.start) / 1000
		}
		util, power, clock, reasons = 100*rng.Float64(), 110+90*rng.Float64(), h.ClockMHz, 0
		memory = min(1, age/90) * busy * 0.96
		sm = util / 100 * 0.3
	case gpuIdle:
	}
	if g.Reasons >= 0 && g.state == gpuTraining {
		reasons = g.Reasons
	}
	if g.Memory >= 0 {
		memory = g.Memory
	}
	s[fSMClock] = math.Round(clock/15*factor(rng, 0.003)) * 15
	s[fMemClock] = 2619
	s[fTemp] = math.Round(h.Temp + g.HeatC + heat + 0.7*g.tempX.next(rng, 0.9, 0))
	s[fMemTemp] = math.Round(h.MemTemp + g.MemHeatC + heat + 0.7*rng.NormFloat64())
	s[fPower] = power * factor(rng, noise)
	s[fEnergy] = math.Round(g.energy)
	s[fUtil] = math.Round(min(100, max(0, util+0.5*rng.NormFloat64())))
	if g.state == gpuWaiting {
		s[fUtil] = 100
	}
	s[fReplay] = g.replays
	s[fXid] = g.Xid
	s[fFBUsed], s[fFBFree] = math.Round(memory), math.Round(busy*1.1-memory)
	s[fNVLinkRate] = math.Round(25000 * tensor * rng.Float64())
	s[fGREngine] = util / 100
	s[fTensor] = round3(tensor * factor(rng, noise))
	s[fDRAM] = round3(dram * factor(rng, noise))
	s[fSMActive] = round3(min(1, sm*factor(rng, noise)))
	s[fReasons] = reasons
	s[fPCIeGen], s[fPCIeWidth] = 5, g.Width
	if g.state == gpuIdle {
		s[fPCIeGen] = 1
	}
	s[fThermalViolation], s[fPowerViolation] = math.Round(g.violations[0]), math.Round(g.violations[1])
	s[fXidCount] = 0
	if g.xidAt > 0 && g.host.c.now-g.xidAt < 300_000 {
		s[fXidCount] = 1
	}
	if g.host.c.opt.Dialect.Percent {
		for _, f := range []int{fGREngine, fTensor, fDRAM, fSMActive} {
			s[f] = math.Round(s[f] * 100)
		}
	}
}

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }

func (h *Host) emitDCGM(t *target, _ int64) {
	if h.DCGMEmpty {
		return
	}
	d := h.c.opt.Dialect
	host := d.node(h.Name)
	for _, g := range h.GPUs {
		if g.Lost || g.snap[fMemClock] == 0 {
			continue
		}
		if len(h.mapped) == 0 {
			g.emit(t, d, host, 0)
			continue
		}
		for i, job := range h.mapped[:min(2, len(h.mapped))] {
			g.emit(t, d, host, i, "hpc_job", job)
		}
	}
}

func (g *GPU) emit(t *target, d Dialect, host string, copyOf int, extra ...string) {
	model, refs := g.host.c.shape.Model, &g.refs[copyOf]
	for f := range fXidCount {
		if !d.has(f) || f == fXid && g.snap[fXid] == 0 && !d.ZeroXid {
			continue
		}
		if refs[f] != 0 {
			t.put(&refs[f], g.snap[f], "")
			continue
		}
		t.put(&refs[f], g.snap[f], fieldName(f), append([]string{"gpu", g.index, "UUID", g.UUID, "device", g.device, "modelName", model, d.HostLabel, host}, extra...)...)
	}
	if d.XidCount && g.snap[fXid] != 0 {
		t.put(&refs[fXidCount], g.snap[fXidCount], fieldName(fXidCount), "gpu", g.index, "UUID", g.UUID, "device", g.device, d.HostLabel, host,
			"xid", strconv.Itoa(int(g.Xid)), "window_size_in_ms", "300000")
	}
	if d.NVLinkLinks && copyOf == 0 {
		for l := range g.linkRefs {
			t.put(&g.linkRefs[l], g.recovery[l], "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "nvlink", strconv.Itoa(l), "gpu", g.index,
				"gpu_uuid", g.UUID, "model_name", model, d.HostLabel, host)
		}
	}
}
