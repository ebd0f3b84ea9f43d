package rules

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

func queryLints() []LintRule {
	return []LintRule{
		{"no-such-metric", "the name does not exist, so the rule never fires", noSuchMetric},
		{"uncovered", "no series of that name here, so the rule never fires and looks healthy", uncovered},
		{"rate-of-gauge", "a gauge has no rate: every fall counts as a restart from 0", rateOfGauge},
		{"raw-counter", "a counter only rises: compare its rate or increase", rawCounter},
		{"zero-on-missing", "a counter whose file is missing has no series, so that nothing equals 0", zeroOnMissing},
		{"never-true", "a threshold outside the range of the metric", neverTrue},
		{"many-to-many", "series of different exporters match only on labels that both have, and one to one only if each side is unique", manyToMany},
		{"unpaired", "two sides match only on labels that both have kept", unpaired},
		{"host-label", "dcgm-exporter changed Hostname to hostname after 4.8", func(r *lintRule) string {
			if r.usesLabel("hostname") != "" {
				r.offset = 0
				if strings.Contains(r.text, "Hostname") && strings.Contains(r.text, "hostname") {
					return "" // both
				}
			}
			return say(r.usesLabel("Hostname"), "the label %s is hostname in newer dcgm-exporters: use both, or instance")
		}},
		{"bare-absent", "absent() fires whenever nothing runs", bareAbsent},
		{"no-group-guard", "in a group of two or three one member moves the middle: ask for count(…) >= 4 or more", noGroupGuard},
		{"avg-of-ratio", "an average of ratios is wrong for unequal parts: divide the sums", avgOfRatio},
		{"cardinality", "unbounded series", func(r *lintRule) string {
			if r.alert {
				return ""
			}
			return say(r.groupsBy("coll_sn", "timestamp", "pid", "message_size", "seq", "op_count", "uuid", "le_timestamp"), "the label %s is kept in a recorded series")
		}},
		{"le-match", "Prometheus 3 writes 1 as 1.0", func(r *lintRule) string { return say(r.whole("le", "quantile"), "equality on %s") }},
		{"experimental", "servers refuse the file unless a feature is enabled", experimental},
	}
}

// experimental looks for functions behind a feature flag of Prometheus. Those
// that MetricsQL has too are ordinary there.
func experimental(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		name := ""
		switch x := n.(type) {
		case *parser.Call:
			if x.Func.Experimental && (r.target != "victoriametrics" || !slices.Contains(metricsQL(), x.Func.Name)) {
				name = x.Func.Name
			}
		case *parser.AggregateExpr:
			if x.Op.IsExperimentalAggregator() && (r.target != "victoriametrics" || x.Op != parser.LIMITK) {
				name = x.Op.String()
			}
		}
		if name != "" && found == "" {
			found = name
			r.mark(n)
		}
	})
	return say(found, "%s is experimental")
}

// metricsQL are functions of MetricsQL that are experimental in Prometheus.
func metricsQL() []string { return []string{"mad_over_time", "sort_by_label", "sort_by_label_desc"} }

// own says that a metric is there as long as its process runs, whatever the
// cluster does.
func ownMetric(m string) bool {
	return m == "up" || strings.HasPrefix(m, "collwatch_") && !strings.HasPrefix(m, "collwatch_nccl_") || strings.HasPrefix(m, "ALERTS") ||
		strings.HasPrefix(m, "prometheus_") || strings.HasPrefix(m, "alertmanager_")
}

// bareAbsent looks for absent() that nothing else in the expression limits.
func bareAbsent(r *lintRule) string {
	if !r.alert {
		return ""
	}
	var call *parser.Call
	limited := false
	r.visit(func(n parser.Node, path []parser.Node) {
		inside := slices.ContainsFunc(path, isAbsent)
		if c, ok := n.(*parser.Call); ok && isAbsent(c) && call == nil && !ownMetric(anyMetric(c)) {
			call = c
		}
		if _, ok := n.(*parser.VectorSelector); ok && !inside {
			limited = true
		}
	})
	// An "or" limits nothing.
	if b, ok := unwrap(r.expr).(*parser.BinaryExpr); ok && b.Op == parser.LOR {
		limited = false
	}
	if call == nil || limited {
		return ""
	}
	r.mark(call)
	return call.Func.Name + "() without a condition that a job runs"
}

