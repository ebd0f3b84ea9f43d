package score

import (
	"fmt"
	"strconv"
	"time"
)

// row is one line of the summary.
type row struct {
	what, got, target string
	met               bool
	why               string // where it is not met
}

func (p *page) summary(t *Tally) {
	p.line("## Summary\n\n| measure | result | target | met |\n|---|---|---|---|")
	for _, r := range t.measures() {
		met := "yes"
		switch {
		case r.target == "–":
			met = "–"
		case !r.met:
			met = "**no**"
		}
		p.line("| %s | %s | %s | %s |", r.what, r.got, r.target, met)
	}
	p.line("")
}

// measures are the figures of the summary.
func (t *Tally) measures() []row {
	f, q := t.where(faults), t.where(quiet)
	named := t.where(func(v *Verdict) bool { return v.Nameable })
	everything := t.where(func(*Verdict) bool { return true })
	strong := t.where(func(v *Verdict) bool { return !v.Quiet && v.Severity >= 0.6 })
	weak := t.where(func(v *Verdict) bool { return !v.Quiet && v.Severity < 0.45 })
	wrong := func(v *Verdict) int { return len(v.Wrong) }
	opens := func(v *Verdict) int { return v.Opens }
	false0 := func(v *Verdict) int { return len(v.False) }
	right := sum(f, func(v *Verdict) int { return min(v.Opens, 1) })
	raised := sum(f, opens) + sum(everything, false0)
	precision := float64(right) / float64(max(1, raised))
	recall, low, first, three := shareOf(strong, found), shareOf(weak, found), shareOf(named, top1), shareOf(named, top3)
	over := shareOf(everything, func(v *Verdict) bool { return v.OverClaim })
	tied := meanTied(named)
	days := nodeDays(q)
	falseAlerts := sum(q, false0)
	speed := t.Replayed.Seconds() / max(1e-9, t.Wall.Seconds())
	return []row{
		{"recall, faults at 60 % of the described loss or more", recall.String(), "≥ 0.95", recall.Value() >= 0.95, ""},
		{"recall, faults below 45 % of it", low.String(), "≥ 0.80", low.Of == 0 || low.Value() >= 0.8, ""},
		{"precision: alerts of warning and above that are right", fmt.Sprintf("%.3f (%d of %d)", precision, right, raised), "≥ 0.95", precision >= 0.95, ""},
		{"guilty named first, where somebody can be named", first.String(), "≥ 0.95", first.Value() >= 0.95, ""},
		{"guilty among the first three", three.String(), "≥ 0.98", three.Value() >= 0.98, ""},
		{"names and candidates against the guilty, F1", fmt.Sprintf("%.3f", tied), "≥ 0.95", tied >= 0.95, ""},
		{"wrong names", fmt.Sprintf("%d in %s of runs", sum(everything, wrong), shareOf(everything, func(v *Verdict) bool { return len(v.Wrong) > 0 })), "0", sum(everything, wrong) == 0, ""},
		{"over-claims: a name where nobody can be named", over.String(), "≤ 0.01", over.Of == 0 || over.Value() <= 0.01, ""},
		{"found within the time that the scenario allows", shareOf(f, func(v *Verdict) bool { return v.Timely }).String(), "–", true, ""},
		{fmt.Sprintf("false alerts per 1,000 node-days without a fault (%.0f node-days)", days), perThousand(falseAlerts, days), "≤ 1", float64(falseAlerts) <= days/1000, ""},
		{"node-days without a fault", fmt.Sprintf("%.0f", days), "≥ 10,000", days >= 10000, "take `DAYS=400`, hours of computing"},
		{"info without a fault that the truth does not allow", strconv.Itoa(sum(q, func(v *Verdict) int { return len(v.Noise) })), "0", sum(q, func(v *Verdict) int { return len(v.Noise) }) == 0, ""},
		{"openings per fault found", fmt.Sprintf("%.2f", ratioOf(sum(f, opens), right)), "1", ratioOf(sum(f, opens), right) <= 1.02, ""},
		{"notices per fault found: openings, rises of severity, ends", fmt.Sprintf("%.2f", ratioOf(sum(f, func(v *Verdict) int { return v.Notices }), right)), "–", true, ""},
		{"replay on one core, alone on the machine or not", fmt.Sprintf("%.0f times real time", speed), "≥ 500", speed >= 500, ""},
	}
}

