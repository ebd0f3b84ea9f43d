package incidents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/diagnosis"
)

// folded is a verdict, or many as one.
type folded struct {
	diagnosis.Verdict
	many bool
}

// gapsTold is the number of telemetry gaps that are told one by one.
const gapsTold = 3

// maxCandidates bounds the candidates listed by a folded verdict.
const maxCandidates = 50

// fold makes one verdict of many new ones of a class that share a switch, a
// job, or only the tick. Verdicts of incidents that are there already stay as
// they are, except telemetry gaps, which are one as soon as they are many.
func (m *Manager) fold(verdicts []diagnosis.Verdict) []folded {
	var out []folded
	var fresh []diagnosis.Verdict
	for _, v := range verdicts {
		if v.Class != diagnosis.TelemetryGap && m.live[keyOf(&v)] != nil {
			out = append(out, folded{Verdict: v})
			continue
		}
		fresh = append(fresh, v)
	}
	for _, scope := range []func(*diagnosis.Verdict) string{switchScope, jobScope, clusterScope} {
		var many []folded
		many, fresh = m.foldBy(fresh, scope)
		out = append(out, many...)
	}
	for _, v := range fresh {
		out = append(out, folded{Verdict: v})
	}
	return out
}

func switchScope(v *diagnosis.Verdict) string {
	if len(v.Suspects) != 1 || v.Suspects[0].Switch == "" || v.Suspects[0].Node == "" {
		return ""
	}
	return "leaf:" + v.Suspects[0].Switch
}

func jobScope(v *diagnosis.Verdict) string {
	if v.Job == "" {
		return ""
	}
	return "job:" + v.Job
}

func clusterScope(*diagnosis.Verdict) string { return "cluster" }

func (m *Manager) foldBy(in []diagnosis.Verdict, scope func(*diagnosis.Verdict) string) (many []folded, rest []diagnosis.Verdict) {
	type group struct {
		class diagnosis.Class
		scope string
	}
	groups := map[group][]diagnosis.Verdict{}
	var order []group
	for _, v := range in {
		g := group{v.Class, scope(&v)}
		if g.scope == "" || v.Class == diagnosis.TelemetryGap && g.scope != "cluster" {
			rest = append(rest, v)
			continue
		}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], v)
	}
	for _, g := range order {
		one := foldVerdicts(groups[g], g.scope)
		limit := m.opts.FoldAbove
		if g.class == diagnosis.TelemetryGap {
			limit = gapsTold
		}
		// Once told as one, they stay one until the incident is over: else a
		// storm that ebbs would be told again piece by piece.
		open := m.live[keyOf(&one)]
		if len(groups[g]) > limit || open != nil && open.Folded {
			many = append(many, folded{Verdict: one, many: true})
			continue
		}
		rest = append(rest, groups[g]...)
	}
	return many, rest
}

// where says a scope for people.
func where(scope string) string {
	switch kind, name, _ := strings.Cut(scope, ":"); kind {
	case "leaf":
		return " below switch " + name
	case "job":
		return " in job " + name
	}
	return " in the whole cluster"
}

// foldVerdicts sums verdicts up. It names nobody: what is common to many
// components is for the diagnosis to find.
func foldVerdicts(vs []diagnosis.Verdict, scope string) diagnosis.Verdict {
	slices.SortStableFunc(vs, func(a, b diagnosis.Verdict) int { return cmp.Compare(b.Severity, a.Severity) })
	worst := vs[0]
	one := diagnosis.Verdict{
		Class: worst.Class, Reason: worst.Reason, Severity: worst.Severity, Confidence: worst.Confidence,
		Owner: worst.Owner, Scope: scope, Job: worst.Job, StartedAt: worst.StartedAt, Next: worst.Next,
	}
	hosts := map[string]struct{}{}
	for _, v := range vs {
		if v.Job != one.Job {
			one.Job = ""
		}
		if v.Owner != one.Owner {
			one.Owner = diagnosis.OwnerUnknown
		}
		if v.Reason != one.Reason {
			one.Reason = ""
		}
		one.StartedAt = earliest(one.StartedAt, v.StartedAt)
		one.Immediate = one.Immediate || v.Immediate
		one.Confidence = min(one.Confidence, v.Confidence)
		one.AffectedGPUs += v.AffectedGPUs
		for _, s := range v.Suspects {
			if len(one.Candidates) < maxCandidates {
				one.Candidates = append(one.Candidates, s)
			}
		}
		if len(v.Evidence) > 0 && len(one.Evidence) < 8 {
			one.Evidence = append(one.Evidence, v.Evidence[0])
		}
		for _, h := range hostsOf(&v) {
			hosts[h] = struct{}{}
		}
	}
	for h := range hosts {
		one.Hosts = append(one.Hosts, h)
	}
	slices.Sort(one.Hosts)
	one.AffectedHosts = len(one.Hosts)
	one.Consequences = []string{fmt.Sprintf("stands for %d of its kind%s", len(vs), where(scope))}
	return one
}
