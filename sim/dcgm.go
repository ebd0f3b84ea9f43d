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
	s := &g.snap
	rng, now := g.host.rng, g.work()
	s[fSMClock] = math.Round(now.clock/15*factor(rng, 0.003)) * 15
	s[fMemClock] = 2619
	h := g.host.c.shape.Healthy
	s[fTemp] = math.Round(h.Temp + g.HeatC + now.heat + 0.7*g.tempX.next(rng, 0.9, 0))
	s[fMemTemp] = math.Round(h.MemTemp + g.MemHeatC + now.heat + 0.7*rng.NormFloat64())
	s[fPower] = now.power * factor(rng, now.noise)
	s[fEnergy] = math.Round(g.energy)
	s[fUtil] = math.Round(min(100, max(0, now.util+0.5*rng.NormFloat64())))
	if g.state == gpuWaiting {
		s[fUtil] = 100
	}
	s[fReplay] = g.replays
	s[fXid] = g.Xid
	s[fFBUsed], s[fFBFree] = math.Round(now.memory), math.Round(h.MemoryMiB*1.1-now.memory)
	s[fNVLinkRate] = math.Round(25000 * now.tensor * rng.Float64())
	s[fGREngine] = now.util / 100
	s[fTensor] = round3(now.tensor * factor(rng, now.noise))
	s[fDRAM] = round3(now.dram * factor(rng, now.noise))
	s[fSMActive] = round3(min(1, now.sm*factor(rng, now.noise)))
	s[fReasons] = now.reasons
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
