package detectors

import (
	"math"
	"slices"
)

// madToSigma turns a median absolute deviation into the standard deviation of
// a normal distribution.
const madToSigma = 1.4826

// Median returns the median of xs, NaN if there are none. It sorts xs.
func Median(xs []float64) float64 {
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	slices.Sort(xs)
	if n%2 == 1 {
		return xs[n/2]
	}
	return (xs[n/2-1] + xs[n/2]) / 2
}

// spread is a robust location with one scale for each side. Groups of peers
// are often skewed: one scale for both sides would hide a value on the short
// side and blame one on the long side.
type spread struct {
	mid       float64
	low, high float64 // sigma below and above mid, before any floor
}

// spreadOf measures xs, using tmp as scratch memory of at least len(xs). It
// sorts xs. With fewer than five values both sides share one scale.
func spreadOf(xs, tmp []float64) spread {
	s := spread{mid: Median(xs)}
	tmp = tmp[:0]
	for _, x := range xs {
		tmp = append(tmp, math.Abs(x-s.mid))
	}
	all := madToSigma * Median(tmp)
	if len(xs) < minPeers {
		s.low, s.high = all, all
		return s
	}
	s.low = sideScale(xs, s.mid, -1, tmp)
	s.high = sideScale(xs, s.mid, 1, tmp)
	return s
}

// sideScale is the median absolute deviation of the values on one side of
// mid, those equal to it included.
func sideScale(xs []float64, mid, side float64, tmp []float64) float64 {
	tmp = tmp[:0]
	for _, x := range xs {
		if d := (x - mid) * side; d >= 0 {
			tmp = append(tmp, d)
		}
	}
	return madToSigma * Median(tmp)
}

// score is the distance of x from the middle in robust standard deviations of
// its side, which are at least floor.
func (s spread) score(x, floor float64) float64 {
	scale := s.high
	if x < s.mid {
		scale = s.low
	}
	return (x - s.mid) / max(scale, floor)
}

// minPeers is the smallest number of peers for a test against their median
// and spread. Fewer are compared pairwise.
const minPeers = 5

// clamp limits x to [lo, hi].
func clamp(x, lo, hi float64) float64 { return min(max(x, lo), hi) }
