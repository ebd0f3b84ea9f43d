package parse

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/testdata"
)

// TestLingjun reads the hosts of a real data centre. Its names of leaves are used
// again under other switches: read by name alone, 48 leaves of up to 24 hosts
// would come out, and blame would reach three times as far as it may.
func TestLingjun(t *testing.T) {
	file, err := os.Open(testdata.Path(t, "lingjun-topology", "topo.csv"))
	require.NoError(t, err)
	defer file.Close()
	start := time.Now()
	f, err := CSV(Source{Name: "topo.csv", Text: file})
	require.NoError(t, err)
	require.Less(t, time.Since(start), 500*time.Millisecond)

	hosts, leaves := map[string]bool{}, map[string]int{}
	for _, p := range f.Places {
		require.Equal(t, Leaf, p.Level)
		hosts[p.Host] = true
		leaves[p.Name]++
	}
	require.Len(t, hosts, 847)
	require.Len(t, leaves, 119)
	for leaf, n := range leaves {
		require.LessOrEqual(t, n, 8, leaf)
	}
	require.Len(t, f.Notes, 1)
	require.Contains(t, f.Notes[0].String(), "42 of 48 names of leaves")
	require.Empty(t, f.Problems)
}
