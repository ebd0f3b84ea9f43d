package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	xidGauge = "DCGM_FI_DEV_XID_ERRORS"
	xidCount = "DCGM_EXP_XID_ERRORS_COUNT"
	field449 = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"
	gpuUtil  = "DCGM_FI_DEV_GPU_UTIL"
)

func dcgmMetric(s string) bool { return strings.HasPrefix(s, "DCGM_") }

func gpuLints() []LintRule {
	rates := []string{"rate", "irate", "increase", "delta", "idelta", "sum_over_time"}
	return []LintRule{
		{"xid-increase", "the Xid gauge keeps the last code for days; use DCGM_EXP_XID_ERRORS_COUNT or a change of value", func(r *lintRule) string {
			return say(r.under(oneOf(xidGauge), rates...), "rate of %s, a gauge that holds the last code")
		}},
		{"nvlink-bw-rate", "field 449 is declared a counter, is a rate, and falls between scrapes", func(r *lintRule) string {
			return say(r.under(oneOf(field449), rates...), "rate of %s, which is a rate already")
		}},
		{"percent-on-ratio", "DCGM's profiling fields go from 0 to 1, its utilisations from 0 to 100", percentOnRatio},
		{"fixed-temp", "a fixed limit is a daily false alarm; compare with the slowdown temperature or with peers", func(r *lintRule) string {
			m, v := r.compared(oneOf("DCGM_FI_DEV_GPU_TEMP"), func(op parser.ItemType, v float64) bool {
				return (op == parser.GTR || op == parser.GTE) && v >= 70 && v <= 95
			})
			return say(m, "%s against "+num(v)+" °C")
		}},
		{"xid-class", "codes 13, 31, 43 and 45 come from the application or from teardown, 94 is contained", xidClass},
		{"util-health", "utilisation reads 100 in a hang", func(r *lintRule) string {
			names := r.names()
			if !r.alert || len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return n != gpuUtil }) {
				return ""
			}
			return gpuUtil + " is the only evidence"
		}},
		{"sentinel", "DCGM's blank value 9223372036854775794 arrives as a sample: add an upper bound inside the aggregation", sentinel},
		{"violation-unit", "ns by the help text, µs by some lists", func(r *lintRule) string {
			m, v := "", 0.0
			r.visit(func(n parser.Node, _ []parser.Node) {
				b, ok := n.(*parser.BinaryExpr)
				if !ok || !b.Op.IsComparisonOperator() || m != "" {
					return
				}
				for _, pair := range [][2]parser.Expr{{b.LHS, b.RHS}, {b.RHS, b.LHS}} {
					if c, ok := constant(pair[1]); ok && c > 0 && prefixed("DCGM_FI_DEV_", "_VIOLATION")(anyMetric(pair[0])) {
						m, v = anyMetric(pair[0]), c
						r.mark(b)
					}
				}
			})
			return say(m, "%s against "+num(v)+" assumes a unit")
		}},
		{"idle-pcie", "an idle GPU may lower its link to generation 1", idlePCIe},
		{"dup-hpc-job", "with the mapping of jobs two jobs on one GPU are two series of one value", dupHPCJob},
		{"short-hold", "dcgm-exporter collects every 30 s: wait for three values", func(r *lintRule) string {
			const three = 90 * time.Second
			if !r.alert || r.hold == 0 || r.hold >= three || r.ranged() {
				return ""
			}
			m := r.uses(prefixed("DCGM_FI_", ""))
			r.markNode(r.holdNode)
			return say(m, "%s is judged after "+span(r.hold)+", less than three collections")
		}},
	}
}

func anyMetric(e parser.Expr) string {
	name := ""
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok && name == "" {
			name = metricOf(v)
		}
		return nil
	})
	return name
}

func idlePCIe(r *lintRule) string {
	const gen = "DCGM_FI_DEV_PCIE_LINK_GEN"
	busy := slices.ContainsFunc(r.names(), func(n string) bool {
		return n == gpuUtil || strings.HasPrefix(n, "DCGM_FI_PROF_") || strings.Contains(n, "busy") || strings.Contains(n, "POWER")
	})
	if !r.alert || busy {
		return ""
	}
	m, _ := r.compared(oneOf(gen), func(op parser.ItemType, _ float64) bool {
		return op == parser.LSS || op == parser.LTE || op == parser.NEQ || op == parser.EQLC
	})
	r.visit(func(n parser.Node, _ []parser.Node) { // with the most that the card can
		b, ok := n.(*parser.BinaryExpr)
		if ok && m == "" && b.Op.IsComparisonOperator() && (bare(b.LHS) == gen) != (bare(b.RHS) == gen) && strings.HasSuffix(bare(b.LHS)+bare(b.RHS), "_GEN") {
			m = gen
			r.mark(b)
		}
	})
	return say(m, "%s of GPUs that may be idle")
}

