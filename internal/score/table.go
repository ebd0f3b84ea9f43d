package score

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Report writes the result as the page docs/score.md.
func Report(w io.Writer, all, ablated *Tally, seeds int, command string) error {
	p := &page{w: w}
	p.line("# Score\n")
	p.line("What the daemon says, compared with what is true, on simulated clusters. Written by `%s`; do not edit. How it is measured: %s", command,
		"[simulator.md](simulator.md) has the input, package `internal/score` the rules. Seeds start at 1000 and are used for nothing else.\n")
	p.line("%d runs of %d scenarios with %d seeds each, %.0f node-days. Intervals are bootstrap intervals of 95 %% over runs.\n", len(all.Verdicts), countScenarios(all), seeds, nodeDays(all.where(func(*Verdict) bool { return true })))
	p.summary(all)
	p.scenarios(all)
	p.classes(all)
	p.levels(all)
	if ablated != nil && len(ablated.Verdicts) > 0 {
		p.ablation(ablated)
	}
	p.rules(all)
	p.losses(all)
	return p.err
}

type page struct {
	w   io.Writer
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func countScenarios(t *Tally) int {
	ids := map[string]bool{}
	for _, v := range t.Verdicts {
		ids[v.Case.Scenario.ID] = true
	}
	return len(ids)
}

func (p *page) summary(t *Tally) {
	f, q := t.where(faults), t.where(quiet)
	named := t.where(func(v *Verdict) bool { return v.Nameable })
	everything := t.where(func(*Verdict) bool { return true })
	lat := latencies(f)
	wrong := func(v *Verdict) int { return len(v.Wrong) }
	wrongRuns := func(v *Verdict) bool { return len(v.Wrong) > 0 }
	raised := sum(f, func(v *Verdict) int { return v.Opens }) + sum(everything, func(v *Verdict) int { return len(v.False) })
	right := sum(f, func(v *Verdict) int { return min(v.Opens, 1) })
	p.line("## Summary\n\n| measure | result | target |\n|---|---|---|")
	p.line("| recall: right class opened | %s | ≥ 0.95 |", shareOf(f, found))
	p.line("| precision: alerts of warning and above that are right | %.3f (%d of %d) | ≥ 0.95 |", float64(right)/float64(max(1, raised)), right, raised)
	p.line("| guilty named first, where somebody can be named | %s | ≥ 0.95 |", shareOf(named, top1))
	p.line("| guilty among the first three | %s | ≥ 0.98 |", shareOf(named, top3))
	p.line("| wrong names | %d in %s of runs | 0 |", sum(everything, wrong), shareOf(everything, wrongRuns))
	p.line("| over-claims: a name where nobody can be named | %s | ≤ 0.01 |", shareOf(everything, func(v *Verdict) bool { return v.OverClaim }))
	p.line("| within the time allowed | %s | – |", shareOf(f, func(v *Verdict) bool { return v.Timely }))
	p.line("| latency p50 / p95 | %s / %s, %d / %d evaluations | ≤ 3 / ≤ 5 evaluations |", quantile(lat, 0.5), quantile(lat, 0.95), evaluations(quantile(lat, 0.5)), evaluations(quantile(lat, 0.95)))
	p.line("| false alerts per 1,000 node-days on quiet runs (%.1f node-days) | %s | ≤ 1 |", nodeDays(q), perThousand(sum(q, func(v *Verdict) int { return len(v.False) }), nodeDays(q)))
	p.line("| info on quiet runs that the truth does not allow | %d | – |", sum(q, func(v *Verdict) int { return len(v.Noise) }))
	p.line("| openings per fault found | %.2f | 1 |", float64(sum(f, func(v *Verdict) int { return v.Opens }))/float64(max(1, sum(f, func(v *Verdict) int { return min(1, v.Opens) }))))
	p.line("| replay | %.0f times real time on one core | ≥ 500 |\n", t.Replayed.Seconds()/max(1e-9, t.Wall.Seconds()))
}

func evaluations(d time.Duration) int { return int((d + Interval - 1) / Interval) }

func (p *page) scenarios(t *Tally) {
	p.line("## Scenarios\n\nFaults need a right class; look-alikes need silence, or an info that the truth allows.\n\n| id | case | fine | found | first name right | wrong names | false alerts | latency p50 / max |\n|---|---|---|---|---|---|---|---|")
	var ids []string
	for _, v := range t.Verdicts {
		if !slices.Contains(ids, v.Case.Scenario.ID) {
			ids = append(ids, v.Case.Scenario.ID)
		}
	}
	for _, id := range ids {
		vs := t.where(func(v *Verdict) bool { return v.Case.Scenario.ID == id })
		n := len(vs)
		foundText, nameText, lat := "–", "–", "–"
		if !vs[0].Quiet {
			foundText = fmt.Sprintf("%d/%d", shareOf(vs, found).Hits, n)
			if l := latencies(vs); len(l) > 0 {
				lat = fmt.Sprintf("%s / %s", quantile(l, 0.5), quantile(l, 1))
			}
			if vs[0].Nameable {
				nameText = fmt.Sprintf("%d/%d", shareOf(vs, top1).Hits, n)
			}
		}
		p.line("| %s | %s | %d/%d | %s | %s | %d | %d | %s |", id, vs[0].Case.Scenario.Title, shareOf(vs, (*Verdict).OK).Hits, n, foundText, nameText,
			sum(vs, func(v *Verdict) int { return len(v.Wrong) }), sum(vs, func(v *Verdict) int { return len(v.False) }), lat)
	}
	p.line("")
}

func (p *page) classes(t *Tally) {
	p.line("## Classes\n\n| class | recall | alerts of it that were right |\n|---|---|---|")
	type count struct {
		hits        []bool
		right, said int
	}
	by := map[string]*count{}
	get := func(c string) *count {
		if by[c] == nil {
			by[c] = &count{}
		}
		return by[c]
	}
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		if v.Want != "" {
			get(v.Want).hits = append(get(v.Want).hits, v.Found)
		}
		if v.Found {
			get(v.Class).right++
			get(v.Class).said++
		}
		for _, f := range v.False {
			class, _, _ := strings.Cut(f, "/")
			get(class).said++
		}
	}
	var names []string
	for c := range by {
		names = append(names, c)
	}
	slices.Sort(names)
	for _, c := range names {
		p.line("| %s | %s | %d of %d |", c, share(by[c].hits), by[c].right, by[c].said)
	}
	p.line("")
}

