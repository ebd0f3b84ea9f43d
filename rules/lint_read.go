package rules

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// lintRule is one rule of somebody's file.
type lintRule struct {
	name     string
	alert    bool
	expr     parser.Expr
	text     string
	exprNode *yaml.Node
	// hold is the value of for, 0 if there is none; keep is keep_firing_for.
	hold, keep  time.Duration
	holdNode    *yaml.Node
	labels      map[string]*yaml.Node
	annotations map[string]*yaml.Node
	// limit is that of its group, if it has one.
	limit *yaml.Node
	// metrics are the names that exist, nil if nobody was asked.
	metrics map[string]bool

	// target is that of the options, book what is known of names.
	target string
	book   *book

	// place and offset are where the finding at hand is.
	place  *yaml.Node
	offset int
}

// mark says that the finding is at a node of the expression.
func (r *lintRule) mark(n parser.Node) {
	r.place, r.offset = r.exprNode, max(int(n.PositionRange().Start), 0)
}

func (r *lintRule) markNode(n *yaml.Node) {
	if n != nil {
		r.place, r.offset = n, 0
	}
}

func ruleParser() parser.Parser {
	return parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
}

// rule reads one rule; what cannot be read is reported.
func (l *linter) rule(n *yaml.Node) (*lintRule, bool) {
	r := &lintRule{labels: map[string]*yaml.Node{}, annotations: map[string]*yaml.Node{}, metrics: l.metrics, target: l.o.Target, book: l.book}
	if n.Kind != yaml.MappingNode {
		return nil, false // the schema says so
	}
	if a := child(n, "alert"); a != nil {
		r.name, r.alert = a.Value, true
	} else if a := child(n, "record"); a != nil {
		r.name = a.Value
	}
	l.fields(n, r.name, ruleFields(l.o.Target))
	r.holdNode = child(n, "for")
	r.hold, r.keep = l.duration(r.holdNode, r.name), l.duration(child(n, "keep_firing_for"), r.name)
	scalars(child(n, "labels"), r.labels)
	scalars(child(n, "annotations"), r.annotations)
	e := child(n, "expr")
	if e == nil {
		l.report(n.Line, n.Column, r.name, "unreadable", "a rule without expr")
		return nil, false
	}
	r.text, r.exprNode = e.Value, e
	expr, err := ruleParser().ParseExpr(e.Value)
	if err != nil {
		if l.otherDialect(r, err) {
			return nil, false
		}
		line, column := l.position(e, parseOffset(err))
		l.report(line, column, r.name, "unreadable", withoutPosition(err))
		return nil, false
	}
	r.expr = expr
	l.oldNames(r)
	return r, true
}

// onlyMetricsQL is what MetricsQL has beyond PromQL.
var onlyMetricsQL = regexp.MustCompile(`\b(default|if|ifnot|limit|keep_metric_names|WITH)\b|unknown function with name|\{[^}"]*\bor\b`)

// otherDialect deals with expressions that Prometheus 3 cannot read and another
// server can: those of MetricsQL are left to vmalert, and a function that
// Prometheus 3 renamed is no broken file on Prometheus 2.
func (l *linter) otherDialect(r *lintRule, err error) bool {
	if l.o.Target == "victoriametrics" {
		return onlyMetricsQL.MatchString(r.text + " " + err.Error())
	}
	if !strings.Contains(err.Error(), `unknown function with name "holt_winters"`) {
		return false
	}
	if l.o.Target != "prometheus-2" {
		line, column := l.position(r.exprNode, strings.Index(r.text, "holt_winters"))
		l.report(line, column, r.name, "experimental", "holt_winters is double_exponential_smoothing in Prometheus 3, behind a feature flag")
	}
	return true
}

// oldNames reports names outside the old alphabet where the target's oldest
// server cannot read the quotes that they need.
func (l *linter) oldNames(r *lintRule) {
	if l.o.Target != "prometheus-2" {
		return
	}
	bad := func(name string) bool { return name != "" && !model.LegacyValidation.IsValidMetricName(name) }
	found := ""
	r.visit(func(n parser.Node, _ []parser.Node) {
		v, ok := n.(*parser.VectorSelector)
		if !ok || found != "" {
			return
		}
		names := []string{metricOf(v)}
		for _, m := range v.LabelMatchers {
			names = append(names, m.Name)
		}
		if i := slices.IndexFunc(names, bad); i >= 0 {
			found = names[i]
			r.mark(v)
		}
	})
	if found != "" {
		line, column := l.position(r.place, r.offset)
		l.report(line, column, r.name, "schema", "the name "+strconv.Quote(found)+" needs quotes, which Prometheus 2 refuses")
	}
}

// duration reads one, 0 if there is none. One that cannot be read is reported,
// and then taken as long: its rule is broken in another way.
func (l *linter) duration(n *yaml.Node, rule string) time.Duration {
	if n == nil {
		return 0
	}
	d, err := model.ParseDuration(n.Value)
	if err != nil {
		l.report(n.Line, n.Column, rule, "schema", err.Error())
		return time.Hour
	}
	return time.Duration(d)
}

func scalars(n *yaml.Node, to map[string]*yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		to[n.Content[i].Value] = resolve(n.Content[i+1])
	}
}

// parseOffset is where a parser gave up.
func parseOffset(err error) int {
	if errs, ok := err.(parser.ParseErrors); ok && len(errs) > 0 { //nolint:errorlint // the parser returns the bare type
		return max(int(errs[0].PositionRange.Start), 0)
	}
	return 0
}

var errorPosition = regexp.MustCompile(`^\d+:\d+: `)

func withoutPosition(err error) string { return errorPosition.ReplaceAllString(err.Error(), "") }

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

// Recorded lists the names that a file's rules record, none if it cannot be
// read.
func Recorded(data []byte) []string {
	l := &linter{book: newBook(nil)}
	var doc yaml.Node
	if len(data) > maxFile || yaml.Unmarshal(data, &doc) != nil {
		return nil
	}
	root := resolve(&doc)
	if spec := child(root, "spec"); spec != nil {
		root = spec
	}
	names := map[string]bool{}
	groups := child(root, "groups")
	if groups == nil {
		return nil
	}
	for _, g := range groups.Content {
		list := child(resolve(g), "rules")
		if list == nil {
			continue
		}
		for _, n := range list.Content {
			if r, ok := l.rule(resolve(n)); ok && !r.alert {
				names[r.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
