package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// Problem is one finding of [Lint].
type Problem struct {
	File string `json:"file"`
	// Line and Column are where the rule's expression, or the text that could
	// not be read, begins.
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Rule   string `json:"rule,omitempty"`
	// ID is the name of the lint, by which it can be switched off.
	ID   string `json:"id"`
	Text string `json:"text"`
}

// String is the finding in the form that editors understand.
func (p Problem) String() string {
	s := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Rule != "" {
		s += p.Rule + ": "
	}
	return s + p.Text + " (" + p.ID + ")"
}

// maxFile bounds a rule file.
const maxFile = 16 << 20

// lintRule is one rule of somebody's file.
type lintRule struct {
	name    string
	alert   bool
	expr    parser.Expr
	text    string
	hold    bool
	labels  map[string]string
	line    int
	column  int
	limited bool // its group has a limit
}

// Lint reads a rule file, also a PrometheusRule resource, and reports patterns
// that are known to be broken. off are the ids of lints that are switched off.
func Lint(file string, data []byte, off ...string) []Problem {
	var out []Problem
	report := func(line, column int, rule, id, text string) {
		if !slices.Contains(off, id) {
			out = append(out, Problem{file, line, column, rule, id, text})
		}
	}
	if len(data) > maxFile {
		report(1, 1, "", "unreadable", "the file is larger than 16 MB")
		return out
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil {
		if !errors.Is(err, io.EOF) {
			report(1, 1, "", "unreadable", err.Error())
		} else {
			report(1, 1, "", "unreadable", "the file is empty")
		}
		return out
	}
	root := resolve(&doc)
	if spec := child(root, "spec"); spec != nil {
		root = spec
	}
	groups := child(root, "groups")
	if groups == nil || groups.Kind != yaml.SequenceNode {
		report(1, 1, "", "unreadable", "no list of groups: this is no rule file")
		return out
	}
	for _, g := range groups.Content {
		g = resolve(g)
		list := child(g, "rules")
		if list == nil {
			continue
		}
		limit := child(g, "limit")
		for _, n := range list.Content {
			r, ok := readRule(resolve(n), report)
			if !ok {
				continue
			}
			r.limited = limit != nil && limit.Value != "0"
			for _, l := range Lints() {
				if text := l.find(r); text != "" {
					report(r.line, r.column, r.name, l.ID, text)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

// readRule reads one rule; what cannot be read is reported.
func readRule(n *yaml.Node, report func(line, column int, rule, id, text string)) (*lintRule, bool) {
	r := &lintRule{labels: map[string]string{}, line: n.Line, column: n.Column}
	if a := child(n, "alert"); a != nil {
		r.name, r.alert = a.Value, true
	} else if a := child(n, "record"); a != nil {
		r.name = a.Value
	}
	r.hold = child(n, "for") != nil
	if ls := child(n, "labels"); ls != nil && ls.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(ls.Content); i += 2 {
			r.labels[ls.Content[i].Value] = resolve(ls.Content[i+1]).Value
		}
	}
	e := child(n, "expr")
	if e == nil {
		report(n.Line, n.Column, r.name, "unreadable", "a rule without expr")
		return nil, false
	}
	r.text, r.line, r.column = e.Value, e.Line, e.Column
	expr, err := parser.NewParser(parser.Options{EnableExperimentalFunctions: true}).ParseExpr(e.Value)
	if err != nil {
		report(r.line, r.column, r.name, "unreadable", err.Error())
		return nil, false
	}
	r.expr = expr
	return r, true
}

// resolve follows documents and aliases, not deeper than an honest file goes.
func resolve(n *yaml.Node) *yaml.Node {
	for range 8 {
		switch {
		case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
			n = n.Content[0]
		case n.Kind == yaml.AliasNode && n.Alias != nil:
			n = n.Alias
		default:
			return n
		}
	}
	return n
}

// child is the value of a key, nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}

// names lists the metrics that an expression selects.
func (r *lintRule) names() []string {
	var out []string
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok && v.Name != "" {
			out = append(out, v.Name)
		}
		return nil
	})
	return out
}

// under says that a metric that matches stands below a call of one of the
// functions, and returns its name.
func (r *lintRule) under(match func(metric string) bool, functions ...string) string {
	found := ""
	parser.Inspect(r.expr, func(n parser.Node, path []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok || !match(v.Name) {
			return nil
		}
		for _, p := range path {
			if c, ok := p.(*parser.Call); ok && slices.Contains(functions, c.Func.Name) {
				found = v.Name
			}
		}
		return nil
	})
	return found
}

// compared returns a metric that matches and the number that it is compared
// with, where bad says that the number makes no sense.
func (r *lintRule) compared(match func(metric string) bool, bad func(op parser.ItemType, v float64) bool) (metric string, value float64) {
	parser.Inspect(r.expr, func(n parser.Node, _ []parser.Node) error {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || !b.Op.IsComparisonOperator() {
			return nil
		}
		v, ok := unwrap(b.RHS).(*parser.NumberLiteral)
		if !ok || !bad(b.Op, v.Val) {
			return nil
		}
		parser.Inspect(b.LHS, func(n parser.Node, path []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok && match(s.Name) && !scaledUp(path) {
				metric, value = s.Name, v.Val
			}
			return nil
		})
		return nil
	})
	return metric, value
}

// scaledUp says that a selector is multiplied or counted on its way up.
func scaledUp(path []parser.Node) bool {
	for _, p := range path {
		switch x := p.(type) {
		case *parser.BinaryExpr:
			if x.Op == parser.MUL || x.Op == parser.DIV {
				return true
			}
		case *parser.AggregateExpr:
			if x.Op == parser.COUNT || x.Op == parser.SUM {
				return true
			}
		case *parser.Call:
			if x.Func.Name == "count_over_time" || x.Func.Name == "sum_over_time" {
				return true
			}
		}
	}
	return false
}

func unwrap(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

func oneOf(names ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(names, s) }
}

func prefixed(prefix, suffix string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, prefix) && strings.HasSuffix(s, suffix) }
}
