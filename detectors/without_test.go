package detectors

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Leaving out an element gives what a copy without it gives, to the last bit.
func TestWithoutEqualsACopy(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(-9, -3), rapid.Map(rapid.IntRange(-3, 3), func(i int) float64 { return float64(i) }))
		xs := rapid.SliceOfN(value, 2, 40).Draw(rt, "values")
		slices.Sort(xs)
		x := rapid.SampledFrom(xs).Draw(rt, "left out")
		w, ok := withoutValue(xs, x)
		require.True(rt, ok)
		rest := slices.Delete(slices.Clone(xs), w.gap, w.gap+1)
		require.Equal(rt, spreadOf(rest, make([]float64, 0, len(rest))), w.spread())
	})
}
