package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is how much one metric changed.
type Estimate struct {
	Metric Metric
	// Base and Cand are the medians of the two sides in the metric's unit.
	Base, Cand float64
	// Change is relative (0.05 is five percent more) or, for ratios, a
	// difference (0.05 is five percentage points). Low and High bound it: all
	// intervals of one result hold at once with its confidence.
	Change, Low, High float64
	// BaseN and CandN count the blocks of time behind the two sides, Effective
	// is what they are worth together after autocorrelation Phi.
	BaseN, CandN int
	Effective    float64
	Phi          float64

	base, cand []float64 // for plots
}

// Conclusive says that the interval excludes either no change or a change of
// limit in both directions, so that a verdict is possible.
func (e *Estimate) Conclusive(limit float64) bool {
	return e.Low > 0 || e.High < 0 || (e.Low > -limit && e.High < limit)
}

// worse is the change in the bad direction, with its bounds.
func (e *Estimate) worse() (change, low, high float64) {
	if metrics[e.Metric].bad < 0 {
		return -e.Change, -e.High, -e.Low
	}
	return e.Change, e.Low, e.High
}

const (
	// leastBlocks is how many blocks of time each side needs. With fewer, an
	// interval from the data themselves means nothing.
	leastBlocks = 8
	// phiLeast and phiMost bound the autocorrelation that is assumed. Iteration
	// times of real jobs show 0.3 to 0.99 from step to step (public traces of
	// Alibaba and ByteDance); a short series easily shows less than it has.
	phiLeast = 0.3
	phiMost  = 0.95
	// phiUnknown is assumed where no series is long or lively enough to tell.
	phiUnknown = 0.5
	// scaleLeast is the least relative scale of a value: window means of
	// exporters are rounded, and a series that happens to stand still is no
	// proof of a spread of zero.
	scaleLeast = 0.01
)

// side is one of two series that are compared, as it is compared: logarithms of
// values, or the values themselves for ratios.
type side struct {
	blocks []float64
	// phi is the autocorrelation of its blocks, span the seconds that they cover
	// (0 unknown).
	phi, span float64
}

func (s *side) effective() float64 { return effective(len(s.blocks), s.phi) }

// estimator estimates changes with bootstrap intervals.
type estimator struct {
	rng       *rand.Rand
	resamples int
	alpha     float64 // two-sided, of one test
	x         []float64
	reps      []float64
}

// estimate compares two series of blocks, b and c, and the sides that they are
// transformed.
//
// The change is the difference of the trimmed means of logarithms (of the values
// themselves for ratios), with an interval as Yuen (1974) makes it for two sides
// of unequal spread and length. The standard error of a side comes from a circular
// block bootstrap (Politis and Romano 1992) with the block length that is best for
// an autoregressive process (Carlstein 1986), enlarged by the part of the long-run
// variance that blocks of that length cannot see, and by what a side much longer
// than the other shows at the time scale of the shorter.
func (s *estimator) estimate(m Metric, b, c []float64, base, cand side) Estimate {
	e := Estimate{
		Metric: m, BaseN: len(b), CandN: len(c), Phi: max(base.phi, cand.phi), base: b, cand: c,
		Base: median(slices.Clone(b)), Cand: median(slices.Clone(c)),
		Change: math.NaN(), Low: math.NaN(), High: math.NaN(),
		Effective: base.effective() + cand.effective(),
	}
	if e.BaseN < 2 || e.CandN < 2 {
		return e
	}
	points := metrics[m].points
	at := level(sorted(cand.blocks)) - level(sorted(base.blocks))
	half := s.half(&base, &cand, points)
	e.Change, e.Low, e.High = at, at-half, at+half
	if !points {
		e.Change, e.Low, e.High = math.Expm1(at), math.Expm1(at-half), math.Expm1(at+half)
	}
	return e
}

// change is estimate for two series of two records.
func (s *estimator) change(mem *memory, m Metric, base, cand *Record, b, c []float64) Estimate {
	x, y := mem.sides(m, base, cand, b, c)
	return s.estimate(m, b, c, x, y)
}

// half is half the width of the interval of two transformed sides.
func (s *estimator) half(x, y *side, points bool) float64 {
	floor := scaleLeast
	if points {
		floor /= 2
	}
	ex, ey := s.spread(x, floor), s.spread(y, floor)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom(ex, x.freedom(), ey, y.freedom())}
	return t.Quantile(1-s.alpha/2) * max(math.Hypot(ex, ey), wander(x, y), wander(y, x))
}

func transform(xs []float64, points bool) []float64 {
	out := slices.Clone(xs)
	if !points {
		for i, x := range out {
			out[i] = math.Log(x)
		}
	}
	return out
}

func sorted(xs []float64) []float64 {
	out := slices.Clone(xs)
	slices.Sort(out)
	return out
}

// spread is the standard error of the level of a transformed side, at least that of
// values which spread by floor.
func (s *estimator) spread(x *side, floor float64) float64 {
	s.reps = s.reps[:0]
	length := blockLength(len(x.blocks), x.phi)
	for range s.resamples {
		s.x = s.resample(s.x[:0], x.blocks, length)
		slices.Sort(s.x)
		s.reps = append(s.reps, level(s.x))
	}
	slices.Sort(s.reps)
	n, all := float64(len(s.reps)), float64(len(x.blocks))
	// Half of the central 68 % is the standard deviation of a normal
	// distribution, and less moved by a few wild resamples.
	se := (s.reps[int(0.841*n)] - s.reps[int(0.159*n)]) / 2
	se *= math.Sqrt(all / (all - 1) / seenShare(length, x.phi))
	return max(se, floor/math.Sqrt(x.effective()))
}

// resample appends blocks of xs, taken around a circle, until dst is as long.
func (s *estimator) resample(dst, xs []float64, length int) []float64 {
	for len(dst) < len(xs) {
		at := s.rng.IntN(len(xs))
		for k := 0; k < length && len(dst) < len(xs); k++ {
			dst = append(dst, xs[(at+k)%len(xs)])
		}
	}
	return dst
}

// blockLength is the best length of overlapping blocks for n values with
// autocorrelation phi, at most a third of them.
func blockLength(n int, phi float64) int {
	l := math.Pow(math.Sqrt(6)*phi/(1-phi*phi), 2.0/3) * math.Cbrt(float64(n))
	return max(1, min(int(math.Round(l)), n/3))
}

// seenShare is the part of the long-run variance of an autoregressive process
// that blocks of a length contain.
func seenShare(length int, phi float64) float64 {
	in, p := 1.0, 1.0
	for k := 1; k < length; k++ {
		p *= phi
		in += 2 * (1 - float64(k)/float64(length)) * p
	}
	return in * (1 - phi) / (1 + phi)
}
