package dense

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// An Index is a map from values to the order of their arrival, whatever the hash
// is worth.
func TestIndexIsAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mask := rapid.SampledFrom([]uint64{0, 3, 1<<64 - 1}).Draw(rt, "mask")
		hash := func(v int) uint64 { return Mix(uint64(v)) & mask }
		var x Index
		var list []int
		known := map[int]uint32{}
		for _, v := range rapid.SliceOf(rapid.IntRange(0, 200)).Draw(rt, "values") {
			i, ok := x.Find(hash(v), func(i uint32) bool { return list[i] == v })
			want, was := known[v]
			require.Equal(rt, was, ok)
			if ok {
				require.Equal(rt, want, i)
				continue
			}
			known[v] = uint32(len(list))
			list = append(list, v)
			x.Add(hash(v), known[v], func(i uint32) uint64 { return hash(list[i]) })
		}
		require.Equal(rt, len(known), x.Len())
	})
}
