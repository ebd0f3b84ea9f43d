package detectors

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCorrelationOfResiduals(t *testing.T) {
	for _, want := range []float64{0.5, 0.7, 0.85} {
		for _, tails := range []int{0, 5} {
			n := noise{rng: rand.New(rand.NewPCG(3, 4)), phi: want, tails: tails}
			var c correlation
			for before, i := n.next(), 0; i < 4000; i++ {
				now := n.next()
				c.add(before, now)
				before = now
			}
			require.InDelta(t, want, c.phi(0.5), 0.06)
		}
	}
	var c correlation
	require.Equal(t, 0.5, c.phi(0.5), "nothing is known yet")
	for range 1000 {
		c.add(1, -1)
	}
	require.Equal(t, 0.5, c.phi(0.5), "never below what is assumed")
	for range 100000 {
		c.add(1, 1)
	}
	require.Equal(t, correlationHighest, c.phi(0.5))
}