func (p *page) levels(t *Tally) {
	p.line("## Severity\n\nOnly scenarios that have several. 1 is the fault as described; a smaller number is that part of the loss.\n\n| part of the loss | recall | guilty first | latency p50 / p95 |\n|---|---|---|---|")
	for _, band := range [][2]float64{{1, 1}, {0.6, 0.99}, {0.45, 0.59}, {0, 0.44}} {
		vs := t.where(func(v *Verdict) bool {
			s := v.Case.Params.Severity
			return !v.Quiet && len(v.Case.Scenario.Levels) > 1 && s >= band[0] && s <= band[1]
		})
		if len(vs) == 0 {
			continue
		}
		l := latencies(vs)
		p.line("| %.2f to %.2f | %s | %s | %s / %s |", band[0], band[1], shareOf(vs, found), shareOf(vs, top1), quantile(l, 0.5), quantile(l, 0.95))
	}
	p.line("")
}

func (p *page) ablation(t *Tally) {
	p.line("## With less telemetry\n\nThe class may get coarser, so any alert about the job counts as seen. A wrong name counts as always.\n\n| telemetry | right class | seen at all | wrong names | false alerts on look-alikes |\n|---|---|---|---|---|")
	for _, name := range Telemetries() {
		f := t.where(func(v *Verdict) bool { return !v.Quiet && v.Case.Telemetry == name })
		q := t.where(func(v *Verdict) bool { return v.Quiet && v.Case.Telemetry == name })
		p.line("| %s | %s | %s | %d | %d |", name, shareOf(f, found), shareOf(f, func(v *Verdict) bool { return v.Found || len(v.False)+len(v.Noise) > 0 }),
			sum(f, func(v *Verdict) int { return len(v.Wrong) })+sum(q, func(v *Verdict) int { return len(v.Wrong) }), sum(q, func(v *Verdict) int { return len(v.False) }))
	}
	p.line("")
}

func (p *page) rules(t *Tally) {
	p.line("## Simple rules on the same samples\n\nA rule has found a fault when it says anything after the onset, and named it when its first word is the right host.\n\n| rule | found | first host right | wrong host first | false alarms per 1,000 node-days |\n|---|---|---|---|---|")
	days := nodeDays(t.where(quiet))
	for _, b := range baselines() {
		r := t.Rules[b.name]
		if r == nil {
			continue
		}
		p.line("| %s | %s | %s | %d | %s |", b.name, share(r.Found), share(r.Named), r.WrongFirst, perThousand(r.False, days))
	}
	f, named := t.where(faults), t.where(func(v *Verdict) bool { return v.Nameable })
	p.line("| collwatch | %s | %s | %d | %s |\n", shareOf(f, found), shareOf(named, top1), len(t.where(func(v *Verdict) bool { return !v.Quiet && len(v.Wrong) > 0 })),
		perThousand(sum(t.where(quiet), func(v *Verdict) int { return len(v.False) }), days))
}

func (p *page) losses(t *Tally) {
	p.line("## Losses\n\nEvery run that was not fine.\n\n| run | expected | got |\n|---|---|---|")
	for i := range t.Verdicts {
		if v := &t.Verdicts[i]; !v.OK() {
			p.line("| %s | %s | %s |", v.Case, v.Expected, strings.ReplaceAll(v.Got(), "|", "/"))
		}
	}
}
