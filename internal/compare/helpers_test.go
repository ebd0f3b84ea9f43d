package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// rowOf makes a row whose windows are an autoregressive process around levels:
// time in seconds, waiting as a part of it, bandwidth in B/s.
type rowOf struct {
	key       Key
	bytes     float64
	windows   int
	time      float64
	waiting   float64
	bandwidth float64
	cv, phi   float64
	seed      uint64
}

func allReduce() Key { return Key{"AllReduce", 16, 16, "128M", "ring_simple"} }

func healthy() rowOf {
	return rowOf{key: allReduce(), bytes: 134e6, windows: 40, time: 6.4e-3, waiting: 0.02, bandwidth: 41e9, cv: 0.02, phi: 0.5}
}

func (r rowOf) row() Row {
	rng := rand.New(rand.NewPCG(r.seed, 1))
	noise := ar(rng, r.windows, r.phi)
	out := Row{Key: r.key, Bytes: r.bytes, Groups: 8, Members: 128, Expected: 128, Windows: r.windows}
	var times, bands, transfers, waits []float64
	for _, x := range noise {
		f := math.Exp(r.cv * x)
		times = append(times, r.time*f)
		bands = append(bands, r.bandwidth/f)
		transfers = append(transfers, r.time*(1-r.waiting)*f)
		waits = append(waits, r.waiting)
	}
	add := func(m Metric, xs []float64, level float64) {
		if level > 0 {
			out.Series = append(out.Series, Series{m, reduce(xs)})
		}
	}
	add(Time, times, r.time)
	add(Bandwidth, bands, r.bandwidth)
	add(Transfer, transfers, r.time)
	add(Lateness, waits, r.waiting)
	return out
}

// ar is a stationary autoregressive process of unit variance with heavy tails.
func ar(rng *rand.Rand, n int, phi float64) []float64 {
	out := make([]float64, n)
	x := rng.NormFloat64()
	for i := range out {
		e := rng.NormFloat64()
		if rng.Float64() < 0.05 {
			e *= 3
		}
		x = phi*x + math.Sqrt(1-phi*phi)*e
		out[i] = x
	}
	return out
}

func record(source string, rows ...rowOf) *Record {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	out := &Record{Source: source, Jobs: []string{"48213"}, From: from, To: from.Add(40 * time.Minute), Ticks: 80}
	for i, r := range rows {
		if r.seed == 0 {
			r.seed = uint64(len(source)*100 + i)
		}
		out.Rows = append(out.Rows, r.row())
	}
	slices.SortFunc(out.Rows, func(a, b Row) int { return compareKeys(a.Key, b.Key) })
	return out
}

func nan() float64 { return math.NaN() }
