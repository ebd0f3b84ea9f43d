package detectors

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func testChart(phi float64) chart {
	return chart{lambda: 0.3, limit: 5, period: 30 * time.Second, phi: phi, floor: 0.01, effect: 0, warmUp: warmUp}
}

func TestStateOfASeriesIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(baseline{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(lateState{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(level{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(rowRef{}), uintptr(64))
}

// noise is an AR(1) process with innovations scaled to unit variance.
type noise struct {
	rng   *rand.Rand
	phi   float64
	tails int // degrees of freedom of t innovations, 0 for normal ones
	x     float64
}

func (n *noise) next() float64 {
	e := n.rng.NormFloat64()
	if n.tails > 0 {
		chi := 0.0
		for range n.tails {
			g := n.rng.NormFloat64()
			chi += g * g
		}
		e /= math.Sqrt(chi / float64(n.tails))
		e /= math.Sqrt(float64(n.tails) / float64(n.tails-2))
	}
	n.x = n.phi*n.x + math.Sqrt(1-n.phi*n.phi)*e
	return n.x
}

// episodes counts the times a quiet series becomes suspect in so many samples
// of 30 s: by 2 of 3 exceedances, and by 3 of 4 as a slow transfer needs.
func episodes(n *noise, samples int) (two, three int) {
	c := testChart(n.phi)
	var b baseline
	was, lasts := false, false
	for i := range samples {
		b.update(0.03*n.next(), int64(i+1)*30_000, &c, false)
		on := b.flags&(flagUp|flagDown) != 0
		if on && !was {
			two++
		}
		was = on
		if now := lasting(lasts && on, b.hits); now != lasts {
			if lasts = now; now {
				three++
			}
		}
	}
	return two, three
}

// The default, λ = 0.3, L = 5 with correction for autocorrelation, on a million
// evaluations each. The budgets are twice what was measured, see
// docs/detectors/shift.md.
func TestQuietSeriesStayQuiet(t *testing.T) {
	if testing.Short() {
		t.Skip("a million evaluations each")
	}
	for name, tc := range map[string]struct {
		phi        float64
		tails      int
		two, three int
	}{
		"normal":             {0, 0, 2, 2},
		"normal, φ 0.5":      {0.5, 0, 2, 2},
		"normal, φ 0.9":      {0.9, 0, 2, 2},
		"heavy tails":        {0, 5, 200, 20},
		"heavy tails, φ 0.5": {0.5, 5, 220, 60},
		"heavy tails, φ 0.7": {0.7, 5, 140, 60},
		"heavy tails, φ 0.9": {0.9, 5, 40, 30},
		"very heavy, φ 0.7":  {0.7, 3, 1500, 900},
	} {
		t.Run(name, func(t *testing.T) {
			two, three := episodes(&noise{rng: rand.New(rand.NewPCG(1, uint64(tc.tails))), phi: tc.phi, tails: tc.tails}, 1_000_000)
			t.Logf("%d per million by 2 of 3, %d by 3 of 4", two, three)
			require.LessOrEqual(t, two, tc.two)
			require.LessOrEqual(t, three, tc.three)
		})
	}
}

// delay is how many samples it takes to see a shift of the given size.
func delay(shift float64, seed uint64) int {
	c := testChart(0.5)
	n := &noise{rng: rand.New(rand.NewPCG(seed, 3)), phi: 0.5, tails: 5}
	var b baseline
	i := 0
	for ; i < 200; i++ {
		b.update(0.03*n.next(), int64(i+1)*30_000, &c, false)
	}
	for k := 1; k < 200; k++ {
		b.update(0.03*n.next()+shift, int64(i+k+1)*30_000, &c, false)
		if b.flags&flagUp != 0 {
			return k
		}
	}
	return 200
}

func TestShiftsAreSeenFast(t *testing.T) {
	var ds []float64
	for seed := range uint64(100) {
		ds = append(ds, float64(delay(math.Log(1.2), seed)))
	}
	m := Median(ds)
	t.Logf("20 %% at a CV of 3 %%, φ 0.5, t5: median %v, p95 %v samples", m, ds[95])
	require.LessOrEqual(t, m, 4.0)
	require.LessOrEqual(t, ds[95], 8.0)
}

func TestAFaultIsNotLearned(t *testing.T) {
	c := testChart(0.5)
	n := &noise{rng: rand.New(rand.NewPCG(2, 3)), phi: 0.5}
	var b baseline
	at := int64(0)
	step := func(x float64, frozen bool) {
		at += 30_000
		b.update(x+0.02*n.next(), at, &c, frozen)
	}
	for range 200 {
		step(0, false)
	}
	level, scale := b.level, b.scale
	for range 2000 {
		step(0.3, false)
	}
	require.NotZero(t, b.flags&flagUp)
	require.InDelta(t, level, b.level, 0.02, "sixteen hours of a fault do not move what is normal")
	require.InDelta(t, scale, b.scale, 0.005)
	for range 40 {
		step(0, false)
	}
	require.Zero(t, b.flags&(flagUp|flagDown), "it ends with the fault")

	frozen := b
	for range 500 {
		step(0.05, true)
	}
	require.Equal(t, frozen.level, b.level, "nothing is learned while the component is suspect")
}

func TestGapsAndIrregularSamples(t *testing.T) {
	c := testChart(0)
	n := &noise{rng: rand.New(rand.NewPCG(4, 3))}
	var b baseline
	at := int64(0)
	for i := range 20_000 {
		at += 5_000 + int64(n.rng.IntN(60_000))
		if i%500 == 0 {
			at += 3_600_000
		}
		b.update(0.03*n.next(), at, &c, false)
		require.Zero(t, b.flags, "sample %d", i)
	}
	before := b
	require.True(t, math.IsNaN(b.update(9, at, &c, false)), "the same sample again is none")
	require.Equal(t, before, b)
	b.update(3, at+3_600_000, &c, false)
	require.Zero(t, b.flags, "one sample after a gap proves nothing")
	require.InDelta(t, before.level, b.level, 1e-3, "the baseline outlives the gap")
}

func TestConstantSeriesDoNotExplode(t *testing.T) {
	c := testChart(0.5)
	var b baseline
	for i := range 1000 {
		b.update(math.Log(1755e6), int64(i+1)*30_000, &c, false)
	}
	for i := range 100 {
		b.update(math.Log(1755e6*(1+0.004*float64(i%2))), int64(i+1001)*30_000, &c, false)
	}
	require.Zero(t, b.flags, "a ripple of 0.4 %% is none: the scale has a floor")
}

func TestUpdateDoesNotAllocate(t *testing.T) {
	c := testChart(0.5)
	var b baseline
	at := int64(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		at += 30_000
		b.update(float64(at%7)*0.01, at, &c, false)
	}))
}

func BenchmarkBaseline(b *testing.B) {
	c := testChart(0.5)
	states := make([]baseline, 4096)
	for i := range b.N {
		k := i % len(states)
		states[k].update(float64(i%11)*0.001, int64(i/len(states)+1)*30_000, &c, false)
	}
}

func BenchmarkSpread(b *testing.B) {
	xs, ys, tmp := make([]float64, 128), make([]float64, 128), make([]float64, 0, 128)
	for i := range xs {
		xs[i] = float64((i * 7919) % 128)
	}
	b.ReportMetric(float64(len(xs)), "peers")
	for range b.N {
		copy(ys, xs)
		spreadOf(ys, tmp)
	}
}
