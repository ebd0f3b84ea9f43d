package compare

import (
	"fmt"
	"math"
	"strings"
)

// sizeDrift is how far the median message sizes of one class may differ before
// times are no longer compared: time grows with the bytes.
const sizeDrift = 0.02

// judge makes the verdict of a row from its estimates.
func (r *RowResult) judge(p *pairing, failOn float64, broken string) {
	if broken != "" {
		r.Why = broken
		return
	}
	if why := r.tooLittle(); why != "" {
		r.Why = why
		return
	}
	sized := p.base.Bytes > 0 && p.cand.Bytes > 0 && relative(p.base.Bytes, p.cand.Bytes) > sizeDrift
	allowed := func(m Metric) bool { return !sized || m == Bandwidth }
	var worse, better, same, open []*Estimate
	for i := range r.Metrics {
		e := &r.Metrics[i]
		if !metrics[e.Metric].decides || !allowed(e.Metric) || e.BaseN < leastBlocks || e.CandN < leastBlocks {
			continue
		}
		change, low, high := e.worse()
		switch {
		case change >= failOn && low > 0:
			worse = append(worse, e)
		case change <= -failOn && high < 0:
			better = append(better, e)
		case e.Conclusive(failOn):
			same = append(same, e)
		default:
			open = append(open, e)
		}
	}
	switch {
	case len(worse) > 0:
		r.Verdict, r.Why = Regression, says(worse)
	case len(better) > 0:
		r.Verdict, r.Why = Improvement, says(better)
	case len(same) > 0:
		r.Verdict, r.Why = NoDifference, fmt.Sprintf("within %.3g %%", 100*failOn)
		if len(open) > 0 {
			r.Why += ", but " + uncertain(open[0])
		}
	case len(open) > 0:
		r.Verdict, r.Why = NotComparable, uncertain(open[0])
	default:
		r.Verdict, r.Why = NotComparable, r.nothingLeft(sized)
	}
	if p.kind == pairSize && !sizeIsHonest(p, r.Verdict) {
		r.Verdict, r.Why = NotComparable, "other message size: larger messages reach more bandwidth by nature"
	}
	r.Causes = causes(p, r, sized)
}

func uncertain(e *Estimate) string {
	return fmt.Sprintf("too uncertain: %s changed by %s to %s", e.Metric.Title(), e.Metric.FormatChange(e.Low), e.Metric.FormatChange(e.High))
}

// sizeIsHonest says that a difference between two sizes is not what the sizes
// alone would do: larger messages reach a little more bandwidth.
func sizeIsHonest(p *pairing, v Verdict) bool {
	larger := p.cand.Bytes > p.base.Bytes
	return v == NoDifference || (v == Regression && larger) || (v == Improvement && !larger) || v == NotComparable
}

func (r *RowResult) nothingLeft(sized bool) string {
	if sized {
		return fmt.Sprintf("message size changed from %s to %s, and there is no bandwidth to compare", bytesText(r.Base.Bytes), bytesText(r.Cand.Bytes))
	}
	return "no metric that both sides have"
}

// tooLittle says why a row has too few data.
func (r *RowResult) tooLittle() string {
	for _, side := range []struct {
		name string
		row  *Row
	}{{"baseline", r.Base}, {"candidate", r.Cand}} {
		most := 0
		for _, s := range side.row.Series {
			if metrics[s.Metric].decides {
				most = max(most, len(s.Blocks))
			}
		}
		if most < leastBlocks {
			return fmt.Sprintf("too few windows: the %s has %d, %d are needed", side.name, most, leastBlocks)
		}
		if e := side.row.Expected; e > 0 && 2*side.row.Members < e {
			return fmt.Sprintf("incomplete data: the %s shows %d of %d members", side.name, side.row.Members, e)
		}
	}
	return ""
}

func says(list []*Estimate) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = fmt.Sprintf("%s %s (%s to %s)", e.Metric.Title(), e.Metric.FormatChange(e.Change), e.Metric.FormatChange(e.Low), e.Metric.FormatChange(e.High))
	}
	return strings.Join(parts, ", ")
}

