package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/collwatch/collwatch/signals"
)

// LintRule is a pattern that is known to be broken. Each of them was seen in
// public rule files, or follows from how a series behaves.
type LintRule struct {
	ID  string
	Why string

	find func(r *lintRule) string
}

// Lints lists the patterns.
func Lints() []LintRule {
	const xidGauge, field449 = "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"
	rates := []string{"rate", "irate", "increase", "delta"}
	lints := []LintRule{
		{"xid-increase", "the Xid gauge keeps the last code for days; use DCGM_EXP_XID_ERRORS_COUNT or a change of value", func(r *lintRule) string {
			return say(r.under(oneOf(xidGauge), rates...), "rate of %s, a gauge that holds the last code")
		}},
		{"nvlink-bw-rate", "field 449 is declared a counter, is a rate, and falls between scrapes", func(r *lintRule) string {
			return say(r.under(oneOf(field449), rates...), "rate of %s, which is a rate already")
		}},
		{"percent-on-ratio", "DCGM's profiling fields go from 0 to 1", func(r *lintRule) string {
			if !r.alert {
				return "" // a recording rule may drop impossible values
			}
			m, v := r.compared(prefixed("DCGM_FI_PROF_", "_ACTIVE"), func(_ parser.ItemType, v float64) bool { return v > 1 })
			return say(m, "%s is compared with "+num(v)+", but goes from 0 to 1")
		}},
		{"never-true", "a threshold outside the range of the metric", func(r *lintRule) string {
			m, v := r.compared(oneOf("DCGM_FI_DEV_GPU_UTIL"), func(op parser.ItemType, v float64) bool {
				return (op == parser.GTR && v >= 100) || (op == parser.GTE && v > 100) || (op == parser.LSS && v <= 0)
			})
			if m == "" {
				m, v = r.compared(oneOf("node_infiniband_state_id"), func(op parser.ItemType, v float64) bool { return op == parser.EQLC && (v < 1 || v > 4) })
			}
			return say(m, "%s never meets "+num(v))
		}},
		{"many-to-many", "per-GPU and per-host series do not match one to one", manyToMany},
		{"times-four", "node_exporter has multiplied the kernel's words by 4 already", timesFour},
		{"no-such-metric", "the name does not exist, so the rule never fires", noSuchMetric},
		{"host-label", "dcgm-exporter changed Hostname to hostname after 4.8", func(r *lintRule) string {
			return say(r.usesLabel("Hostname"), "the label %s is hostname in newer dcgm-exporters: use both, or instance")
		}},
		{"device-regex", "compute cards may be elsewhere, such as mlx5_0,3,4,5,6,9,10,11", func(r *lintRule) string {
			return say(r.matcher("device", `mlx5_\[0-7\]`), "the pattern %s misses compute cards with other numbers")
		}},
		{"bare-absent", "absent() fires whenever nothing runs", func(r *lintRule) string {
			if c, ok := unwrap(r.expr).(*parser.Call); ok && (c.Func.Name == "absent" || c.Func.Name == "absent_over_time") && r.alert {
				return c.Func.Name + "() without a condition that a job runs"
			}
			return ""
		}},
		{"fixed-temp", "a fixed limit is a daily false alarm; compare with the slowdown temperature or with peers", func(r *lintRule) string {
			m, v := r.compared(oneOf("DCGM_FI_DEV_GPU_TEMP"), func(_ parser.ItemType, v float64) bool { return v >= 80 && v <= 95 })
			return say(m, "%s against "+num(v)+" °C")
		}},
		{"xid-class", "codes 13, 31, 43 and 45 come from the application or from teardown, 94 is contained", xidClass},
		{"value-in-label", "a label that changes makes a new alert at every evaluation", valueInLabel},
		{"util-health", "utilisation reads 100 in a hang", func(r *lintRule) string {
			if names := r.names(); r.alert && len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return n != "DCGM_FI_DEV_GPU_UTIL" }) {
				return "DCGM_FI_DEV_GPU_UTIL is the only evidence"
			}
			return ""
		}},
		{"frozen-inspector", "values freeze in a hang and after a crash; look at node_textfile_mtime_seconds", func(r *lintRule) string {
			inspector := ""
			for _, n := range r.names() {
				if strings.HasPrefix(n, "nccl_") {
					inspector = n
				}
				if n == "node_textfile_mtime_seconds" {
					return ""
				}
			}
			if !r.alert {
				return ""
			}
			return say(inspector, "%s without a look at the age of its file")
		}},
		{"blame-longest", "in a collective the late rank has the shortest time and the highest bandwidth: these are its victims", blameLongest},
		{"avg-over-ranks", "an average over ranks hides the straggler", avgOverRanks},
		{"alltoall-zero", "the bus bandwidth of AllToAll is always 0", func(r *lintRule) string {
			if slices.Contains(r.names(), "nccl_bus_bandwidth_gbs") {
				return say(r.matcher("collective", "(?i)all_?to_?all"), "bus bandwidth of %s")
			}
			return ""
		}},
		{"size-bucket", "buckets are narrow: a small change of the model moves all series", func(r *lintRule) string {
			return say(r.equals("message_size"), "equality on message_size %s")
		}},
		{"words", "these counters are in 4-byte words", words4},
		{"cardinality", "unbounded series", func(r *lintRule) string {
			if r.alert {
				return ""
			}
			return say(r.groupsBy("coll_sn", "timestamp", "pid", "message_size"), "the label %s is kept in a recorded series")
		}},
		{"le-match", "Prometheus 3 writes 1 as 1.0", func(r *lintRule) string { return say(r.equals("le", "quantile"), "equality on %s") }},
		{"no-for", "one bad scrape makes an alert", func(r *lintRule) string {
			if r.alert && !r.hold {
				return "an alert without for"
			}
			return ""
		}},
		{"limit-field", "when a rule has more alerts than limit, all of them resolve", func(r *lintRule) string {
			if r.alert && r.limited {
				return "the group has a limit"
			}
			return ""
		}},
		{"experimental", "servers refuse the file unless a feature is enabled", func(r *lintRule) string {
			found := ""
			parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
				if c, ok := n.(*parser.Call); ok && c.Func.Experimental {
					found = c.Func.Name
				}
				return nil
			})
			return say(found, "%s is experimental")
		}},
		{"violation-unit", "ns by the help text, µs by some lists", func(r *lintRule) string {
			m, v := r.compared(prefixed("DCGM_FI_DEV_", "_VIOLATION"), func(_ parser.ItemType, v float64) bool { return v > 0 })
			return say(m, "%s against "+num(v)+" assumes a unit")
		}},
	}
	return lints
}

