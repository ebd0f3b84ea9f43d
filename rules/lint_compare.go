package rules

import (
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// under says that a metric that matches stands directly below a call of one of
// the functions, and returns its name.
func (r *lintRule) under(match func(metric string) bool, functions ...string) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		c, ok := n.(*parser.Call)
		if !ok || found != "" || !slices.Contains(functions, c.Func.Name) {
			return
		}
		for _, a := range c.Args {
			if m := bare(a); match(m) {
				found = m
				r.mark(c)
			}
		}
	})
	return found
}

// compared returns a metric that matches and the number that it is compared
// with, where bad says that the number makes no sense.
func (r *lintRule) compared(match func(metric string) bool, bad func(op parser.ItemType, v float64) bool) (metric string, value float64) {
	r.visit(func(n parser.Node, _ []parser.Node) {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || !b.Op.IsComparisonOperator() || metric != "" {
			return
		}
		side, op := b.LHS, b.Op
		v, ok := constant(b.RHS)
		if !ok {
			if v, ok = constant(b.LHS); !ok {
				return
			}
			side, op = b.RHS, mirrored(op)
		}
		if !bad(op, v) {
			return
		}
		parser.Inspect(side, func(n parser.Node, path []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok && match(metricOf(s)) && !scaledUp(path) {
				metric, value = metricOf(s), v
				r.mark(b)
			}
			return nil
		})
	})
	return metric, value
}

// mirrored is the operator with its sides exchanged.
func mirrored(op parser.ItemType) parser.ItemType {
	switch op {
	case parser.GTR:
		return parser.LSS
	case parser.GTE:
		return parser.LTE
	case parser.LSS:
		return parser.GTR
	case parser.LTE:
		return parser.GTE
	}
	return op
}

// constant is the value of a number or of arithmetic on numbers.
func constant(e parser.Expr) (float64, bool) {
	switch x := unwrap(e).(type) {
	case *parser.NumberLiteral:
		return x.Val, true
	case *parser.UnaryExpr:
		v, ok := constant(x.Expr)
		if x.Op == parser.SUB {
			v = -v
		}
		return v, ok
	case *parser.BinaryExpr:
		a, okA := constant(x.LHS)
		b, okB := constant(x.RHS)
		if !okA || !okB {
			return 0, false
		}
		switch x.Op {
		case parser.ADD:
			return a + b, true
		case parser.SUB:
			return a - b, true
		case parser.MUL:
			return a * b, true
		case parser.DIV:
			return a / b, true
		}
	}
	return 0, false
}

// scaledUp says that a selector is scaled, counted or summed on its way up, so
// that its own range no longer holds.
func scaledUp(path []parser.Node) bool {
	for _, p := range path {
		switch x := p.(type) {
		case *parser.BinaryExpr:
			// A comparison that drops rows leaves values as they are.
			if !x.Op.IsSetOperator() && (!x.Op.IsComparisonOperator() || x.ReturnBool) {
				return true
			}
		case *parser.AggregateExpr:
			if slices.Contains([]parser.ItemType{parser.COUNT, parser.SUM, parser.COUNT_VALUES, parser.STDDEV, parser.STDVAR, parser.GROUP}, x.Op) {
				return true
			}
		case *parser.Call:
			if !slices.Contains([]string{
				"max_over_time", "min_over_time", "avg_over_time", "last_over_time", "quantile_over_time", "label_replace", "label_join", "round", "ceil", "floor",
				"clamp_min", "clamp_max", "clamp",
			}, x.Func.Name) {
				return true
			}
		}
	}
	return false
}
