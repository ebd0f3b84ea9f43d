package compare

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Verdict is the answer for a row or for the whole.
type Verdict string

// The verdicts.
const (
	Regression    Verdict = "regression"
	Improvement   Verdict = "improvement"
	NoDifference  Verdict = "no difference"
	NotComparable Verdict = "not comparable"
)

// Settings say how strict a comparison is.
type Settings struct {
	// FailOn is the least change that counts, 0.05 if zero.
	FailOn float64
	// Confidence is that of all intervals of one result together, 0.98 if zero:
	// one comparison in a hundred of two equal runs may err on the bad side, even
	// if FailOn is very small.
	Confidence float64
	// Seed of the bootstrap. The same records and settings give the same result.
	Seed uint64
	// Resamples of the bootstrap, 400 if zero.
	Resamples int
}

func (s Settings) withDefaults() Settings {
	if s.FailOn <= 0 {
		s.FailOn = 0.05
	}
	if s.Confidence <= 0 || s.Confidence >= 1 {
		s.Confidence = 0.98
	}
	if s.Resamples <= 0 {
		s.Resamples = 400
	}
	return s
}

// Result is a comparison.
type Result struct {
	Base, Cand *Record
	Settings   Settings
	Verdict    Verdict
	// Why explains the verdict in a sentence.
	Why string
	// Notes are things to know about the data.
	Notes []string
	Rows  []RowResult
	// Run are the metrics of the whole run: context without a verdict.
	Run []Estimate
	// Tests is the number of intervals among which the confidence is shared.
	Tests int
}

// RowResult is the comparison of one kind of operation.
type RowResult struct {
	// Base and Cand are the rows compared; one is nil if the other stands alone.
	Base, Cand *Row
	Verdict    Verdict
	// Why explains the verdict, Causes what may be behind a difference.
	Why     string
	Causes  []string
	Metrics []Estimate
}

// Key is the key of the row, that of the baseline if it has one.
func (r *RowResult) Key() Key {
	if r.Base != nil {
		return r.Base.Key
	}
	return r.Cand.Key
}

// Of returns the estimate of a metric, nil if there is none.
func (r *RowResult) Of(m Metric) *Estimate {
	for i := range r.Metrics {
		if r.Metrics[i].Metric == m {
			return &r.Metrics[i]
		}
	}
	return nil
}

// Compare judges a candidate against a baseline.
func Compare(base, cand *Record, s Settings) *Result {
	s = s.withDefaults()
	res := &Result{Base: base, Cand: cand, Settings: s}
	pairs := match(base, cand)
	mem := remember(base, cand)
	for i := range pairs {
		res.Tests += tests(&pairs[i])
	}
	est := func(salt string) *estimator {
		h := fnv.New64a()
		_, _ = h.Write([]byte(salt))
		return &estimator{
			rng: rand.New(rand.NewPCG(s.Seed, h.Sum64())), resamples: s.Resamples, alpha: (1 - s.Confidence) / float64(max(res.Tests, 1)),
		}
	}
	broken := cmp.Or(incomplete(base, cand), otherGPUs(base, cand))
	for i := range pairs {
		p := &pairs[i]
		row := RowResult{Base: p.base, Cand: p.cand, Verdict: NotComparable, Why: p.why}
		if p.base != nil && p.cand != nil {
			e := est(p.base.String())
			for m := range rowMetrics {
				if b, c := p.base.Of(m), p.cand.Of(m); len(b) > 1 && len(c) > 1 {
					row.Metrics = append(row.Metrics, e.change(&mem, m, base, cand, b, c))
				}
			}
			row.judge(p, s.FailOn, broken)
		}
		res.Rows = append(res.Rows, row)
	}
	for m := firstOfRun; m < numMetrics; m++ {
		if b, c := find(base.Run, m), find(cand.Run, m); len(b) > 1 && len(c) > 1 {
			res.Run = append(res.Run, est("run").change(&mem, m, base, cand, b, c))
		}
	}
	res.conclude(broken)
	return res
}

// tests counts the intervals of a pairing that may decide.
func tests(p *pairing) int {
	n := 0
	if p.base == nil || p.cand == nil {
		return 0
	}
	for m := range rowMetrics {
		if metrics[m].decides && len(p.base.Of(m)) > 1 && len(p.cand.Of(m)) > 1 {
			n++
		}
	}
	return n
}

// incomplete says which side cannot be trusted, "" if none.
func incomplete(base, cand *Record) string {
	const most = 0.1
	for _, side := range []struct {
		name string
		r    *Record
	}{{"baseline", base}, {"candidate", cand}} {
		if side.r.Ticks > 0 && float64(side.r.Incomplete) > most*float64(side.r.Ticks) {
			return fmt.Sprintf("incomplete data: %d of %d evaluations of the %s were answered in part only", side.r.Incomplete, side.r.Ticks, side.name)
		}
	}
	return ""
}

// otherGPUs says which GPUs the sides ran on if they differ: a comparison would
// judge the hardware, not the change.
func otherGPUs(base, cand *Record) string {
	if len(base.GPUs) == 0 || len(cand.GPUs) == 0 || slices.Equal(base.GPUs, cand.GPUs) {
		return ""
	}
	return fmt.Sprintf("other GPUs: the baseline ran on %s, the candidate on %s", strings.Join(base.GPUs, ", "), strings.Join(cand.GPUs, ", "))
}

// otherHosts says how many hosts the sides share, if they are known and differ.
func otherHosts(base, cand *Record) string {
	if len(base.Hosts) == 0 || len(cand.Hosts) == 0 || slices.Equal(base.Hosts, cand.Hosts) {
		return ""
	}
	common := 0
	for _, h := range cand.Hosts {
		if _, ok := slices.BinarySearch(base.Hosts, h); ok {
			common++
		}
	}
	return fmt.Sprintf("the sides ran on different hosts: %d and %d, of which %d are the same; hosts and paths differ by more than windows tell", len(base.Hosts), len(cand.Hosts), common)
}

// overlap says for how long the sides are the same time of the same job: what
// happened then is on both and hides a difference.
func overlap(base, cand *Record) string {
	both := min(base.To.UnixMilli(), cand.To.UnixMilli()) - max(base.From.UnixMilli(), cand.From.UnixMilli())
	shared := slices.ContainsFunc(base.Jobs, func(j string) bool { return slices.Contains(cand.Jobs, j) })
	if base.From.IsZero() || cand.From.IsZero() || both <= 0 || !shared {
		return ""
	}
	return fmt.Sprintf("the sides are the same job at the same time for %s", (time.Duration(both) * time.Millisecond).Round(time.Second))
}

func relative(a, b float64) float64 { return math.Abs(math.Log(b / a)) }
