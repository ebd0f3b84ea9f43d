package detectors

import "math"

// The reference baseline and the CUSUM against it. The EWMA cannot see a shift
// of 5 %, and the adaptive level follows a slow drift; the reference does
// neither.

const (
	// referenceEnd is the number of samples after which the reference stands:
	// half an hour of samples every 30 s, after the first ones of the job.
	referenceEnd = 60
	// driftShift is the shift worth finding.
	driftShift = 0.05
	// driftLimit is the height of the CUSUM in robust standard deviations, for
	// independent noise; see docs/detectors/shift.md for its false alarms.
	driftLimit = 25.0
)

// refer moves the reference while it is young: the good decile, found by
// steps that are nine times larger on one side.
func (b *baseline) refer(x float64, bad float64) {
	if b.n > referenceEnd {
		return
	}
	step := 0.3 * float64(b.scale) / math.Sqrt(float64(max(b.n, 1)))
	if (x-float64(b.reference))*bad < 0 {
		step *= -9
	}
	b.reference += float32(bad * step)
}

// drifted moves the CUSUM by x and says whether it has left the reference in
// the bad direction. The decile lies 1.28 σ on the good side of the middle;
// k is half the shift worth finding.
func (b *baseline) drifted(x, bad float64, c *chart) bool {
	if b.n <= referenceEnd {
		return false
	}
	s := float64(b.scale)
	u := bad*(x-float64(b.reference))/s - 1.28
	k := driftShift / 2 / s
	inflate := (1 + c.phi) / (1 - c.phi)
	b.drift = float32(clamp(float64(b.drift)+clamp(u, -inputClip, inputClip)-max(k, 0.5), 0, 4*driftLimit*inflate))
	high := float64(b.drift) > driftLimit*inflate
	low := float64(b.drift) < driftLimit*inflate/2
	switch {
	case high && bad*(x-float64(b.reference)) > math.Log1p(driftShift):
		b.flags |= flagDrift
	case low:
		b.flags &^= flagDrift
	}
	return b.flags&flagDrift != 0
}
