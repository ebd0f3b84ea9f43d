package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// labelSet is what can be said of the labels of an expression's series without
// asking a server.
type labelSet struct {
	// has are labels that every series certainly has.
	has map[string]bool
	// only are the labels that a series may have, nil if it may have others;
	// without are labels that it certainly has not.
	only, without map[string]bool
}

func setOf(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// lacks says that no series has the label.
func (s labelSet) lacks(label string) bool {
	return s.without[label] || s.only != nil && !s.only[label]
}

// keep is the set with no labels but these.
func (s labelSet) keep(names []string) labelSet {
	out := labelSet{has: map[string]bool{}, only: map[string]bool{}}
	for _, n := range names {
		if s.lacks(n) {
			continue
		}
		out.only[n] = true
		if s.has[n] {
			out.has[n] = true
		}
	}
	return out
}

// drop is the set without these labels.
func (s labelSet) drop(names []string) labelSet {
	out := labelSet{has: maps.Clone(s.has), only: maps.Clone(s.only), without: setOf(names...)}
	maps.Copy(out.without, s.without)
	for _, n := range names {
		delete(out.has, n)
		delete(out.only, n)
	}
	return out
}

// gain is the set to which labels may have been added or changed.
func (s labelSet) gain(names []string) labelSet {
	out := labelSet{has: maps.Clone(s.has), only: maps.Clone(s.only), without: maps.Clone(s.without)}
	for _, n := range names {
		delete(out.has, n)
		delete(out.without, n)
		if out.only != nil {
			out.only[n] = true
		}
	}
	return out
}

// labelsOf works out the labels of an expression; ok is false for one that it
// does not know.
func labelsOf(e parser.Expr) (set labelSet, ok bool) {
	switch x := unwrap(e).(type) {
	case *parser.VectorSelector:
		return selectorLabels(x), true
	case *parser.MatrixSelector:
		return labelsOf(x.VectorSelector)
	case *parser.SubqueryExpr:
		return labelsOf(x.Expr)
	case *parser.UnaryExpr:
		return labelsOf(x.Expr)
	case *parser.AggregateExpr:
		return aggregateLabels(x)
	case *parser.Call:
		return callLabels(x)
	case *parser.BinaryExpr:
		return binaryLabels(x)
	}
	return labelSet{}, false
}

// selectorLabels are those of scraped series, which have a job and an instance.
// Recorded series (with a colon) have what their rule kept, and ALERTS what the
// alert has.
func selectorLabels(v *parser.VectorSelector) labelSet {
	s := labelSet{has: map[string]bool{}, without: map[string]bool{}}
	if name := metricOf(v); name != "" && !strings.Contains(name, ":") && !strings.HasPrefix(name, "ALERTS") {
		s.has["job"], s.has["instance"] = true, true
	}
	for _, m := range v.LabelMatchers {
		switch {
		case m.Name == model.MetricNameLabel:
		case m.Type == labels.MatchEqual && m.Value == "":
			delete(s.has, m.Name)
			s.without[m.Name] = true
		case !m.Matches(""):
			s.has[m.Name] = true
		}
	}
	return s
}

func aggregateLabels(a *parser.AggregateExpr) (labelSet, bool) {
	s, ok := labelsOf(a.Expr)
	switch {
	case !ok || a.Op == parser.COUNT_VALUES:
		return labelSet{}, false
	case slices.Contains([]parser.ItemType{parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO}, a.Op):
		return s, true
	case a.Without:
		return s.drop(a.Grouping), true
	}
	return s.keep(a.Grouping), true
}

func callLabels(c *parser.Call) (labelSet, bool) {
	if c.Func.Name == "vector" {
		return labelSet{only: map[string]bool{}}, true
	}
	if isAbsent(c) || c.Func.ReturnType != parser.ValueTypeVector {
		return labelSet{}, false
	}
	for _, arg := range c.Args {
		s, ok := labelsOf(arg)
		if !ok {
			continue
		}
		switch c.Func.Name {
		case "label_replace", "label_join":
			to, isText := c.Args[1].(*parser.StringLiteral)
			if !isText {
				return labelSet{}, false
			}
			return s.gain([]string{to.Val}), true
		case "histogram_quantile", "histogram_fraction":
			return s.drop([]string{"le"}), true
		}
		return s, true
	}
	return labelSet{}, false
}

// binaryLabels follow Prometheus' own rules for the labels of a result.
func binaryLabels(b *parser.BinaryExpr) (labelSet, bool) {
	l, okL := labelsOf(b.LHS)
	r, okR := labelsOf(b.RHS)
	m := b.VectorMatching
	switch {
	case m == nil && okL: // the other side is a number
		return l, true
	case m == nil:
		return r, okR
	case b.Op == parser.LOR:
		return labelSet{}, false
	case b.Op.IsSetOperator():
		return l, okL
	case m.Card == parser.CardManyToOne:
		return l.gain(m.Include), okL
	case m.Card == parser.CardOneToMany:
		return r.gain(m.Include), okR
	case m.On:
		return l.keep(m.MatchingLabels), okL
	}
	return l.drop(m.MatchingLabels), okL
}

// unpaired looks for a match of two sides of which one has a label that counts
// and that the other lost when it was aggregated: there is no pair, ever.
func unpaired(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || b.VectorMatching == nil || b.Op == parser.LOR || found != "" {
			return
		}
		l, okL := labelsOf(b.LHS)
		h, okR := labelsOf(b.RHS)
		if !okL || !okR {
			return
		}
		if label := lonely(l, h, b.VectorMatching); label != "" {
			r.mark(b)
			found = "the left side has the label " + label + " and the right side has not"
		} else if label := lonely(h, l, b.VectorMatching); label != "" {
			r.mark(b)
			found = "the right side has the label " + label + " and the left side has not"
		}
	})
	if found == "" {
		return ""
	}
	return found + ", so that nothing matches: keep it, or match with on (…) and group_left"
}

// lonely is a label that counts for the match, that all of one side have and
// none of the other.
func lonely(one, other labelSet, m *parser.VectorMatching) string {
	for _, label := range slices.Sorted(maps.Keys(one.has)) {
		if slices.Contains(m.MatchingLabels, label) == m.On && other.lacks(label) {
			return label
		}
	}
	return ""
}
