package compare

import (
	"math"
	"slices"
)

// median returns the median of xs, NaN for none. It sorts xs.
func median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	slices.Sort(xs)
	return medianSorted(xs)
}

func medianSorted(xs []float64) float64 {
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// shift is the Hodges–Lehmann estimate of how far y lies above x: the median of
// all differences (Hodges and Lehmann 1963). Both must be sorted. It is found by
// bisection on the value with a walk over the staircase of differences, so that
// it can be bootstrapped: n + m steps a probe instead of n·m differences.
func shift(x, y []float64) float64 {
	lo, hi := y[0]-x[len(x)-1], y[len(y)-1]-x[0]
	pairs := len(x) * len(y)
	low := differenceOfRank(x, y, lo, hi, (pairs+1)/2)
	if pairs%2 == 1 {
		return low
	}
	return (low + differenceOfRank(x, y, low, hi, pairs/2+1)) / 2
}

// differenceOfRank is the rank-th smallest difference y − x, which lies in
// [lo, hi].
func differenceOfRank(x, y []float64, lo, hi float64, rank int) float64 {
	if countBelow(x, y, lo) >= rank {
		return lo
	}
	for range 48 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if countBelow(x, y, mid) >= rank {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// countBelow counts pairs with y − x ≤ d.
func countBelow(x, y []float64, d float64) int {
	n, j := 0, 0
	for i := range x {
		for j < len(y) && y[j]-x[i] <= d {
			j++
		}
		n += j
	}
	return n
}

// autocorrelation is the lag-1 autocorrelation of xs after clipping at four
// scaled median absolute deviations (heavy tails would hide it), corrected for
// the bias of short series (Marriott and Pope 1954: −(1 + 3φ)/n). NaN for fewer
// than eight values or none that differ.
func autocorrelation(xs []float64) float64 {
	n := len(xs)
	if n < 8 {
		return math.NaN()
	}
	clipped := clip(xs)
	mean := 0.0
	for _, x := range clipped {
		mean += x / float64(n)
	}
	num, den := 0.0, 0.0
	for i, x := range clipped {
		den += (x - mean) * (x - mean)
		if i > 0 {
			num += (x - mean) * (clipped[i-1] - mean)
		}
	}
	if den <= 1e-18*mean*mean*float64(n) { // nothing but rounding
		return math.NaN()
	}
	phi := num / den
	return phi + (1+3*phi)/float64(n)
}

func clip(xs []float64) []float64 {
	tmp := slices.Clone(xs)
	m := median(tmp)
	for i, x := range xs {
		tmp[i] = math.Abs(x - m)
	}
	limit := 4 * 1.4826 * median(tmp)
	out := slices.Clone(xs)
	for i, x := range out {
		out[i] = max(m-limit, min(m+limit, x))
	}
	return out
}

// effective is the number of independent values that n values of an
// autoregressive process of order one are worth.
func effective(n int, phi float64) float64 { return float64(n) * (1 - phi) / (1 + phi) }

// reduce cuts values in the order of time into at most maxBlocks blocks of equal
// length and takes the median of each. A short rest at the end joins the last
// block.
func reduce(xs []float64) []float64 {
	per := (len(xs) + maxBlocks - 1) / maxBlocks
	if per <= 1 {
		return slices.Clone(xs)
	}
	blocks := len(xs) / per
	out := make([]float64, blocks)
	for i := range out {
		end := (i + 1) * per
		if i == blocks-1 {
			end = len(xs)
		}
		out[i] = median(slices.Clone(xs[i*per : end]))
	}
	return out
}
