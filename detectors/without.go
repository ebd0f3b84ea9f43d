package detectors

import (
	"math"
	"slices"
	"sort"
)

// without measures a sorted list with one element left out, as spreadOf would
// measure a copy without it. Each group of a job is compared with all others of its
// role: a copy and three sorts a group would grow with the square of the job.
type without struct {
	sorted []float64
	gap    int // index of the element left out
}

func (w without) len() int { return len(w.sorted) - 1 }

func (w without) at(i int) float64 {
	if i >= w.gap {
		i++
	}
	return w.sorted[i]
}

// spread is the spread of what is left, at least one element.
func (w without) spread() spread {
	n := w.len()
	s := spread{mid: middle(n, w.at)}
	// Distances from mid rise from here to both ends.
	below := sort.Search(n, func(i int) bool { return w.at(i) >= s.mid })
	upTo := sort.Search(n, func(i int) bool { return w.at(i) > s.mid })
	low := func(i int) float64 { return s.mid - w.at(upTo-1-i) }    // of the elements up to mid
	high := func(i int) float64 { return w.at(below+i) - s.mid }    // of the elements from mid on
	under := func(i int) float64 { return s.mid - w.at(below-1-i) } // of those below mid
	if n < minPeers {
		all := madToSigma * middle(n, func(k int) float64 { return kth(k, below, under, n-below, high) })
		s.low, s.high = all, all
		return s
	}
	s.low = madToSigma * middle(upTo, low)
	s.high = madToSigma * middle(n-below, high)
	return s
}

// middle is the median of n values in order, NaN if there are none.
func middle(n int, at func(i int) float64) float64 {
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return at(n / 2)
	}
	return (at(n/2-1) + at(n/2)) / 2
}

// kth is element k of two lists in order, merged.
func kth(k, n int, a func(int) float64, m int, b func(int) float64) float64 {
	// i elements of a and k-i of b come before it.
	i := max(0, k-m) + sort.Search(min(k, n)-max(0, k-m), func(x int) bool {
		x += max(0, k-m)
		return a(x) >= b(k-1-x)
	})
	switch j := k - i; {
	case i == n:
		return b(j)
	case j == m:
		return a(i)
	default:
		return min(a(i), b(j))
	}
}

// withoutValue leaves one element that equals x out; ok is false if there is none.
func withoutValue(sorted []float64, x float64) (w without, ok bool) {
	i, ok := slices.BinarySearch(sorted, x)
	return without{sorted, i}, ok
}
