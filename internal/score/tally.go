package score

import (
	"slices"
	"time"
)

// Record is the judgement of one run in the form that is saved.
type Record struct {
	Verdict  Verdict
	Wall     time.Duration
	Replayed time.Duration
	Rules    map[string]RuleSaid
}

// RuleSaid is what a baseline said in one run.
type RuleSaid struct {
	Found, Named, Wrong bool
	Alarms              int
}

// Tally collects the records of a measurement.
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
	False        int     // alarms on quiet runs
	Quiet        float64 // node-days of these runs
}

// Score judges an outcome.
func Score(o *Outcome) Record {
	r := Record{Verdict: Judge(o), Wall: o.Wall, Replayed: o.Until.Sub(o.Start), Rules: map[string]RuleSaid{}}
	for _, b := range baselines() {
		if o.Case.NoRules {
			break
		}
		alarms := o.Alarms[b.name]
		said := RuleSaid{Alarms: len(alarms)}
		if i := slices.IndexFunc(alarms, func(a Alarm) bool { return !a.At.Before(o.Truth.Onset) }); i >= 0 && !r.Verdict.Quiet {
			said.Found = true
			for _, s := range o.Truth.Suspects {
				said.Named = said.Named || s.Node != "" && s.Node == alarms[i].Name.Node
			}
			said.Wrong = r.Verdict.Nameable && !said.Named
		}
		r.Rules[b.name] = said
	}
	return r
}

// Add judges an outcome and keeps the judgement.
func (t *Tally) Add(o *Outcome) *Verdict {
	t.Put(Score(o))
	return &t.Verdicts[len(t.Verdicts)-1]
}

// Put adds a record.
func (t *Tally) Put(r Record) {
	t.Verdicts = append(t.Verdicts, r.Verdict)
	t.Wall += r.Wall
	t.Replayed += r.Replayed
	if t.Rules == nil {
		t.Rules = map[string]*Rule{}
	}
	for name, said := range r.Rules {
		b := t.Rules[name]
		if b == nil {
			b = &Rule{}
			t.Rules[name] = b
		}
		if r.Verdict.Quiet {
			b.False += said.Alarms
			b.Quiet += r.Verdict.NodeDays
			continue
		}
		b.Found = append(b.Found, said.Found)
		if r.Verdict.Nameable {
			b.Named = append(b.Named, said.Named)
		}
		if said.Wrong {
			b.WrongFirst++
		}
	}
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

// latencies are those of faults that have an onset and were found.
func latencies(vs []*Verdict) []time.Duration {
	var out []time.Duration
	for _, v := range vs {
		if v.Found && v.Dated {
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
