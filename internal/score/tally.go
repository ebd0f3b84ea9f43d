package score

import (
	"slices"
	"time"
)

// Tally collects the judgements of a measurement.
type Tally struct {
	Verdicts []Verdict
	Rules    map[string]*Rule
	Wall     time.Duration
	Replayed time.Duration
}

// Rule is how a baseline did.
type Rule struct {
	Found, Named []bool // per fault; Named only where somebody is to be named
	WrongFirst   int
	False        int // alarms on quiet runs
}

// Add judges an outcome and keeps the judgement.
func (t *Tally) Add(o *Outcome) *Verdict {
	v := Judge(o)
	t.Verdicts = append(t.Verdicts, v)
	t.Wall += o.Wall
	t.Replayed += o.Until.Sub(o.Start)
	if t.Rules == nil {
		t.Rules = map[string]*Rule{}
	}
	for _, b := range baselines() {
		r := t.Rules[b.name]
		if r == nil {
			r = &Rule{}
			t.Rules[b.name] = r
		}
		alarms := o.Alarms[b.name]
		if v.Quiet {
			r.False += len(alarms)
			continue
		}
		i := slices.IndexFunc(alarms, func(a Alarm) bool { return !a.At.Before(o.Truth.Onset) })
		r.Found = append(r.Found, i >= 0)
		if v.Nameable {
			right := false
			if i >= 0 {
				for _, s := range o.Truth.Suspects {
					right = right || s.Node != "" && s.Node == alarms[i].Name.Node
				}
				if !right {
					r.WrongFirst++
				}
			}
			r.Named = append(r.Named, right)
		}
	}
	return &t.Verdicts[len(t.Verdicts)-1]
}

// where selects judgements.
func (t *Tally) where(keep func(*Verdict) bool) []*Verdict {
	var out []*Verdict
	for i := range t.Verdicts {
		if keep(&t.Verdicts[i]) {
			out = append(out, &t.Verdicts[i])
		}
	}
	return out
}

func faults(v *Verdict) bool { return !v.Quiet }
func quiet(v *Verdict) bool  { return v.Quiet }

// the proportion of judgements for which is holds.
func shareOf(vs []*Verdict, is func(*Verdict) bool) Share {
	hits := make([]bool, len(vs))
	for i, v := range vs {
		hits[i] = is(v)
	}
	return share(hits)
}

func found(v *Verdict) bool { return v.Found }
func top1(v *Verdict) bool  { return v.Top1 }
func top3(v *Verdict) bool  { return v.Top3 }

func latencies(vs []*Verdict) []time.Duration {
	var out []time.Duration
	for _, v := range vs {
		if v.Found {
			out = append(out, v.Latency)
		}
	}
	return out
}

func sum(vs []*Verdict, f func(*Verdict) int) int {
	n := 0
	for _, v := range vs {
		n += f(v)
	}
	return n
}

func nodeDays(vs []*Verdict) float64 {
	n := 0.0
	for _, v := range vs {
		n += v.NodeDays
	}
	return n
}