// causes lists what changed beside the figures.
func causes(p *pairing, r *RowResult, sized bool) []string {
	var out []string
	if p.kind == pairAlgorithm {
		out = append(out, fmt.Sprintf("algorithm changed from %s to %s", orNone(p.base.Algo), orNone(p.cand.Algo)))
	}
	if sized || p.kind == pairSize {
		out = append(out, fmt.Sprintf("message size changed from %s to %s: only bandwidth is judged", bytesText(p.base.Bytes), bytesText(p.cand.Bytes)))
	}
	t, l, x := r.Of(Time), r.Of(Lateness), r.Of(Transfer)
	if r.Verdict != Regression || sized || t == nil || l == nil {
		return out
	}
	if change, _, _ := t.worse(); change <= 0 {
		return out
	}
	// Time is transfer and waiting; which part grew?
	grown := t.Cand - t.Base
	waited := t.Cand*l.Cand - t.Base*l.Base
	switch share := waited / grown; {
	case grown <= 0:
	case share >= 0.7:
		out = append(out, fmt.Sprintf("%.0f %% of the added time is waiting for the last to arrive: look at compute, hosts and input before the network", 100*math.Min(share, 1)))
	case share <= 0.3 && x != nil:
		out = append(out, "the transfer itself is slower, not the waiting: look at links, algorithm and congestion")
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// conclude makes the verdict of the whole.
func (res *Result) conclude(broken string) {
	count := map[Verdict]int{}
	baseRows, lost := 0, 0
	for i := range res.Rows {
		r := &res.Rows[i]
		count[r.Verdict]++
		if r.Base != nil {
			baseRows++
			if r.Verdict == NotComparable {
				lost++
			}
		}
	}
	judged := baseRows - lost
	unseen := ""
	if lost > 0 {
		unseen = fmt.Sprintf("; %d of the baseline's %d could not be compared", lost, baseRows)
	}
	switch {
	case broken != "":
		res.Verdict, res.Why = NotComparable, broken
	case count[Regression] > 0:
		res.Verdict, res.Why = Regression, fmt.Sprintf("%d of %d comparable operations got worse by %.3g %% or more", count[Regression], judged, 100*res.Settings.FailOn)
	case judged == 0:
		res.Verdict, res.Why = NotComparable, res.nothing()
	case 2*lost > baseRows:
		res.Verdict, res.Why = NotComparable, fmt.Sprintf("only %d of the baseline's %d operations can be compared, and these show no regression", judged, baseRows)
	case count[Improvement] > 0:
		res.Verdict, res.Why = Improvement, fmt.Sprintf("%d of %d comparable operations got better by %.3g %% or more", count[Improvement], judged, 100*res.Settings.FailOn)+unseen
	default:
		res.Verdict, res.Why = NoDifference, fmt.Sprintf("%d of %d operations of the baseline differ by less than %.3g %%", judged, baseRows, 100*res.Settings.FailOn)+unseen
	}
	res.excuse()
	res.notes()
}

func (res *Result) nothing() string {
	for _, side := range []struct {
		name string
		r    *Record
	}{{"baseline", res.Base}, {"candidate", res.Cand}} {
		if len(side.r.Rows) == 0 {
			return fmt.Sprintf("the %s (%s) has no collectives with new values", side.name, side.r.Source)
		}
	}
	why := ""
	for i := range res.Rows {
		if w := res.Rows[i].Why; why == "" {
			why = w
		} else if w != why {
			return "no operation can be compared, for different reasons"
		}
	}
	return why
}

func (res *Result) notes() {
	if note := overlap(res.Base, res.Cand); note != "" {
		res.Notes = append(res.Notes, note)
	}
	if note := otherHosts(res.Base, res.Cand); note != "" {
		res.Notes = append(res.Notes, note)
	}
	for _, side := range []struct {
		name string
		r    *Record
	}{{"baseline", res.Base}, {"candidate", res.Cand}} {
		if n := len(side.r.Jobs); n > 1 {
			res.Notes = append(res.Notes, fmt.Sprintf("the %s holds %d jobs together: %s", side.name, n, few(append([]string(nil), side.r.Jobs...))))
		}
		res.Notes = append(res.Notes, faultNotes(side.name, side.r)...)
		if side.r.Unwatched != "" {
			res.Notes = append(res.Notes, side.r.Unwatched)
		}
		if side.r.Incomplete > 0 && side.r.Ticks > 0 {
			res.Notes = append(res.Notes, fmt.Sprintf("%.1f %% of the %s's evaluations were answered in part only", 100*float64(side.r.Incomplete)/float64(side.r.Ticks), side.name))
		}
	}
}

// bytesText writes a size with three digits and a 1024-based unit.
func bytesText(v float64) string {
	if !(v > 0) {
		return "unknown"
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	u := 0
	for v >= 1023.5 && u < len(units)-1 {
		v /= 1024
		u++
	}
	return significant(v) + " " + units[u]
}
