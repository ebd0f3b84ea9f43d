package compare

import (
	"math"
	"slices"
)

// memory is how much the blocks of two records depend on the blocks before them:
// the autocorrelation of each metric, pooled over the rows of a record.
type memory struct {
	base, cand [numMetrics]float64
	// alike says that blocks of both are about as long, so that what one tells
	// holds for the other: the autocorrelation of half hours says nothing about
	// that of minutes.
	alike bool
	// tide says that both sides cover a day, whose tide is taken off.
	tide bool
}

// alikeBlocks is how many times as long the blocks of one side may be.
const alikeBlocks = 1.5

func remember(base, cand *Record) memory {
	a, b := base.Duration().Seconds()*cand.mostBlocks(), cand.Duration().Seconds()*base.mostBlocks()
	out := memory{alike: !(a > 0) || !(b > 0) || max(a, b) <= alikeBlocks*min(a, b)}
	out.tide = min(base.Duration().Seconds(), cand.Duration().Seconds()) >= wholeDay*day
	for m := range numMetrics {
		b, c := out.values(m, base, base.all(m)...), out.values(m, cand, cand.all(m)...)
		if both := slices.Concat(b, c); out.alike {
			b, c = both, both
		}
		out.base[m], out.cand[m] = pooledPhi(b), pooledPhi(c)
	}
	return out
}

// values are series as they are compared: transformed, and without a tide.
func (mem *memory) values(m Metric, r *Record, series ...[]float64) [][]float64 {
	out := make([][]float64, len(series))
	for i, xs := range series {
		out[i] = transform(xs, metrics[m].points)
		if mem.tide {
			out[i] = tideless(out[i], r.Duration().Seconds())
		}
	}
	return out
}

// sides are two series, transformed, with their memory: that of their metric, or their own if it
// is longer. One row that wanders among many that do not (the only operation that
// crosses hosts) would have an interval that lies.
func (mem *memory) sides(m Metric, base, cand *Record, b, c []float64) (x, y side) {
	own := func(xs []float64) float64 {
		phi := autocorrelation(xs)
		if math.IsNaN(phi) {
			return 0
		}
		return phi
	}
	b, c = mem.values(m, base, b)[0], mem.values(m, cand, c)[0]
	px, py := own(b), own(c)
	if nx, ny := float64(len(b)), float64(len(c)); mem.alike && min(nx, ny) >= leastBlocks {
		px = (nx*px + ny*py) / (nx + ny)
		py = px
	}
	return side{b, min(phiMost, max(mem.base[m], px)), base.Duration().Seconds()}, side{c, min(phiMost, max(mem.cand[m], py)), cand.Duration().Seconds()}
}

// all returns the series of a metric of all rows and of the run.
func (r *Record) all(m Metric) [][]float64 {
	out := [][]float64{find(r.Run, m)}
	for i := range r.Rows {
		out = append(out, r.Rows[i].Of(m))
	}
	return out
}

// mostBlocks is the largest number of blocks of any series.
func (r *Record) mostBlocks() float64 {
	n := 0
	for m := range numMetrics {
		for _, xs := range r.all(m) {
			n = max(n, len(xs))
		}
	}
	return float64(n)
}

// pooledPhi is the autocorrelation of a metric over all series that show it, plus
// one standard error of what they tell about it: too little autocorrelation makes
// an interval that lies, too much only one that is wide.
func pooledPhi(series [][]float64) float64 {
	var all []float64
	n := 0
	for _, xs := range series {
		if phi := autocorrelation(xs); !math.IsNaN(phi) {
			all = append(all, phi)
			n += len(xs)
		}
	}
	if len(all) == 0 {
		return phiUnknown
	}
	phi := max(0, min(phiMost, median(all)))
	return max(phiLeast, min(phiMost, phi+math.Sqrt((1-phi*phi)/float64(n))))
}

// freedom is the degrees of freedom of what a side tells about its spread: n values
// of an autoregressive process tell as much about their variance as
// n (1−φ²)/(1+φ²) independent ones (Bayley and Hammersley 1946).
func (s *side) freedom() float64 {
	return max(1, float64(len(s.blocks))*(1-s.phi*s.phi)/(1+s.phi*s.phi)-1)
}

// leastFreedom bounds the degrees of freedom: with fewer, Student's t asks for
// twenty standard errors where a whole result shares its confidence, and no change
// would ever be seen.
const leastFreedom = 3

// freedom is the degrees of freedom of the difference of two sides with standard
// errors ex and ey (Welch 1947): what the side tells that errs most decides.
func freedom(ex, nx, ey, ny float64) float64 {
	vx, vy := ex*ex, ey*ey
	return max(leastFreedom, (vx+vy)*(vx+vy)/(vx*vx/nx+vy*vy/ny))
}

// longer is how many times as long as the other a side must be to show how much
// stretches of the other's length differ.
const longer = 4

// wander is how much stretches as long as the shorter side differ within a much
// longer one: the standard error of one such stretch against the whole. A quarter
// of an hour has no windows that tell of the tide of a day, but the day has. It is
// zero if long is not much longer.
func wander(long, short *side) float64 {
	n := len(long.blocks)
	if !(short.span > 0) || long.span < longer*short.span || n < longer {
		return 0
	}
	per := max(1, int(math.Round(float64(n)*short.span/long.span)))
	var means []float64
	for i := 0; i+per <= n; i += per {
		means = append(means, level(sorted(long.blocks[i:i+per])))
	}
	k := float64(len(means))
	if k < longer {
		return 0
	}
	mean, sum := average(means), 0.0
	for _, v := range means {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / (k - 1) * (1 + 1/k))
}