func say(what, format string) string {
	if what == "" {
		return ""
	}
	return fmt.Sprintf(format, what)
}

// groupsBy is the first of the labels that an aggregation keeps.
func (r *lintRule) groupsBy(names ...string) string {
	found := ""
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok && !a.Without {
			for _, l := range a.Grouping {
				if slices.Contains(names, l) {
					found = l
				}
			}
		}
		return nil
	})
	return found
}

func (r *lintRule) selectors(visit func(m *labels.Matcher)) {
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			for _, m := range v.LabelMatchers {
				visit(m)
			}
		}
		return nil
	})
}

// equals is the value that one of the labels is compared with for equality.
func (r *lintRule) equals(names ...string) string {
	found := ""
	r.selectors(func(m *labels.Matcher) {
		if slices.Contains(names, m.Name) && m.Type == labels.MatchEqual && m.Value != "" && m.Value != "+Inf" {
			found = m.Value
		}
	})
	return found
}

func (r *lintRule) matcher(label, pattern string) string {
	re, found := regexp.MustCompile(pattern), ""
	r.selectors(func(m *labels.Matcher) {
		if m.Name == label && re.MatchString(m.Value) && (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) {
			found = m.Value
		}
	})
	return found
}

// usesLabel is the label if a matcher, a grouping or a matching names it.
func (r *lintRule) usesLabel(name string) string {
	found := r.groupsBy(name)
	r.selectors(func(m *labels.Matcher) {
		if m.Name == name {
			found = name
		}
	})
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		if b, ok := n.(*parser.BinaryExpr); ok && b.VectorMatching != nil && slices.Contains(b.VectorMatching.MatchingLabels, name) {
			found = name
		}
		return nil
	})
	return found
}

func manyToMany(r *lintRule) string {
	found := ""
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || b.VectorMatching == nil || b.VectorMatching.Card != parser.CardOneToOne || b.Op.IsSetOperator() {
			return nil
		}
		if l, h := bare(b.LHS), bare(b.RHS); (strings.HasPrefix(l, "DCGM_") && strings.HasPrefix(h, "node_")) || (strings.HasPrefix(h, "DCGM_") && strings.HasPrefix(l, "node_")) {
			found = l + " and " + h
		}
		return nil
	})
	return say(found, "%s are joined without group_left or group_right")
}

