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

// trimmed is the part of the values that the mean of a side leaves out at either
// end (Tukey and McLaughlin 1963): what a fifth of the time did does not count.
const trimmed = 0.2

// level is the trimmed mean of xs, which must be sorted. Unlike a median it moves
// smoothly where values have two modes (a job with two kinds of steps), so that it
// can be bootstrapped.
func level(xs []float64) float64 {
	cut := int(trimmed * float64(len(xs)))
	sum := 0.0
	for _, x := range xs[cut : len(xs)-cut] {
		sum += x
	}
	return sum / float64(len(xs)-2*cut)
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
