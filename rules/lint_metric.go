package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// dcgmGauge are fields that are gauges by their names.
var dcgmGauge = regexp.MustCompile(`^DCGM_FI_(DEV_\w+_(TEMP|CLOCK|UTIL|USED|FREE)|PROF_\w+_ACTIVE)$`)

func rateOfGauge(r *lintRule) string {
	return say(r.under(func(m string) bool {
		f, ok := r.book.facts[m]
		if m == xidGauge || m == field449 {
			return false // they have lints of their own
		}
		return ok && f.gauge && !f.counter || !ok && dcgmGauge.MatchString(m)
	}, "rate", "irate", "increase"), "rate of %s, which is a gauge")
}

// rawCounter looks for counters that are compared as they are.
func rawCounter(r *lintRule) string {
	if !r.alert {
		return ""
	}
	facts, found := r.book.facts, ""
	counter := func(m string) bool {
		f, ok := facts[m]
		return ok && f.counter && !f.gauge && !strings.HasPrefix(m, "DCGM_EXP_")
	}
	above := func(op parser.ItemType, v float64) bool { return (op == parser.GTR || op == parser.GTE) && v >= 0 }
	m, _ := r.compared(counter, above)
	if m == "" { // a sum of counters is one too
		r.visit(func(n parser.Node, _ []parser.Node) {
			b, ok := n.(*parser.BinaryExpr)
			if !ok || m != "" {
				return
			}
			a, isAgg := unwrap(b.LHS).(*parser.AggregateExpr)
			v, isConst := constant(b.RHS)
			if isAgg && isConst && a.Op == parser.SUM && above(b.Op, v) {
				if s, ok := unwrap(a.Expr).(*parser.VectorSelector); ok && counter(metricOf(s)) {
					m = metricOf(s)
					r.mark(b)
				}
			}
		})
	}
	r.visit(func(n parser.Node, path []parser.Node) {
		if v, ok := n.(*parser.VectorSelector); ok && metricOf(v) == m && m != "" && !slices.ContainsFunc(path, isRange) {
			found = m
		}
	})
	return say(found, "%s is compared as it is: one event is told for ever")
}

func isRange(n parser.Node) bool {
	switch n.(type) {
	case *parser.MatrixSelector, *parser.SubqueryExpr:
		return true
	}
	return false
}

func zeroOnMissing(r *lintRule) string {
	if !r.alert || strings.Contains(r.text, "absent") {
		return ""
	}
	facts, found := r.book.facts, ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || b.Op != parser.EQLC || found != "" {
			return
		}
		if v, ok := constant(b.RHS); !ok || v != 0 {
			return
		}
		if m := bare(b.LHS); facts[m].counter && facts[m].optional || strings.HasPrefix(m, "node_infiniband_") && strings.HasSuffix(m, "_total") {
			found = m
			r.mark(b)
		}
	})
	return say(found, "%s == 0 does not see a port without the counter: use unless, or absent() with a job")
}

// metricRange is what values a metric can have.
type metricRange struct {
	match    func(string) bool
	low, top float64
}

func neverTrue(r *lintRule) string {
	ranges := []metricRange{
		{oneOf(gpuUtil, "DCGM_FI_DEV_MEM_COPY_UTIL", "DCGM_FI_DEV_ENC_UTIL", "DCGM_FI_DEV_DEC_UTIL"), 0, 100},
		{oneOf("node_infiniband_state_id"), 1, 4},
		{oneOf("node_infiniband_physical_state_id"), 1, 7},
		{oneOf("DCGM_FI_DEV_PCIE_LINK_WIDTH"), 1, 32},
		{oneOf("DCGM_FI_DEV_PCIE_LINK_GEN"), 1, 7},
		{oneOf("DCGM_FI_DEV_ROW_REMAP_FAILURE"), 0, 1},
		{oneOf("up"), 0, 1},
	}
	for _, x := range ranges {
		m, v := r.compared(x.match, func(op parser.ItemType, v float64) bool { return outside(op, v, x.low, x.top) })
		if m != "" {
			return m + " goes from " + num(x.low) + " to " + num(x.top) + " and never meets " + num(v)
		}
	}
	// Seconds of waiting per second.
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || !b.Op.IsComparisonOperator() || found != "" {
			return
		}
		c, isCall := unwrap(b.LHS).(*parser.Call)
		v, isConst := constant(b.RHS)
		if isCall && isConst && (c.Func.Name == "rate" || c.Func.Name == "irate") && secondsPerSecond(bare(c)) && outside(b.Op, v, 0, 1) {
			found = "the rate of " + bare(c) + " is a share from 0 to 1 and never meets " + num(v)
			r.mark(b)
		}
	})
	return found
}

// secondsPerSecond says that a counter of seconds rises by one a second at most.
func secondsPerSecond(m string) bool {
	return prefixed("node_pressure_", "_seconds_total")(m) || m == "node_cpu_seconds_total"
}

// outside says that no value between low and top meets a condition.
func outside(op parser.ItemType, v, low, top float64) bool {
	switch op {
	case parser.GTR:
		return v >= top
	case parser.GTE, parser.EQLC:
		return v > top || op == parser.EQLC && v < low
	case parser.LSS:
		return v <= low
	case parser.LTE:
		return v < low
	}
	return false
}
