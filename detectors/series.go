package detectors

import (
	"math"
	"math/bits"
	"time"
)

// baseline is what is normal for one series, and an EWMA chart against it. It
// works on x = ln(value), so that effects are relative. 64 bytes.
//
// The level follows the series slowly and stands still while it is suspect.
type baseline struct {
	level float64 // m, the adaptive baseline
	last  int64   // ms, stamp of the newest sample, 0 never
	since int64   // ms, first exceedance of the run

	scale    float32 // robust standard deviation of x
	z        float32 // EWMA of u = (x-m)/s
	variance float32 // V of the EWMA's weights
	n        uint16  // samples learned
	judged   uint16
	hits     uint8 // exceedances of the last samples, newest lowest
	flags    uint8
}

const (
	flagUp uint8 = 1 << iota
	flagDown
)

// chart is how series of one metric family are judged.
type chart struct {
	// lambda is the weight of a new sample after period; L the limit in
	// robust standard deviations. λ = 0.3, L = 5 give, for independent normal
	// noise, 1.8 million evaluations to a false alarm and 4.1 to see 3 σ.
	lambda, limit float64
	period        time.Duration
	// phi is the autocorrelation of the family, see correlation.
	phi float64
	// floor is the least scale, 1 %: near-constant series explode otherwise.
	floor float64
	// effect is the least relative change that matters.
	effect float64
	// warmUp is how many samples are learned before a series is judged by its
	// own past; with a scale inherited from its family half of them do.
	warmUp int
	// inherited is the scale that a new series starts with, 0 unknown.
	inherited float64

	// The weights of the last step: nearly all samples come at the same
	// distance, and an exponential costs more than all the rest.
	memoStep, memoKeep, memoWeight float64
}

// weights returns what the chart keeps of its past over dt seconds, and the
// weight of a new sample in the baseline.
func (c *chart) weights(dt float64) (keep, weight float64) {
	if dt != c.memoStep {
		c.memoStep = dt
		c.memoKeep = math.Pow(1-c.lambda, dt/c.period.Seconds())
		c.memoWeight = 1 - math.Exp(-dt/learnTime.Seconds())
	}
	return c.memoKeep, c.memoWeight
}

const (
	// warmUp is the default of a chart's.
	warmUp = 20
	// skipSamples of a new series are not learned: the first steps of a job
	// are not its normal.
	skipSamples = 10
	// learnClip protects the baseline and inputClip the chart. They differ: a
	// clip that is good for the baseline makes large faults slow to see. With
	// inputClip a single sample, however far out, is one exceedance and its
	// echo in the EWMA (0.7 · 0.3 · 8 = 1.7) stays below the limit (2.1).
	learnClip = 4.0
	inputClip = 8.0
	// learnTime is the time constant of level and scale.
	learnTime = 30 * time.Minute
	// growth is how much the scale may grow in an hour.
	growth = 0.05
)

// update judges x, taken at stamp (ms), and learns it unless frozen. It
// returns u, the standardised value, NaN where x was not judged.
func (b *baseline) update(x float64, stamp int64, c *chart, frozen bool) float64 {
	dt := float64(stamp-b.last) / 1000
	if b.last != 0 && dt <= 0 {
		return math.NaN()
	}
	first := b.last == 0
	b.last = stamp
	if first || b.n == 0 {
		b.begin(x, c)
		return math.NaN()
	}
	u := (x - b.level) / float64(b.scale)
	warm := b.warm(c)
	if warm {
		b.chart(u, dt, c)
	}
	if !frozen && b.flags&(flagUp|flagDown) == 0 && (b.hits&1 == 0 || !warm) {
		b.learn(u, dt, c)
	}
	if !warm {
		return math.NaN()
	}
	return u
}

// begin starts a series at x.
func (b *baseline) begin(x float64, c *chart) {
	b.level = x
	b.scale = float32(max(c.floor, c.inherited))
	b.n = 1
}

func (b *baseline) warm(c *chart) bool {
	if c.inherited > 0 {
		return int(b.n) >= c.warmUp/2
	}
	return int(b.n) >= c.warmUp
}

// chart moves the EWMA by one sample that came dt seconds after the last, and
// counts exceedances. With irregular samples the weight is λ_t = 1 − (1−λ)^(dt/T)
// and the variance of the weights V ← (1−λ_t)²V + λ_t²; the limit is
// L·√V·√((1+(1−λ)φ)/(1−(1−λ)φ)). After a gap of three time constants the
// chart starts anew, the baseline stays.
func (b *baseline) chart(u, dt float64, c *chart) {
	keep, _ := c.weights(dt)
	if keep < 0.0498 { // e⁻³: three time constants
		b.z, b.variance, b.hits = 0, 0, b.hits&^7
	}
	uc := clamp(u, -inputClip, inputClip)
	b.z = float32(keep*float64(b.z) + (1-keep)*uc)
	b.variance = float32(keep*keep*float64(b.variance) + (1-keep)*(1-keep))
	if b.judged < math.MaxUint16 {
		b.judged++
	}
	limit := b.limit(c)
	side := flagUp
	if b.z < 0 {
		side = flagDown
	}
	z := math.Abs(float64(b.z))
	// An exceedance that the newest sample does not support is an echo.
	hit := z > limit && uc*float64(b.z) > 0 && math.Abs(uc) > 1 && z*float64(b.scale) >= math.Log1p(c.effect)*0.7
	b.hits <<= 1
	if hit {
		b.hits |= 1
		if b.hits&0b110 == 0 {
			b.since = b.last
		}
	}
	switch on := b.flags & (flagUp | flagDown); {
	case on == 0 && hit && bits.OnesCount8(b.hits&7) >= 2:
		b.flags |= side
	case on != 0 && (z < limit/2 || on != side):
		b.flags &^= flagUp | flagDown
	}
}

// limit is the height of the chart in units of the scale.
func (b *baseline) limit(c *chart) float64 {
	r := (1 - c.lambda) * c.phi
	return c.limit * math.Sqrt(float64(b.variance)) * math.Sqrt((1+r)/(1-r))
}

// learn moves level and scale towards a sample, winsorised at learnClip.
//
// After the warm-up the scale follows the median absolute deviation by steps of
// equal size up and down. A mean with a bound on its growth alone would sink:
// it would fall freely after quiet samples and rise slowly after loud ones.
func (b *baseline) learn(u, dt float64, c *chart) {
	if b.n < math.MaxUint16 {
		b.n++
	}
	s := float64(b.scale)
	uc := clamp(u, -learnClip, learnClip)
	_, weight := c.weights(dt)
	if int(b.n) < 2*c.warmUp {
		weight = max(weight, 1/float64(b.n))
		s += weight * (math.Abs(uc)*s*1.253 - s)
	} else {
		step := growth * min(dt, 3600) / 3600
		if math.Abs(u) < 1/madToSigma {
			step = -step
		}
		s *= 1 + step
	}
	b.level += weight * uc * float64(b.scale)
	b.scale = float32(max(s, c.floor))
}
