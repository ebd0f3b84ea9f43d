package rules

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func nicLints() []LintRule {
	return []LintRule{
		{"times-four", "node_exporter has multiplied the kernel's words by 4 already", timesFour},
		{"words", "these counters are in 4-byte words", words4},
		{"wrap-32", "these counters have 32 bits: over a long range they wrap, or stand at their end", wrap32},
		{"device-regex", "compute cards may be elsewhere, such as mlx5_0,3,4,5,6,9,10,11", func(r *lintRule) string {
			return say(r.matcher("device", `mlx5_\[0-\d\]([^+*{\d]|$)|mlx5_\(0\|1\|2|mlx5_0\|mlx5_1\|mlx5_2`), "the pattern %s misses compute cards with other numbers")
		}},
		{"fabric-mix", "a port has either InfiniBand's counters or those of RoCE; EFA is ACTIVE whatever happens", fabricMix},
	}
}

func timesFour(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || b.Op != parser.MUL || found != "" {
			return
		}
		for _, pair := range [][2]parser.Expr{{b.LHS, b.RHS}, {b.RHS, b.LHS}} {
			if v, ok := constant(pair[1]); ok && (v == 4 || v == 32) && strings.HasPrefix(anyMetric(pair[0]), "node_infiniband_port_data_") {
				found = anyMetric(pair[0]) + " times " + num(v)
				r.mark(b)
			}
		}
	})
	return say(found, "%s: it is in bytes already")
}

func words4(r *lintRule) string {
	for _, n := range r.names() {
		if slices.Contains([]string{
			"rdma_port_xmit_data_total", "rdma_port_rcv_data_total", "infiniband_portxmitdata_total", "infiniband_portrcvdata_total",
			"infiniband_port_transmit_data_bytes_total", "infiniband_port_receive_data_bytes_total", "PortXmitDataExtended", "PortRcvDataExtended",
		}, n) && !regexp.MustCompile(`\*\s*(4|32)\b|\b(4|32)\s*\*`).MatchString(r.text) {
			if strings.HasPrefix(n, "infiniband_") && strings.HasSuffix(n, "_bytes_total") {
				continue // its exporter has multiplied
			}
			r.uses(oneOf(n))
			return n + " is taken as bytes"
		}
	}
	return ""
}

// fast are counters of events that come by the million: 32 bits last minutes to
// hours.
var fast = regexp.MustCompile(`(cnp|ecn|xmit_wait|transmit_wait|portxmitwait|rx_(read|write|atomic)_requests|slow_restart)`)

// wrap32 looks for long ranges over such counters, which node_exporter and
// others hand on as the kernel has them.
func wrap32(r *lintRule) string {
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		m, ok := n.(*parser.MatrixSelector)
		if ok && found == "" && m.Range >= 30*time.Minute && fast.MatchString(bare(m)) && !dcgmMetric(bare(m)) && !strings.Contains(bare(m), ":") {
			found = bare(m)
			r.mark(m)
		}
	})
	return say(found, "%s over half an hour or longer")
}

func fabricMix(r *lintRule) string {
	const efa, state = "EFA", "a port's state"
	class := func(m string) string {
		switch {
		case strings.HasPrefix(m, "node_amazonefa_"):
			return efa
		case strings.Contains(m, "symbol_error"), strings.Contains(m, "transmit_wait"), strings.Contains(m, "xmit_wait"), strings.Contains(m, "vl15"):
			return "InfiniBand"
		case strings.Contains(m, "_cnp_"), strings.Contains(m, "ecn_marked"), strings.Contains(m, "roce_"), strings.Contains(m, "pfc_"):
			return "RoCE"
		case m == "node_infiniband_state_id", m == "node_infiniband_physical_state_id":
			return state
		}
		return ""
	}
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		if b, ok := n.(*parser.BinaryExpr); ok && found == "" && b.Op != parser.LOR && b.Op != parser.LUNLESS {
			l, h := class(anyMetric(b.LHS)), class(anyMetric(b.RHS))
			if l != "" && h != "" && l != h && (l != state || h == efa) && (h != state || l == efa) {
				found = "counters of " + l + " and of " + h + " are asked of one port"
				r.mark(b)
			}
		}
	})
	if found != "" {
		return found
	}
	r.selectors(func(v *parser.VectorSelector, m *labels.Matcher) {
		if found == "" && m.Name == "link_layer" && m.Type == labels.MatchEqual {
			c := class(metricOf(v))
			if m.Value == "Ethernet" && c == "InfiniBand" || m.Value == "InfiniBand" && c == "RoCE" {
				found = metricOf(v) + " does not count on " + m.Value
				r.mark(v)
			}
		}
		if found == "" && m.Name == "device" && (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) && strings.Contains(m.Value, "rdmap") && strings.Contains(metricOf(v), "state_id") {
			found = "the state of an EFA device is ACTIVE whatever happens"
			r.mark(v)
		}
	})
	return found
}

func (r *lintRule) matcher(label, pattern string) string {
	re, found := regexp.MustCompile(pattern), ""
	r.selectors(func(v *parser.VectorSelector, m *labels.Matcher) {
		if found == "" && m.Name == label && re.MatchString(m.Value) && (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) {
			found = m.Value
			r.mark(v)
		}
	})
	return found
}
