package rules

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// twoScrapes is the time in which one bad scrape is noticed as such, at a scrape
// each 15 s.
const twoScrapes = 30 * time.Second

func fieldLints() []LintRule {
	return []LintRule{
		{"no-for", "one bad scrape makes an alert", func(r *lintRule) string {
			switch {
			case !r.alert || r.keep > 0 || len(r.names()) == 0:
				return "" // an event that is held, or a constant
			case r.hold >= twoScrapes || r.ranged():
				return ""
			case r.holdNode == nil:
				return "an alert without for"
			}
			r.markNode(r.holdNode)
			return "for is shorter than two scrapes"
		}},
		{"value-in-label", "a label that changes makes a new alert at every evaluation", valueInLabel},
		{"limit-field", "when a rule has more alerts than limit, all of them resolve", func(r *lintRule) string {
			if r.alert && r.limit != nil {
				r.markNode(r.limit)
				return "the group has a limit"
			}
			return ""
		}},
		{"absent-label", "the expression has no such label, so the text is empty", absentLabel},
	}
}

// changing are parts of templates that differ from one evaluation to the next.
var changing = regexp.MustCompile(`\$value|\.Value\b|\bquery\b|\brange\b|\bnow\b|humanizeTimestamp`)

func valueInLabel(r *lintRule) string {
	for _, k := range slices.Sorted(maps.Keys(r.labels)) {
		if v := r.labels[k].Value; strings.Contains(v, "{{") && changing.MatchString(v) {
			r.markNode(r.labels[k])
			return "the label " + k + " has the value"
		}
	}
	return ""
}

var labelUse = regexp.MustCompile(`\$labels\.([a-zA-Z_][a-zA-Z0-9_]*)`)

// absentLabel looks for templates with a label that the outermost aggregation
// takes away.
func absentLabel(r *lintRule) string {
	a := outermost(r.expr)
	if !r.alert || a == nil || a.Without {
		return ""
	}
	for _, texts := range []map[string]*yaml.Node{r.labels, r.annotations} {
		for _, k := range slices.Sorted(maps.Keys(texts)) {
			for _, m := range labelUse.FindAllStringSubmatch(texts[k].Value, -1) {
				if m[1] != "alertname" && !slices.Contains(a.Grouping, m[1]) && r.labels[m[1]] == nil {
					r.markNode(texts[k])
					return "$labels." + m[1] + " does not outlive " + a.Op.String()
				}
			}
		}
	}
	return ""
}

// outermost is the aggregation that decides the labels of the result, nil if
// none alone does.
func outermost(e parser.Expr) *parser.AggregateExpr {
	switch x := unwrap(e).(type) {
	case *parser.AggregateExpr:
		if slices.Contains([]parser.ItemType{parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO, parser.COUNT_VALUES}, x.Op) {
			return nil
		}
		return x
	case *parser.BinaryExpr:
		if _, ok := constant(x.RHS); ok {
			return outermost(x.LHS)
		}
	}
	return nil
}
