package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawn is a row of any noise that jobs have: lag-1 correlation up to 0.9, lengths
// from a quarter of an hour to hours.
func drawn(rng *rand.Rand, key Key) rowOf {
	r := healthy()
	r.key, r.seed = key, rng.Uint64()
	r.windows = 30 + rng.IntN(400)
	r.cv, r.phi = 0.004*math.Pow(12, rng.Float64()), 0.9*rng.Float64()
	r.waiting = 0.3 * rng.Float64()
	return r
}

// equals are two records of the same job: equal levels, equal kind of noise, other
// lengths.
func equals(rng *rand.Rand) (a, b *Record) {
	var left, right []rowOf
	for _, op := range []string{"AllReduce", "AllGather", "ReduceScatter"} {
		key := allReduce()
		key.Op = op
		x := drawn(rng, key)
		y := x
		y.seed, y.windows = rng.Uint64(), 30+rng.IntN(400)
		left, right = append(left, x), append(right, y)
	}
	return record("a", left...), record("bb", right...)
}

// TestFalseRegressionsAreRare: of 200 pairs of equal jobs at most one in twenty may
// fail a pipeline, whatever the limit.
func TestFalseRegressionsAreRare(t *testing.T) {
	for _, limit := range []float64{0.01, 0.05} {
		rng := rand.New(rand.NewPCG(8, uint64(1000*limit)))
		wrong := 0
		for range 200 {
			a, b := equals(rng)
			if Compare(a, b, Settings{FailOn: limit}).Verdict == Regression {
				wrong++
			}
		}
		t.Logf("limit %.0f %%: %d of 200 equal pairs were called a regression", 100*limit, wrong)
		require.LessOrEqual(t, wrong, 10, "limit %.0f %%", 100*limit)
	}
}

// TestSmallChangesAreFoundInQuietJobs: with little noise three percent are found by
// who asks for two, and left alone by who asks for five.
func TestSmallChangesAreFoundInQuietJobs(t *testing.T) {
	found, called := 0, 0
	for seed := range uint64(50) {
		base, cand := healthy(), healthy()
		base.cv, cand.cv, base.windows, cand.windows = 0.006, 0.006, 200, 150
		base.seed, cand.seed = 2*seed+1, 2*seed+2
		cand.time *= 1.03
		cand.bandwidth /= 1.03
		a, b := record("a", base), record("bb", cand)
		if Compare(a, b, Settings{FailOn: 0.02}).Verdict == Regression {
			found++
		}
		if Compare(a, b, Settings{FailOn: 0.05}).Verdict == Regression {
			called++
		}
	}
	require.GreaterOrEqual(t, found, 47)
	require.Zero(t, called)
}

// A range compared with itself is neither better nor worse, whatever is in it.
func TestNothingDiffersFromItself(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		var rows []rowOf
		for i := range rapid.IntRange(1, 4).Draw(rt, "rows") {
			key := allReduce()
			key.Op = []string{"AllReduce", "AllGather", "ReduceScatter", "Broadcast"}[i]
			r := drawn(rng, key)
			r.windows = rapid.IntRange(1, 200).Draw(rt, "windows")
			if rapid.Bool().Draw(rt, "no bandwidth") {
				r.bandwidth = 0
			}
			rows = append(rows, r)
		}
		rec := record("a", rows...)
		rec.Incomplete = rapid.IntRange(0, 80).Draw(rt, "incomplete")
		res := Compare(rec, rec, Settings{FailOn: rapid.Float64Range(0.001, 0.5).Draw(rt, "limit")})
		require.NotEqual(rt, Regression, res.Verdict, res.Why)
		require.NotEqual(rt, Improvement, res.Verdict, res.Why)
	})
}
