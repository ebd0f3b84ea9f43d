package web

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Operation is one kind of collective of one job, over all its members.
type Operation struct {
	Name string
	// Members that reported, Time (s) and Bandwidth (B/s) are medians over
	// them, NaN where unknown. Slowest is the lowest bandwidth as a share of
	// the median.
	Members         int
	Time, Bandwidth float64
	Slowest         float64
	At              time.Time
}

// operationsKept is how long figures stay: dumps are rarer than evaluations.
const operationsKept = 5 * time.Minute

// operations takes the figures of this tick, by job. The median of each member
// counts once, whatever sizes it sends.
func operations(s *signals.Snapshot) map[string][]Operation {
	times, widths := perMember(s, signals.CollExecTime), perMember(s, signals.CollBusBandwidth)
	out := map[string][]Operation{}
	for k, v := range times {
		w := widths[k]
		op := Operation{
			Name: k.op, Members: max(len(v), len(w)), Time: median(v), Bandwidth: median(w),
			Slowest: math.NaN(), At: s.Time,
		}
		if m := op.Bandwidth; len(w) > 1 && m > 0 {
			op.Slowest = slices.Min(w) / m
		}
		out[k.job] = append(out[k.job], op)
	}
	for job := range out {
		slices.SortFunc(out[job], func(a, b Operation) int { return cmp.Compare(a.Name, b.Name) })
	}
	return out
}

type jobOp struct{ job, op string }

// perMember returns one value for each GPU, by job and operation.
func perMember(s *signals.Snapshot, id signals.ID) map[jobOp][]float64 {
	f := s.Frame(id)
	if f.Len() == 0 {
		return nil
	}
	type member struct {
		jobOp
		thing signals.Entity
	}
	rows := map[member][]float64{}
	for i, eid := range f.Entity {
		e := s.Entities.Of(eid)
		if v := f.Value[i]; e.Job != "" && e.Op != "" && !math.IsNaN(v) && v > 0 {
			m := member{jobOp{e.Job, e.Op}, e.Thing()}
			rows[m] = append(rows[m], v)
		}
	}
	out := map[jobOp][]float64{}
	for m, values := range rows {
		out[m.jobOp] = append(out[m.jobOp], median(values))
	}
	return out
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Clone(v)
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// operationsOf returns the figures of an earlier tick while they are fresh.
func (s *State) operationsOf(job string, now time.Time) []Operation {
	j := s.job(job)
	if j == nil || len(j.Operations) == 0 || now.Sub(j.Operations[0].At) > operationsKept {
		return nil
	}
	return j.Operations
}
