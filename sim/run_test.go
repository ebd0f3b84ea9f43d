package sim

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// record runs a scenario into memory.
func record(t testing.TB, id string, p Params) (*Run, *OpenMetrics) {
	t.Helper()
	s, ok := Find(id)
	require.True(t, ok, id)
	om := NewOpenMetrics()
	run, err := s.New(p, om)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), run.Until))
	return run, om
}

func TestSameSeedSameBytes(t *testing.T) {
	texts := [3][]byte{}
	for i, seed := range []uint64{7, 7, 8} {
		_, om := record(t, "S01", Params{Seed: seed, Hosts: 4, Onset: 3 * time.Minute})
		var b bytes.Buffer
		require.NoError(t, om.Write(&b))
		texts[i] = b.Bytes()
	}
	require.True(t, bytes.Equal(texts[0], texts[1]), "equal seeds must give equal bytes")
	require.False(t, bytes.Equal(texts[0], texts[2]), "another seed must give other noise")
}