func isAbsent(n parser.Node) bool {
	c, ok := n.(*parser.Call)
	return ok && (c.Func.Name == "absent" || c.Func.Name == "absent_over_time")
}

// exporterOf is whose series a metric is, "" if that is not known. Series of
// different exporters share no instance.
func exporterOf(m string) string {
	switch {
	case dcgmMetric(m):
		return "per-GPU series of dcgm-exporter"
	case inspectorMetric(m):
		return "per-rank series of Inspector"
	case strings.HasPrefix(m, "collwatch_nccl_"):
		return "per-process series of collwatch-exporter"
	case strings.HasPrefix(m, "node_infiniband_"), strings.HasPrefix(m, "node_amazonefa_"), strings.HasPrefix(m, "rdma_"):
		return "per-port series"
	case strings.HasPrefix(m, "node_"):
		return "per-host series of node_exporter"
	case strings.HasPrefix(m, "slurm_"):
		return "series of Slurm"
	case strings.HasPrefix(m, "kube_"):
		return "series of Kubernetes"
	}
	return ""
}

// manyToMany looks for joins of two exporters without a grouping side, or
// without labels to match on.
func manyToMany(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || b.VectorMatching == nil || found != "" {
			return
		}
		l, h := bare(b.LHS), bare(b.RHS)
		from, to := exporterOf(l), exporterOf(h)
		if from == "" || to == "" || from == to {
			return
		}
		m := b.VectorMatching
		switch {
		case !m.On && len(m.MatchingLabels) == 0 && (b.Op != parser.LOR) && (b.Op != parser.LUNLESS):
			found = l + " and " + h + " are joined on all labels, which never are equal: name some with on (…)"
		case m.Card == parser.CardOneToOne && !b.Op.IsSetOperator() && !slices.ContainsFunc(m.MatchingLabels, func(l string) bool {
			return slices.Contains([]string{"gpu", "device", "GPU", "UUID", "rank", "port"}, l)
		}):
			found = l + " and " + h + " are joined without group_left or group_right"
		}
		if found != "" {
			r.mark(b)
		}
	})
	return found
}

// noGroupGuard looks for members that are compared with the middle of their
// group, without a condition on the size of the group.
func noGroupGuard(r *lintRule) string {
	found, counted := "", false
	middle := []parser.ItemType{parser.QUANTILE, parser.AVG}
	r.visit(func(n parser.Node, _ []parser.Node) {
		switch x := n.(type) {
		case *parser.AggregateExpr:
			counted = counted || x.Op == parser.COUNT || x.Op == parser.GROUP
		case *parser.BinaryExpr:
			if found != "" || x.Op.IsSetOperator() {
				return
			}
			for _, pair := range [][2]parser.Expr{{x.LHS, x.RHS}, {x.RHS, x.LHS}} {
				name, a := below(pair[1])
				if a != nil && name != "" && !floored(pair[1]) && slices.Contains(middle, a.Op) && bareMember(pair[0]) == name && found == "" {
					found = name
					r.mark(x)
				}
			}
		}
	})
	if counted {
		return ""
	}
	return say(found, "members of %s are compared with their group, however small it is")
}

// floored says that the level has a floor of its own, which no small group
// moves.
func floored(e parser.Expr) bool {
	found := false
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if c, ok := n.(*parser.Call); ok && (c.Func.Name == "clamp_min" || c.Func.Name == "clamp") {
			found = true
		}
		return nil
	})
	return found
}

func avgOfRatio(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		a, ok := n.(*parser.AggregateExpr)
		if !ok || a.Op != parser.AVG || found != "" {
			return
		}
		if v, ok := unwrap(a.Expr).(*parser.VectorSelector); ok && strings.Contains(metricOf(v), ":ratio") {
			found = metricOf(v)
		}
		if b, ok := unwrap(a.Expr).(*parser.BinaryExpr); ok && b.Op == parser.DIV {
			_, constL := constant(b.LHS)
			_, constR := constant(b.RHS)
			// Against its own past each member's ratio has the same weight on purpose.
			if !constL && !constR && (bare(b.LHS) == "" || bare(b.LHS) != bare(b.RHS)) {
				found = "a division"
			}
		}
		if found != "" {
			r.mark(a)
		}
	})
	return say(found, "%s is averaged")
}
