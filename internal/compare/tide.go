package compare

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

const (
	day = 24 * 60 * 60 // s
	// wholeDay is the part of a day that both sides must cover for its tide to be
	// taken off, and tideBlocks the blocks it needs.
	wholeDay   = 0.8
	tideBlocks = 24
	// tideShare is the part of the variance that a tide must explain. What wanders
	// without one is explained by a third, and taking that off would leave an
	// interval that lies.
	tideShare = 0.6
)

// tideless is xs without what a day and half a day of sine tell: two sides that see
// the whole of a tide have the same of it, and as a process that wanders it would
// leave an interval in which no change is seen. xs cover span seconds. The mean stays.
func tideless(xs []float64, span float64) []float64 {
	n := len(xs)
	if n < tideBlocks {
		return xs
	}
	a := mat.NewDense(n, 5, nil)
	for i := range n {
		at := 2 * math.Pi * span * (float64(i) + 0.5) / float64(n) / day
		a.SetRow(i, []float64{1, math.Sin(at), math.Cos(at), math.Sin(2 * at), math.Cos(2 * at)})
	}
	var fit mat.VecDense
	if err := fit.SolveVec(a, mat.NewVecDense(n, append([]float64(nil), xs...))); err != nil {
		return xs
	}
	out, mean := make([]float64, n), average(xs)
	before, after := 0.0, 0.0
	for i := range n {
		row := a.RawRowView(i)
		out[i] = xs[i]
		for k := 1; k < len(row); k++ {
			out[i] -= row[k] * fit.AtVec(k)
		}
		before += (xs[i] - mean) * (xs[i] - mean)
		after += (out[i] - fit.AtVec(0)) * (out[i] - fit.AtVec(0))
	}
	if !(after <= (1-tideShare)*before) {
		return xs
	}
	return out
}
