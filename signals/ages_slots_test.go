package signals

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Slots get other numbers when what is gone is forgotten: those of before lead nowhere.
func TestPlainSlotsAreOfOneGeneration(t *testing.T) {
	r, p := &Reader{}, plainSlots{}
	*p.at(r, 3) = 8
	require.EqualValues(t, 8, *p.at(r, 3))
	require.Zero(t, *p.at(r, 5))
	r.generation++
	require.Zero(t, *p.at(r, 3))
	require.Zero(t, *p.at(r, 1))
}
