package rules

import (
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// keepLabels makes an expression keep labels that tell clusters apart, where one
// server has several: by them too rows are aggregated and matched. Hosts of two
// clusters with one name then stay two hosts, and "the fabric" is that of one.
func keepLabels(e parser.Expr, keep []string) {
	if len(keep) == 0 {
		return
	}
	add := func(labels []string) []string {
		for _, l := range keep {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
		return labels
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		switch x := n.(type) {
		case *parser.AggregateExpr:
			if !x.Without {
				x.Grouping = add(x.Grouping)
			}
		case *parser.BinaryExpr:
			// Without on (…) all labels are matched anyway.
			if m := x.VectorMatching; m != nil && m.On {
				m.MatchingLabels = add(m.MatchingLabels)
			}
		}
		return nil
	})
}
