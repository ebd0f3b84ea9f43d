package score

import (
	"strings"
)

func (p *page) ablation(t *Tally) {
	p.line("## With less telemetry\n\nThe scenarios as they are described. The first four rows add one source after the other; the others change the form of the collective series. The class may get coarser, so any alert after the onset counts as seen; guilty first is of those with the right class. A wrong name counts as always.\n\n| telemetry | right class | seen at all | guilty first | wrong names | false alerts on look-alikes |\n|---|---|---|---|---|---|")
	for _, name := range Telemetries() {
		f := t.where(func(v *Verdict) bool { return !v.Quiet && v.Telemetry == name })
		q := t.where(func(v *Verdict) bool { return v.Quiet && v.Telemetry == name })
		if len(f) == 0 {
			continue
		}
		named := t.where(func(v *Verdict) bool { return v.Nameable && v.Found && v.Telemetry == name })
		p.line("| %s | %s | %s | %s | %d | %d |", name, shareOf(f, found), shareOf(f, func(v *Verdict) bool { return v.Found || len(v.False)+len(v.Noise) > 0 }), shareOf(named, top1),
			sum(f, func(v *Verdict) int { return len(v.Wrong) })+sum(q, func(v *Verdict) int { return len(v.Wrong) }), sum(q, func(v *Verdict) int { return len(v.False) }))
	}
	p.line("")
}

func (p *page) rules(t *Tally) {
	p.line("## Simple rules on the same samples\n\nA rule has found a fault when it says anything after the onset, and named it when its first word is the right host.\n\n| rule | found | first host right | wrong host first | false alarms per 1,000 node-days |\n|---|---|---|---|---|")
	days := nodeDays(t.where(quiet))
	f, named := t.where(faults), t.where(func(v *Verdict) bool { return v.Nameable })
	for _, b := range baselines() {
		r := t.Rules[b.name]
		if r == nil {
			continue
		}
		p.line("| %s | %s | %s | %d | %s |", b.name, share(r.Found), share(r.Named), r.WrongFirst, perThousand(r.False, r.Quiet))
	}
	p.line("| collwatch | %s | %s | %d | %s |\n", shareOf(f, found), shareOf(named, top1), len(t.where(func(v *Verdict) bool { return !v.Quiet && len(v.Wrong) > 0 })),
		perThousand(sum(t.where(quiet), func(v *Verdict) int { return len(v.False) }), days))
}

func (p *page) losses(t, ablated *Tally) {
	p.line("## Losses\n\nEvery run that was not fine, and every info on a run without a fault that the truth does not allow; with other telemetry only what was said wrongly.\n\n| run | expected | got |\n|---|---|---|")
	for i := range t.Verdicts {
		if v := &t.Verdicts[i]; !v.OK() || v.Quiet && len(v.Noise) > 0 {
			p.line("| %s | %s | %s |", v.Name, v.Expected, strings.ReplaceAll(v.Got(), "|", "/"))
		}
	}
	for i := range ablated.Verdicts {
		if v := &ablated.Verdicts[i]; len(v.Wrong) > 0 || v.Quiet && len(v.False) > 0 {
			p.line("| %s | %s | %s |", v.Name, v.Expected, strings.ReplaceAll(v.Got(), "|", "/"))
		}
	}
}
