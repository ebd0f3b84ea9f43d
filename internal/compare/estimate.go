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

// estimator estimates changes with bootstrap intervals.
type estimator struct {
	rng       *rand.Rand
	resamples int
	alpha     float64 // two-sided, of one test
	x, y      []float64
	reps      []float64
}

// estimate compares two series of blocks. phi is the autocorrelation of the
// metric, pooled over rows.
//
// The change is the Hodges–Lehmann shift of logarithms (of the values
// themselves for ratios). Its standard error comes from a circular block
// bootstrap (Politis and Romano 1992) with the block length that is best for an
// autoregressive process (Carlstein 1986), enlarged by the part of the long-run
// variance that blocks of that length cannot see. The interval uses Student's t
// with the effective number of values, because blocks are few.
func (s *estimator) estimate(m Metric, base, cand []float64, phi float64) Estimate {
	e := Estimate{
		Metric: m, BaseN: len(base), CandN: len(cand), Phi: phi, base: base, cand: cand,
		Base: median(slices.Clone(base)), Cand: median(slices.Clone(cand)),
		Change: math.NaN(), Low: math.NaN(), High: math.NaN(),
	}
	e.Effective = effective(len(base), phi) + effective(len(cand), phi)
	if len(base) < 2 || len(cand) < 2 {
		return e
	}
	points := metrics[m].points
	x, y := transform(base, points), transform(cand, points)
	at := shift(sorted(x), sorted(y))
	half := s.quantile(e.Effective) * s.spread(x, y, phi, points)
	e.Change, e.Low, e.High = at, at-half, at+half
	if !points {
		e.Change, e.Low, e.High = math.Expm1(at), math.Expm1(at-half), math.Expm1(at+half)
	}
	return e
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

func (s *estimator) quantile(effective float64) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: max(2, effective-2)}
	return t.Quantile(1 - s.alpha/2)
}

// spread is the standard error of the shift between x and y.
func (s *estimator) spread(x, y []float64, phi float64, points bool) float64 {
	s.reps = s.reps[:0]
	lx, ly := blockLength(len(x), phi), blockLength(len(y), phi)
	for range s.resamples {
		s.x = s.resample(s.x[:0], x, lx)
		s.y = s.resample(s.y[:0], y, ly)
		slices.Sort(s.x)
		slices.Sort(s.y)
		s.reps = append(s.reps, shift(s.x, s.y))
	}
	slices.Sort(s.reps)
	n := float64(len(s.reps))
	// Half of the central 68 % is the standard deviation of a normal
	// distribution, and less moved by a few wild resamples.
	se := (s.reps[int(0.841*n)] - s.reps[int(0.159*n)]) / 2
	seen := math.Min(seenShare(lx, phi), seenShare(ly, phi))
	small := float64(min(len(x), len(y)))
	se *= math.Sqrt(small / (small - 1) / seen)
	floor := scaleLeast
	if points {
		floor /= 2
	}
	return max(se, floor*math.Sqrt(1/effective(len(x), phi)+1/effective(len(y), phi)))
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

// pooledPhi is the autocorrelation of a metric over all series that show it, plus
// one standard error of what they tell about it: too little autocorrelation makes
// an interval that lies, too much only one that is wide.
func pooledPhi(m Metric, series [][]float64) float64 {
	var all []float64
	n := 0
	for _, xs := range series {
		if phi := autocorrelation(transform(xs, metrics[m].points)); !math.IsNaN(phi) {
			all = append(all, phi)
			n += len(xs)
		}
	}
	if len(all) == 0 {
		return phiUnknown
	}
	phi := max(0, min(phiMost, median(all)))
	return max(phiLeast, min(phiMost, phi+math.Sqrt((1-phi*phi)/float64(n))))
}
