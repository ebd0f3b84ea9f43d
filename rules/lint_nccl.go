package rules

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func inspectorMetric(s string) bool { return strings.HasPrefix(s, "nccl_") }

// execTime says that a metric is a time of collectives, whoever exports it.
func execTime(s string) bool {
	return (inspectorMetric(s) || strings.HasPrefix(s, "collwatch_nccl_") || strings.HasPrefix(s, "rank:coll_")) &&
		(strings.Contains(s, "exec_time") || strings.Contains(s, "busy_seconds") || strings.Contains(s, "duration"))
}

func bandwidth(s string) bool {
	return (inspectorMetric(s) || strings.HasPrefix(s, "rank:coll_")) && strings.Contains(s, "bandwidth")
}

// memberLabels tell the members of a collective apart.
var memberLabels = []string{"rank", "gpu", "node", "hostname", "Hostname", "host", "instance", "gpu_device_id", "device"}

func ncclLints() []LintRule {
	return []LintRule{
		{"frozen-inspector", "values freeze in a hang and after a crash; look at node_textfile_mtime_seconds", func(r *lintRule) string {
			if !r.alert || slices.Contains(r.names(), "node_textfile_mtime_seconds") {
				return ""
			}
			return say(r.uses(inspectorMetric), "%s without a look at the age of its file")
		}},
		{"blame-longest", "in a collective the late rank has the shortest time and the highest bandwidth: these are its victims", blameLongest},
		{"avg-over-ranks", "an average over ranks hides the straggler", avgOverRanks},
		{"alltoall-zero", "the bus bandwidth of AllToAll is always 0", func(r *lintRule) string {
			found := ""
			r.selectors(func(v *parser.VectorSelector, m *labels.Matcher) {
				if found == "" && bandwidth(metricOf(v)) && m.Name == "collective" && (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) &&
					strings.Contains(strings.ToLower(strings.ReplaceAll(m.Value, "_", "")), "alltoall") {
					found = m.Value
					r.mark(v)
				}
			})
			return say(found, "bus bandwidth of %s")
		}},
		{"size-bucket", "buckets are narrow: a small change of the model moves all series", func(r *lintRule) string {
			return say(r.equals("message_size"), "equality on message_size %s")
		}},
	}
}

// blameLongest looks for rules that pick the members with the longest time or
// the smallest bandwidth: by topk, or by comparing members with their group.
func blameLongest(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		if found != "" {
			return
		}
		switch x := n.(type) {
		case *parser.AggregateExpr:
			name := bare(x.Expr)
			if x.Op == parser.TOPK && execTime(name) || x.Op == parser.BOTTOMK && bandwidth(name) {
				found = name
				r.mark(x)
			}
		case *parser.BinaryExpr:
			member, op := bareMember(x.LHS), x.Op
			peers, _ := below(x.RHS)
			if member == "" || peers == "" {
				member, op = bareMember(x.RHS), mirrored(x.Op)
				peers, _ = below(x.LHS)
			}
			above, under := op == parser.GTR || op == parser.GTE, op == parser.LSS || op == parser.LTE
			if m, op := relative(x); m != "" { // a ratio or a difference against a number
				member, peers = m, m
				above, under = op == parser.GTR || op == parser.GTE, op == parser.LSS || op == parser.LTE
			}
			if op == parser.EQLC { // whoever has the extreme
				_, a := below(x.RHS)
				if a == nil {
					_, a = below(x.LHS)
				}
				above, under = a != nil && a.Op == parser.MAX, a != nil && a.Op == parser.MIN
			}
			if member != "" && member == peers && (execTime(member) && above || bandwidth(member) && under) {
				found = member
				r.mark(x)
			}
		}
	})
	return say(found, "the largest time or smallest bandwidth of %s is named")
}

// relative is the metric of members that are divided by a level of their group, or
// of which it is taken away, and then compared with a number; "" if it is no such
// comparison. The operator is that of the member's side.
func relative(x *parser.BinaryExpr) (metric string, op parser.ItemType) {
	side, op := x.LHS, x.Op
	if _, ok := constant(x.RHS); !ok {
		side, op = x.RHS, mirrored(op)
		if _, ok := constant(x.LHS); !ok {
			return "", op
		}
	}
	b, ok := unwrap(side).(*parser.BinaryExpr)
	if !ok || !x.Op.IsComparisonOperator() || b.Op != parser.DIV && b.Op != parser.SUB {
		return "", op
	}
	level, _ := below(b.RHS)
	if _, a := below(b.LHS); a != nil && bareMember(b.LHS) == "" || level != bareMember(b.LHS) {
		return "", op
	}
	return level, op
}

// bareMember is the metric of members: bare, or aggregated by a label that
// tells members apart.
func bareMember(e parser.Expr) string {
	if a, ok := unwrap(e).(*parser.AggregateExpr); ok && !a.Without && slices.ContainsFunc(a.Grouping, func(l string) bool { return slices.Contains(memberLabels, l) }) {
		return bare(a.Expr)
	}
	return bare(e)
}

func avgOverRanks(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, path []parser.Node) {
		a, ok := n.(*parser.AggregateExpr)
		if !ok || a.Op != parser.AVG || !r.alert || found != "" {
			return
		}
		name := bare(a.Expr)
		if !inspectorMetric(name) && !execTime(name) {
			return
		}
		keeps := slices.ContainsFunc(a.Grouping, func(l string) bool { return slices.Contains(memberLabels, l) })
		if a.Without != keeps {
			return // members stay apart
		}
		// As the level that members are compared with, a mean hides nobody.
		for _, p := range path {
			if b, ok := p.(*parser.BinaryExpr); ok && (bareMember(b.LHS) == name || bareMember(b.RHS) == name) {
				return
			}
		}
		found = name
		r.mark(a)
	})
	return say(found, "%s is averaged over ranks")
}
