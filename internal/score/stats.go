package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Share is a proportion with its bootstrap interval of 95 %.
type Share struct {
	Hits, Of  int
	Low, High float64
}

// share bootstraps over the cases, which are independent runs.
func share(hits []bool) Share {
	s := Share{Of: len(hits)}
	for _, h := range hits {
		if h {
			s.Hits++
		}
	}
	if s.Of == 0 {
		return s
	}
	rng := rand.New(rand.NewPCG(1, uint64(s.Of)))
	const rounds = 1000
	means := make([]float64, rounds)
	for i := range means {
		n := 0
		for range s.Of {
			if hits[rng.IntN(s.Of)] {
				n++
			}
		}
		means[i] = float64(n) / float64(s.Of)
	}
	slices.Sort(means)
	s.Low, s.High = means[rounds*25/1000], means[rounds*975/1000-1]
	return s
}

// Value is the proportion, NaN of nothing.
func (s Share) Value() float64 { return float64(s.Hits) / float64(s.Of) }

// String is "0.95 (0.91 to 0.98, 190 of 200)".
func (s Share) String() string {
	if s.Of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f; %d of %d)", s.Value(), s.Low, s.High, s.Hits, s.Of)
}

// quantile of durations, by the nearest rank.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Clone(d)
	slices.Sort(d)
	return d[min(len(d)-1, int(math.Ceil(q*float64(len(d))))-min(1, int(math.Ceil(q*float64(len(d))))))]
}

// perThousand is a count per 1,000 node-days with the upper limit of 95 %: of
// Poisson counts for small numbers, 3 for none.
func perThousand(count int, nodeDays float64) string {
	if nodeDays == 0 {
		return "–"
	}
	n := float64(count)
	upper := 3.0
	if count > 0 {
		upper = n + 1.92 + 1.96*math.Sqrt(n+1)
	}
	return fmt.Sprintf("%.2f (at most %.2f)", n/nodeDays*1000, upper/nodeDays*1000)
}
