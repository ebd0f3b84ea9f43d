package score

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// The rules here are those of general tools, on the series that a user would
// give them. Where they want a day of history they get what there is.

// distant is the outlier test of hosted monitoring: the usual distance of a
// member to the median member, times a tolerance of 3.
func distant(ms []member, hit map[signals.Entity]bool) {
	mid := middle(ms)
	far := make([]float64, len(ms))
	for i := range ms {
		far[i] = math.Abs(ms[i].v - mid)
	}
	slices.Sort(far)
	limit := 3 * far[len(far)/2]
	for _, m := range ms {
		if limit > 0 && math.Abs(m.v-mid) > limit {
			hit[m.thing] = true
		}
	}
}

const (
	pastEvery = 4    // ticks of 15 s between two values kept and judged
	pastLeast = 30   // minutes without which the rules are silent
	pastHour  = 60   // values of an hour
	pastMost  = 1560 // 26 h
)

// history keeps the values of a signal and returns those shown now.
func (b *baseline) history(s *signals.Snapshot, id signals.ID) map[signals.Entity]float64 {
	now := b.shown(s, id)
	for e, v := range now {
		p := append(b.past[e], v)
		b.past[e] = p[max(0, len(p)-pastMost):]
	}
	for e := range b.past {
		if _, ok := now[e]; !ok {
			delete(b.past, e)
		}
	}
	return now
}

// adaptive is the adaptive rule of grafana/promql-anomaly-detection: a mean of
// 1 h with a band of two smoothed standard deviations, which count only where
// the coefficient of variation is above 0.5; otherwise the margin is half of the
// mean.
func adaptive(b *baseline, s *signals.Snapshot) map[signals.Entity]bool {
	hit := map[signals.Entity]bool{}
	for e, v := range b.history(s, signals.CollBusBandwidth) {
		p := b.past[e]
		if len(p) < pastLeast {
			continue
		}
		hour := p[max(0, len(p)-pastHour):]
		mean, sd := moments(hour)
		margin := 0.5 * mean
		if _, all := moments(p); mean > 0 && sd/mean > 0.5 {
			margin = 2 * all
		}
		if v < mean-margin || v > mean+margin {
			hit[e.Thing()] = true
		}
	}
	return hit
}

// robust is the robust rule of the same: a median of 24 h with a band of two
// MAD, at least half of it, around which the median of the last hour may be.
func robust(b *baseline, s *signals.Snapshot) map[signals.Entity]bool {
	hit := map[signals.Entity]bool{}
	now := b.shown(s, signals.CollBusBandwidth)
	for e := range b.ranked {
		if _, ok := now[e]; !ok {
			delete(b.ranked, e)
		}
	}
	for e, v := range now {
		r := b.ranked[e]
		if r == nil {
			r = &[2]ranked{}
			b.ranked[e] = r
		}
		day, hour := &r[0], &r[1]
		day.add(v, pastMost)
		hour.add(v, pastHour)
		if len(day.sorted) < pastLeast {
			continue
		}
		mid := day.median()
		away := math.Abs(hour.median() - mid)
		if away <= 0.5*mid {
			continue // inside the least band; the MAD of a day takes long
		}
		off := make([]float64, len(day.sorted))
		for i, x := range day.sorted {
			off[i] = math.Abs(x - mid)
		}
		slices.Sort(off)
		if away > 2*off[len(off)/2] {
			hit[e.Thing()] = true
		}
	}
	return hit
}

// ranked holds the newest values, and the same in their order: a day of them is
// sorted once and not at every look.
type ranked struct{ values, sorted []float64 }

// add takes a value in and drops the oldest of more than most.
func (r *ranked) add(v float64, most int) {
	r.values = append(r.values, v)
	i, _ := slices.BinarySearch(r.sorted, v)
	r.sorted = slices.Insert(r.sorted, i, v)
	if len(r.values) > most {
		i, _ = slices.BinarySearch(r.sorted, r.values[0])
		r.sorted = slices.Delete(r.sorted, i, i+1)
		r.values = r.values[1:]
	}
}

func (r *ranked) median() float64 { return r.sorted[len(r.sorted)/2] }

// minder is the similarity test of Minder (NSDI 2025) without the denoising
// network: per metric the sum of distances of a host to all others, and a host
// whose z-score over the hosts is above 3 in any metric, for four minutes.
func minder(b *baseline, s *signals.Snapshot) map[signals.Entity]bool {
	hit := map[signals.Entity]bool{}
	for _, id := range minderSignals() {
		sums, n := map[string]float64{}, map[string]float64{}
		for e, v := range b.shown(s, id) {
			sums[e.Host] += v
			n[e.Host]++
		}
		for host := range sums {
			sums[host] /= n[host]
		}
		for _, host := range unlike(sums) {
			hit[signals.Entity{Kind: signals.KindHost, Host: host}] = true
		}
	}
	return hit
}

// minderSignals are its metrics as far as exporters have them.
func minderSignals() []signals.ID {
	return []signals.ID{signals.HostCPUPressure, signals.NICPauseTx, signals.GPUUtil, signals.GPUPower, signals.GPUTensorActive, signals.GPUSMActive, signals.NICTx}
}

// unlike returns the hosts whose distance to the others stands out.
func unlike(values map[string]float64) []string {
	if len(values) < 4 {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if high <= low {
		return nil
	}
	var far []float64
	by := map[string]float64{}
	for host, v := range values {
		for _, w := range values {
			by[host] += math.Abs(v-w) / (high - low)
		}
		far = append(far, by[host])
	}
	mean, sd := moments(far)
	var out []string
	for host, d := range by {
		if sd > 0 && (d-mean)/sd > 3 {
			out = append(out, host)
		}
	}
	return out
}

func moments(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x
	}
	mean /= float64(len(xs))
	for _, x := range xs {
		sd += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(sd / float64(len(xs)))
}
