package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestALevelIsTheMiddle(t *testing.T) {
	require.InDelta(t, 3, level([]float64{-100, 2, 3, 4, 100}), 1e-12, "a fifth at either end does not count")
	require.InDelta(t, 1.5, level([]float64{1, 2}), 1e-12)
	rapid.Check(t, func(t *rapid.T) {
		xs := sorted(rapid.SliceOfN(rapid.Float64Range(-100, 100), 1, 60).Draw(t, "x"))
		got := level(xs)
		require.GreaterOrEqual(t, got, xs[0]-1e-9)
		require.LessOrEqual(t, got, xs[len(xs)-1]+1e-9)
		moved := make([]float64, len(xs))
		for i, x := range xs {
			moved[i] = x + 7
		}
		require.InDelta(t, got+7, level(moved), 1e-9)
	})
}

func TestAutocorrelationIsFound(t *testing.T) {
	for _, phi := range []float64{0, 0.3, 0.6, 0.9} {
		var all []float64
		for seed := range uint64(40) {
			all = append(all, autocorrelation(ar(rand.New(rand.NewPCG(seed, 3)), 60, phi)))
		}
		require.InDelta(t, phi, median(all), 0.08, "phi %g", phi)
	}
	require.True(t, math.IsNaN(autocorrelation(make([]float64, 20))), "a line that stands still tells nothing")
	require.True(t, math.IsNaN(autocorrelation([]float64{1, 2, 3})))
}

func TestReduceKeepsTheWholeTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = float64(i)
		}
		out := reduce(xs)
		require.NotEmpty(t, out)
		require.LessOrEqual(t, len(out), 48)
		require.IsNonDecreasing(t, out)
		require.LessOrEqual(t, out[0], float64(n)/2)
		require.GreaterOrEqual(t, out[len(out)-1], float64(n-1)/2, "the end counts as much as the beginning")
	})
}

func TestBlocksSeeMoreOfTheVarianceWhenLonger(t *testing.T) {
	require.InDelta(t, (1-0.5)/(1+0.5), seenShare(1, 0.5), 1e-12, "single values see the variance of independent ones")
	require.Less(t, seenShare(3, 0.5), seenShare(6, 0.5))
	require.InDelta(t, 1, seenShare(1000, 0.5), 0.01)
	require.Equal(t, 1, blockLength(48, 0))
	require.Greater(t, blockLength(48, 0.9), blockLength(48, 0.3))
	require.LessOrEqual(t, blockLength(8, 0.9), 2)
}

// TestIntervalsHold checks the promise of the confidence at a limit of nothing:
// whoever sets a very small --fail-on is protected by the intervals alone.
func TestIntervalsHold(t *testing.T) {
	if testing.Short() {
		t.Skip("many comparisons")
	}
	const runs = 120
	for _, tc := range []struct {
		name         string
		phi          float64
		baseN, candN int
		mostBad      int // of wrong regressions: one in a hundred is promised
		mostMissed   int // of true changes of one and a half standard deviations
	}{
		{"independent, equal length", 0, 40, 40, 5, 10},
		{"autocorrelated", 0.6, 40, 40, 5, 100},
		{"autocorrelated, unequal length", 0.6, 48, 14, 5, runs},
		{"strongly autocorrelated", 0.85, 48, 48, 5, runs},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bad, missed := 0, 0
			for seed := range uint64(runs) {
				b, c := healthy(), healthy()
				b.seed, b.phi, b.windows = 2*seed+1, tc.phi, tc.baseN
				c.seed, c.phi, c.windows = 2*seed+2, tc.phi, tc.candN
				s := Settings{FailOn: 1e-6, Seed: seed, Resamples: 100}
				if Compare(record("a", b), record("b", c), s).Verdict == Regression {
					bad++
				}
				c.time, c.bandwidth = c.time*1.03, c.bandwidth/1.03
				if Compare(record("a", b), record("b", c), s).Verdict != Regression {
					missed++
				}
			}
			t.Logf("%d of %d wrong, %d missed", bad, runs, missed)
			require.LessOrEqual(t, bad, tc.mostBad)
			require.LessOrEqual(t, missed, tc.mostMissed)
		})
	}
}
