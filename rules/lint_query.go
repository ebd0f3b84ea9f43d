package rules

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// visit walks the expression; a node's path are those above it.
func (r *lintRule) visit(f func(n parser.Node, path []parser.Node)) {
	parser.Inspect(r.expr, func(n parser.Node, path []parser.Node) error {
		if n != nil {
			f(n, path)
		}
		return nil
	})
}

// names lists the metrics that an expression selects.
func (r *lintRule) names() []string {
	var out []string
	r.visit(func(n parser.Node, _ []parser.Node) {
		if v, ok := n.(*parser.VectorSelector); ok && metricOf(v) != "" {
			out = append(out, metricOf(v))
		}
	})
	return out
}

// metricOf is the name that a selector asks for.
func metricOf(v *parser.VectorSelector) string {
	if v.Name != "" {
		return v.Name
	}
	for _, m := range v.LabelMatchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return ""
}

// uses says that some metric matches, and marks the first.
func (r *lintRule) uses(match func(metric string) bool) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		if v, ok := n.(*parser.VectorSelector); ok && found == "" && match(metricOf(v)) {
			found = metricOf(v)
			r.mark(v)
		}
	})
	return found
}

func unwrap(e parser.Expr) parser.Expr {
	for {
		switch x := e.(type) {
		case *parser.ParenExpr:
			e = x.Expr
		case *parser.StepInvariantExpr:
			e = x.Expr
		default:
			return e
		}
	}
}

// bare is the metric of a selector that is not aggregated: also below
// functions, a range, and arithmetic or a comparison with a number.
func bare(e parser.Expr) string {
	switch x := unwrap(e).(type) {
	case *parser.VectorSelector:
		return metricOf(x)
	case *parser.MatrixSelector:
		return bare(x.VectorSelector)
	case *parser.SubqueryExpr:
		return bare(x.Expr)
	case *parser.UnaryExpr:
		return bare(x.Expr)
	case *parser.Call:
		for _, a := range x.Args {
			if s := bare(a); s != "" {
				return s
			}
		}
	case *parser.BinaryExpr:
		if _, ok := constant(x.RHS); ok {
			return bare(x.LHS)
		}
		if _, ok := constant(x.LHS); ok {
			return bare(x.RHS)
		}
	}
	return ""
}

// below is the metric of the first aggregation in an expression, and the
// aggregation.
func below(e parser.Expr) (string, *parser.AggregateExpr) {
	name, agg := "", (*parser.AggregateExpr)(nil)
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok && agg == nil {
			name, agg = bare(a.Expr), a
		}
		return nil
	})
	return name, agg
}

func oneOf(names ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(names, s) }
}

func prefixed(prefix, suffix string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, prefix) && strings.HasSuffix(s, suffix) }
}

// groupsBy is the first of the labels that an aggregation keeps.
func (r *lintRule) groupsBy(names ...string) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		if a, ok := n.(*parser.AggregateExpr); ok && !a.Without && found == "" {
			for _, l := range a.Grouping {
				if slices.Contains(names, l) {
					found = l
					r.mark(a)
				}
			}
		}
	})
	return found
}

func (r *lintRule) selectors(visit func(v *parser.VectorSelector, m *labels.Matcher)) {
	r.visit(func(n parser.Node, _ []parser.Node) {
		if v, ok := n.(*parser.VectorSelector); ok {
			for _, m := range v.LabelMatchers {
				visit(v, m)
			}
		}
	})
}

// whole are the values of a label that are whole numbers, of an equality or of a
// pattern that is nothing but such numbers.
func (r *lintRule) whole(names ...string) string {
	found := ""
	r.selectors(func(v *parser.VectorSelector, m *labels.Matcher) {
		if found != "" || !slices.Contains(names, m.Name) || m.Type != labels.MatchEqual && m.Type != labels.MatchRegexp {
			return
		}
		for part := range strings.SplitSeq(m.Value, "|") {
			if f, err := strconv.ParseFloat(part, 64); err == nil && f == math.Trunc(f) && !math.IsInf(f, 0) {
				found = part
				r.mark(v)
			}
		}
	})
	return found
}

// equals is the value that one of the labels is compared with for equality.
func (r *lintRule) equals(names ...string) string {
	found := ""
	r.selectors(func(v *parser.VectorSelector, m *labels.Matcher) {
		if slices.Contains(names, m.Name) && m.Type == labels.MatchEqual && m.Value != "" && m.Value != "+Inf" && found == "" {
			found = m.Value
			r.mark(v)
		}
	})
	return found
}

// usesLabel is the label if a matcher, a grouping, a matching, a template or a
// relabelling names it.
func (r *lintRule) usesLabel(name string) string {
	found := r.groupsBy(name)
	r.selectors(func(v *parser.VectorSelector, m *labels.Matcher) {
		if m.Name == name && found == "" {
			found = name
			r.mark(v)
		}
	})
	r.visit(func(n parser.Node, _ []parser.Node) {
		if b, ok := n.(*parser.BinaryExpr); ok && b.VectorMatching != nil && found == "" &&
			(slices.Contains(b.VectorMatching.MatchingLabels, name) || slices.Contains(b.VectorMatching.Include, name)) {
			found = name
			r.mark(b)
		}
	})
	for _, texts := range []map[string]*yaml.Node{r.labels, r.annotations} {
		for _, n := range texts {
			if found == "" && strings.Contains(n.Value, "$labels."+name) {
				found = name
				r.markNode(n)
			}
		}
	}
	return found
}