// bare is the metric of a selector that is not aggregated.
func bare(e parser.Expr) string {
	switch x := unwrap(e).(type) {
	case *parser.VectorSelector:
		return x.Name
	case *parser.MatrixSelector:
		return bare(x.VectorSelector)
	case *parser.Call:
		for _, a := range x.Args {
			if s := bare(a); s != "" {
				return s
			}
		}
	}
	return ""
}

func timesFour(r *lintRule) string {
	found := ""
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || b.Op != parser.MUL {
			return nil
		}
		for _, pair := range [][2]parser.Expr{{b.LHS, b.RHS}, {b.RHS, b.LHS}} {
			if v, ok := unwrap(pair[1]).(*parser.NumberLiteral); ok && v.Val == 4 && strings.HasPrefix(bare(pair[0]), "node_infiniband_port_data_") {
				found = bare(pair[0])
			}
		}
		return nil
	})
	return say(found, "%s times 4: it is in bytes already")
}

// noSuchMetric looks for names of the known exporters that they do not have.
func noSuchMetric(r *lintRule) string {
	var known []string
	for _, d := range signals.Catalogue() {
		for _, rule := range d.Rules {
			if !rule.Pattern {
				known = append(known, rule.Metric)
			}
		}
	}
	right := map[string]string{
		"node_infiniband_port_receive_errors_total":    "node_infiniband_port_errors_received_total",
		"node_infiniband_symbol_error_counter_total":   "node_infiniband_symbol_error_total",
		"node_infiniband_port_transmit_errors_total":   "node_infiniband_port_discards_transmitted_total",
		"node_infiniband_port_rcv_errors_total":        "node_infiniband_port_errors_received_total",
		"node_infiniband_port_transmit_discards_total": "node_infiniband_port_discards_transmitted_total",
	}
	for _, n := range r.names() {
		if use := right[n]; use != "" {
			return n + " does not exist: the name is " + use
		}
		// A name one letter off a known one is a slip of the pen, unless a digit
		// differs: p50 and p95, load1 and load5 are different series.
		if !slices.Contains(known, n) {
			if near := nearest(n, known); near != "" && edits(n, near, 2) == 1 && digitless(n) != digitless(near) {
				return n + " is not known, did you mean " + near + "?"
			}
		}
	}
	return ""
}

func digitless(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, s)
}

func xidClass(r *lintRule) string {
	if !r.alert {
		return ""
	}
	m, _ := r.compared(oneOf("DCGM_FI_DEV_XID_ERRORS"), func(op parser.ItemType, v float64) bool {
		return (op == parser.GTR || op == parser.NEQ || op == parser.GTE) && v <= 1
	})
	return say(m, "every code of %s counts as a fault of the hardware")
}

func valueInLabel(r *lintRule) string {
	for _, k := range slices.Sorted(maps.Keys(r.labels)) {
		v := r.labels[k]
		if strings.Contains(v, "$value") || strings.Contains(v, ".Value") {
			return "the label " + k + " has the value"
		}
	}
	return ""
}

func blameLongest(r *lintRule) string {
	found := ""
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		a, ok := n.(*parser.AggregateExpr)
		if !ok {
			return nil
		}
		name := bare(a.Expr)
		if a.Op == parser.TOPK && strings.Contains(name, "exec_time") || a.Op == parser.BOTTOMK && strings.Contains(name, "bandwidth") {
			found = name
		}
		return nil
	})
	return say(found, "the largest time or smallest bandwidth of %s is named")
}

func avgOverRanks(r *lintRule) string {
	found := ""
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		a, ok := n.(*parser.AggregateExpr)
		if !ok || a.Op != parser.AVG || a.Without || !r.alert {
			return nil
		}
		name := bare(a.Expr)
		if !strings.HasPrefix(name, "nccl_") {
			return nil
		}
		if !slices.ContainsFunc(a.Grouping, func(l string) bool { return slices.Contains([]string{"rank", "gpu", "node", "hostname"}, l) }) {
			found = name
		}
		return nil
	})
	return say(found, "%s is averaged over ranks")
}

func words4(r *lintRule) string {
	for _, n := range r.names() {
		if slices.Contains([]string{"rdma_port_xmit_data_total", "rdma_port_rcv_data_total", "infiniband_portxmitdata_total", "infiniband_portrcvdata_total", "PortXmitDataExtended"}, n) &&
			!regexp.MustCompile(`\*\s*(4|32)\b|\b(4|32)\s*\*`).MatchString(r.text) {
			return n + " is taken as bytes"
		}
	}
	return ""
}