func ratioOf(a, b int) float64 { return float64(a) / float64(max(1, b)) }

func meanTied(vs []*Verdict) float64 {
	total := 0.0
	for _, v := range vs {
		total += v.Tied
	}
	return total / float64(max(1, len(vs)))
}

// targets says which targets are missed, and why where the figures tell.
func (p *page) targets(t *Tally) {
	missed := 0
	for _, r := range t.measures() {
		if r.met || r.target == "–" {
			continue
		}
		if missed++; missed == 1 {
			p.line("Missed:\n")
		}
		why := r.why
		if why == "" {
			why = "see [losses](#losses)"
		}
		p.line("- %s: %s instead of %s; %s.", r.what, r.got, r.target, why)
	}
	if missed > 0 {
		p.line("")
	}
}

// speed is the latency by what a fault is found from.
func (p *page) speed(t, ablated *Tally) {
	p.line("## Time to the alert\n\nFrom the onset to the opening; faults that were there from the start are left out. A window of collective times is 30 s, so 3 and 5 of them are 90 s and 150 s.\n")
	p.line("| found from | faults | p50 | p95 | in evaluations | target | met | bounded by |\n|---|---|---|---|---|---|---|---|")
	for _, k := range []struct {
		kind, target string
		p50, p95     time.Duration // of the target, 0 for none
		bound        string
	}{
		{"hard facts", "p50 ≤ 30 s", 30 * time.Second, 0, "scrapes of 15 s (NIC), collections and scrapes of 30 s (GPU), lanes that are lost only under load, a host that has to be up again before its boot time tells"},
		{"counters and times", "p50 ≤ 90 s, p95 ≤ 150 s", 90 * time.Second, 150 * time.Second, "two to four windows of 30 to 45 s; bit errors have to last three minutes by definition"},
		{"stalls", "p50 ≤ 180 s", 180 * time.Second, 0, "a file that is two and a half windows old, then 45 s in which nothing moves; a checkpoint is excused for 15 min, a start for 45"},
		{withCounters, "p50 ≤ 60 s", 60 * time.Second, 0, "counts stand still at once; a dead process or an Xid beside them is told after 30 s and two scrapes and ticks, without one the other clocks are waited for, since pauses of a minute or two that nothing announces are usual"},
		{"across jobs", "–", 0, 0, "the job has to begin, and to show ten windows that count"},
		{"slow to appear", "–", 0, 0, "a rack that heats up over minutes, a link that recovers once in seven"},
		{"", "p50 ≤ 90 s, p95 ≤ 150 s", 90 * time.Second, 150 * time.Second, "all of the above"},
	} {
		vs := t.where(func(v *Verdict) bool { return !v.Quiet && (k.kind == "" || v.Kind == k.kind) })
		if k.kind == withCounters {
			vs = ablated.where(func(v *Verdict) bool { return !v.Quiet && v.Kind == "stalls" && v.Telemetry == withPlugin })
		}
		l := latencies(vs)
		if len(l) == 0 {
			continue
		}
		name := k.kind
		if name == "" {
			name = "all"
		}
		p50, p95 := quantile(l, 0.5), quantile(l, 0.95)
		met := "yes"
		switch {
		case k.p50 == 0:
			met = "–"
		case p50 > k.p50 || k.p95 > 0 && p95 > k.p95:
			met = "**no**"
		}
		p.line("| %s | %d | %s | %s | %d / %d | %s | %s | %s |", name, len(l), p50, p95, evaluations(p50), evaluations(p95), k.target, met, k.bound)
	}
	p.line("")
}

// withCounters are stalls of jobs that show what each rank began and finished.
const withCounters = "stalls, with the collwatch exporter"

func evaluations(d time.Duration) int { return int((d + Interval - 1) / Interval) }

func (p *page) recordings(list []Recording) {
	p.line("## Recordings\n\n| set | expected | got | fine |\n|---|---|---|---|")
	for _, r := range list {
		fine := "yes"
		if !r.Fine {
			fine = "**no**"
		}
		p.line("| %s | %s | %s | %s |", r.Set, r.Expected, r.Got, fine)
	}
	p.line("")
}