func percentOnRatio(r *lintRule) string {
	above := func(_ parser.ItemType, v float64) bool { return v > 1.01 }
	if r.alert { // a recording rule may drop impossible values
		if m, v := r.compared(func(s string) bool {
			return strings.HasPrefix(s, "DCGM_FI_PROF_") && (strings.HasSuffix(s, "_ACTIVE") || strings.HasSuffix(s, "_OCCUPANCY"))
		}, above); m != "" {
			return m + " is compared with " + num(v) + ", but goes from 0 to 1"
		}
	}
	m, v := r.compared(oneOf(gpuUtil, "DCGM_FI_DEV_MEM_COPY_UTIL", "DCGM_FI_DEV_ENC_UTIL", "DCGM_FI_DEV_DEC_UTIL"), func(_ parser.ItemType, v float64) bool { return v > 0 && v < 1 })
	return say(m, "%s is compared with "+num(v)+", but goes from 0 to 100")
}

// applicationXids are codes that an application or a teardown causes.
func applicationXids() []float64 { return []float64{13, 31, 43, 45} }

func xidClass(r *lintRule) string {
	if !r.alert || r.namesCodes() {
		return ""
	}
	every := func(op parser.ItemType, v float64) bool {
		return (op == parser.GTR && v < 13) || (op == parser.NEQ && v == 0) || (op == parser.GTE && v <= 13)
	}
	if m, _ := r.compared(oneOf(xidGauge), every); m != "" {
		return "every code of " + m + " counts as a fault of the hardware"
	}
	if !slices.ContainsFunc(r.names(), func(n string) bool { return n != xidGauge }) {
		if m := r.under(oneOf(xidGauge), "changes"); m != "" {
			return "every code to which " + m + " changes counts as a fault of the hardware"
		}
	}
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		v, ok := n.(*parser.VectorSelector)
		if !ok || metricOf(v) != xidCount || found != "" {
			return
		}
		takes := func(code float64) bool {
			return !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "xid" && !m.Matches(num(code)) })
		}
		if !slices.ContainsFunc(applicationXids(), func(code float64) bool { return !takes(code) }) {
			found = xidCount
			r.mark(v)
		}
	})
	return say(found, "%s of every code: name those of the hardware in xid=~\"…\"")
}

// namesCodes says that the expression compares the gauge with codes one by one:
// those of the hardware, or to leave out those of applications.
func (r *lintRule) namesCodes() bool {
	codes := map[float64]bool{}
	r.visit(func(n parser.Node, _ []parser.Node) {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || b.Op != parser.EQLC && b.Op != parser.NEQ || anyMetric(b) != xidGauge {
			return
		}
		for _, side := range []parser.Expr{b.LHS, b.RHS} {
			if v, ok := constant(side); ok && v != 0 {
				codes[v] = codes[v] || b.Op == parser.EQLC
			}
		}
	})
	for _, c := range applicationXids() {
		if _, left := codes[c]; !left {
			return false
		}
	}
	return true
}

// sentinel looks for sums, means and maxima of DCGM's integer fields into which
// one blank value would go.
func sentinel(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		a, ok := n.(*parser.AggregateExpr)
		if !ok || found != "" || !slices.Contains([]parser.ItemType{parser.SUM, parser.AVG, parser.MAX}, a.Op) {
			return
		}
		m := anyMetric(a.Expr)
		if !strings.HasPrefix(m, "DCGM_FI_DEV_") {
			return
		}
		guarded := false
		parser.Inspect(a.Expr, func(n parser.Node, _ []parser.Node) error {
			switch x := n.(type) {
			case *parser.BinaryExpr: // any condition on the members
				guarded = guarded || x.Op.IsComparisonOperator() || x.Op.IsSetOperator()
				if v, ok := constant(x.RHS); ok && v == 0 && x.Op == parser.MUL {
					guarded = true
				}
			case *parser.Call:
				guarded = guarded || slices.Contains([]string{"clamp_max", "clamp", "rate", "increase", "irate", "changes", "count_over_time", "present_over_time"}, x.Func.Name)
			}
			return nil
		})
		if !guarded {
			found = m
			r.mark(a)
		}
	})
	return say(found, "one blank value of %s spoils the result")
}

func dupHPCJob(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		a, ok := n.(*parser.AggregateExpr)
		if !ok || a.Op != parser.SUM || found != "" || !dcgmMetric(anyMetric(a.Expr)) {
			return
		}
		mapped := strings.Contains(r.text, "hpc_job")
		if mapped && (a.Without || !slices.Contains(a.Grouping, "hpc_job")) {
			// An inner maximum by GPU makes the series one again.
			if _, inner := below(a.Expr); inner != nil {
				return
			}
			found = anyMetric(a.Expr)
			r.mark(a)
		}
	})
	return say(found, "%s is summed over jobs that share a GPU: take max by (instance, gpu) first")
}

// ranged says that every selector of the expression looks over a range, so that
// one bad sample decides nothing.
func (r *lintRule) ranged() bool {
	all := true
	r.visit(func(n parser.Node, path []parser.Node) {
		if _, ok := n.(*parser.VectorSelector); !ok {
			return
		}
		all = all && slices.ContainsFunc(path, func(p parser.Node) bool {
			switch p.(type) {
			case *parser.MatrixSelector, *parser.SubqueryExpr:
				return true
			}
			return false
		})
	})
	return all
}
