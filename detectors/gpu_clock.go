package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// gpuClock compares SM clocks and clock-event reasons of the GPUs of one job.
// The data sheet says nothing about the clock under a power cap; the other GPUs
// of the job do. An idle GPU legally has a low clock.
type gpuClock struct {
	clock, reasons, util, throttle *column // of the tick
	low, bits, held                map[signals.EntityID]streak
}

// Clock event reason bits of NVML that mean slower than asked for.
const (
	ReasonIdle       = 0x1
	ReasonHWSlowdown = 0x8
	ReasonSWThermal  = 0x20
	ReasonHWThermal  = 0x40
	ReasonPowerBrake = 0x80

	badReasons = ReasonHWSlowdown | ReasonSWThermal | ReasonHWThermal | ReasonPowerBrake
)

const (
	clockBelow    = 0.93 // of the median of the job; power-capped GPUs spread by 1 to 3 %
	clockReasoned = 0.96 // the same where the GPU says itself that it is slowed down
	clockPeers    = 3
	clockWindows  = 2
	throttleShare = 0.1 // s/s
	busyUtil      = 0.5
)

func newGPUClock() *gpuClock {
	return &gpuClock{
		low: map[signals.EntityID]streak{}, bits: map[signals.EntityID]streak{}, held: map[signals.EntityID]streak{},
	}
}

func (d *gpuClock) Name() string { return "gpu_clock" }

// Observe implements [Detector].
func (d *gpuClock) Observe(t *Tick, r *Report) {
	d.clock, d.reasons = t.column(signals.GPUSMClock), t.column(signals.GPUClockReasons)
	d.util, d.throttle = t.column(signals.GPUUtil), t.column(signals.GPUThrottleTime)
	if t.Frames[signals.GPUClockReasons].Len() > 0 {
		d.reason(t)
	}
	if t.Frames[signals.GPUSMClock].Len() > 0 {
		d.clocks(t)
	}
	if t.Frames[signals.GPUThrottleTime].Len() > 0 {
		d.throttled(t)
	}
	d.report(t, r, d.low, d.clock, CodeClockBelow, PeerOutlier, signals.Down)
	d.report(t, r, d.bits, d.reasons, CodeThrottleReason, Fact, signals.Context)
	d.report(t, r, d.held, d.throttle, CodeThrottleTime, PeerOutlier, signals.Up)
}

// busy says whether a GPU works, as far as its series tell: utilisation, or the
// idle bit, which is also set between two kernels of a slow step.
func (d *gpuClock) busy(id signals.EntityID) bool {
	if u, ok := d.util.get(id); ok && u < busyUtil {
		return false
	}
	if b, ok := d.reasons.get(id); ok && int64(b)&ReasonIdle != 0 {
		return false
	}
	return true
}

func (d *gpuClock) clocks(t *Tick) {
	for _, g := range d.clock.byJob(t) {
		var ids []signals.EntityID
		var values []float64
		for i, id := range g.ids {
			if d.busy(id) {
				ids = append(ids, id)
				values = append(values, g.values[i])
			}
		}
		mid := medianOf(values)
		for i, id := range ids {
			s, limit := d.low[id], clockBelow
			if d.bits[id].windows >= clockWindows {
				limit = clockReasoned
			}
			s.hold(len(values) >= clockPeers && values[i] < limit*mid, d.clock.row(id).stamp, values[i], mid)
			keepStreak(d.low, id, s)
		}
	}
}

// reason looks for bad bits that most GPUs of the job do not have: a bit that
// all have is how this cluster runs.
func (d *gpuClock) reason(t *Tick) {
	for _, g := range d.reasons.byJob(t) {
		var have [64]int
		for _, v := range g.values {
			if int64(v)&badReasons == 0 {
				continue
			}
			for b := range 9 {
				if int64(v)>>b&1 == 1 {
					have[b]++
				}
			}
		}
		for i, id := range g.ids {
			odd := int64(0)
			for b := 0; b < 9 && int64(g.values[i])&badReasons != 0; b++ {
				if bit := int64(1) << b; bit&badReasons != 0 && int64(g.values[i])&bit != 0 && 2*have[b] <= len(g.values) {
					odd |= bit
				}
			}
			s := d.bits[id]
			s.hold(odd != 0 && d.busy(id), d.reasons.row(id).stamp, float64(odd), math.NaN())
			keepStreak(d.bits, id, s)
		}
	}
}

func (d *gpuClock) throttled(t *Tick) {
	for _, g := range d.throttle.byJob(t) {
		for i, id := range g.ids {
			s := d.held[id]
			s.hold(g.values[i] >= throttleShare && g.median < throttleShare/5, d.throttle.row(id).stamp, g.values[i], g.median)
			keepStreak(d.held, id, s)
		}
	}
}

// keepStreak stores a streak, and nothing where nothing stands.
func keepStreak(m map[signals.EntityID]streak, id signals.EntityID, s streak) {
	if s.windows == 0 {
		delete(m, id)
		return
	}
	m[id] = s
}

func (d *gpuClock) report(t *Tick, r *Report, from map[signals.EntityID]streak, c *column, code string, p Pattern, dir signals.Direction) {
	ids := make([]signals.EntityID, 0, len(from))
	for id, s := range from {
		if _, ok := c.get(id); !ok {
			if t.Time.UnixMilli()-c.row(id).stamp > 3*columnAge.Milliseconds() {
				delete(from, id)
			}
			continue
		}
		if s.windows >= clockWindows {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		s, e := from[id], t.Entities.Of(id)
		f := Finding{
			Detector: d.Name(), Pattern: p, Signal: c.signal, Entity: e, Direction: dir, Value: s.value, Expected: s.against,
			Score: math.NaN(), Windows: int(s.windows), Since: unixMilli(s.since), Code: code,
		}
		if j := t.JobOf(e); j != nil {
			f.Job, f.Peers = j.ID, max(0, len(j.GPUs)-1)
		}
		r.Findings = append(r.Findings, f)
	}
}

// Renumber implements [Renumberer].
func (d *gpuClock) Renumber(to []signals.EntityID, _ int) {
	d.low, d.bits, d.held = renumberMap(d.low, to), renumberMap(d.bits, to), renumberMap(d.held, to)
}
