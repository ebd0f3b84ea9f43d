package score

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestRankedIsTheNewestInOrder compares the median of a moving window with that
// of the same values, sorted anew.
func TestRankedIsTheNewestInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 5), 1, 60).Draw(t, "values")
		most := rapid.IntRange(1, 20).Draw(t, "most")
		var r ranked
		for i, v := range values {
			r.add(v, most)
			want := slices.Sorted(slices.Values(values[max(0, i+1-most) : i+1]))
			require.Equal(t, want, r.sorted)
			require.Equal(t, want[len(want)/2], r.median())
		}
	})
}
