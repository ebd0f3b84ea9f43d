package score

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/sim"
)

// Page collects the records of a measurement for docs/score.md.
type Page struct {
	// Command made it; Planned is how many runs it would have with all of them.
	Command string
	Code    string // what was measured, "" unknown
	Planned int
	Real    []Recording
	all     Tally // telemetry of the scenarios
	ablated Tally
}

// Add takes one record.
func (p *Page) Add(r Record) {
	if r.Verdict.Telemetry != "" {
		p.ablated.Put(r)
		return
	}
	p.all.Put(r)
}

// Runs is the number of records so far.
func (p *Page) Runs() int { return len(p.all.Verdicts) + len(p.ablated.Verdicts) }

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	t := &p.all
	o := &page{w: w}
	everything := t.where(func(*Verdict) bool { return true })
	o.line("# Score\n")
	o.line("What the daemon says, compared with what is true, on simulated clusters and on recordings. Written by `%s`; do not edit. How it is measured: %s", p.Command,
		"[simulator.md](simulator.md) has the input, package `internal/score` the rules. Seeds start at 1000 and are used for nothing else: detectors are worked on with others.\n")
	o.line("%d runs of %d scenarios, %s, and %d runs with other telemetry; %.0f node-days. Intervals are bootstrap intervals of 95 %% over runs. One evaluation is %s.\n",
		len(t.Verdicts), countScenarios(t), seedsOf(t), len(p.ablated.Verdicts), nodeDays(everything), Interval)
	if p.Code != "" {
		o.line("Measured at revision %s.\n", p.Code)
	}
	if n := p.Runs(); n < p.Planned {
		o.line("The measurement was stopped after %d of %d runs. It goes round by round, so every scenario is in it.\n", n, p.Planned)
	}
	o.summary(t)
	o.targets(t)
	o.speed(t, &p.ablated)
	if len(p.Real) > 0 {
		o.recordings(p.Real)
	}
	o.scenarios(t)
	o.classes(t)
	o.levels(t)
	if len(p.ablated.Verdicts) > 0 {
		o.ablation(&p.ablated)
	}
	o.rules(t)
	o.losses(t, &p.ablated)
	return o.err
}

// seedsOf says how many seeds the scenarios have.
func seedsOf(t *Tally) string {
	count := map[string]int{}
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		if s, ok := sim.Find(v.ID); ok && s.After > longRun {
			continue // a day
		}
		count[fmt.Sprint(v.ID, v.Severity)]++
	}
	low, high := math.MaxInt, 0
	for _, n := range count {
		low, high = min(low, n), max(high, n)
	}
	if low >= high {
		return fmt.Sprintf("seeds each: %d", high)
	}
	return fmt.Sprintf("seeds each: %d to %d", low, high)
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
		ids[v.ID] = true
	}
	return len(ids)
}

func (p *page) scenarios(t *Tally) {
	p.line("## Scenarios\n\nFaults need a right class; look-alikes need silence, or an info that the truth allows.\n\n| id | case | fine | found | first name right | wrong names | false alerts | latency p50 / max |\n|---|---|---|---|---|---|---|---|")
	var ids []string
	for _, v := range t.Verdicts {
		if !slices.Contains(ids, v.ID) {
			ids = append(ids, v.ID)
		}
	}
	for _, id := range ids {
		vs := t.where(func(v *Verdict) bool { return v.ID == id })
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
		p.line("| %s | %s | %d/%d | %s | %s | %d | %d | %s |", id, vs[0].Title, shareOf(vs, (*Verdict).OK).Hits, n, foundText, nameText,
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
			s := v.Severity
			return !v.Quiet && v.Graded && s >= band[0] && s <= band[1]
		})
		if len(vs) == 0 {
			continue
		}
		l := latencies(vs)
		p.line("| %.2f to %.2f | %s | %s | %s / %s |", band[0], band[1], shareOf(vs, found), shareOf(vs, top1), quantile(l, 0.5), quantile(l, 0.95))
	}
	p.line("")
}
