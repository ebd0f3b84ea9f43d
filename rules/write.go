package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// writer turns groups into files. Keys have one order and maps are sorted, so
// that equal inputs give equal bytes.
type writer struct {
	o    *Options
	p    Profile
	left []Left
	// own says that the rules are about collwatch, which watches all clusters.
	own bool
}

// The marks of a generated file. Whoever edits the body makes the hash wrong,
// and the file is then not overwritten.
const (
	markFirst   = "# Written by collwatch rules generate. Do not edit: change the options and generate again."
	markContent = "# Content "
)

func (w *writer) rules(f ruleFile, first bool) ([]byte, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, g := range f.groups {
		w.own = strings.HasPrefix(g.name, "collwatch."+selfClass)
		n, err := w.group(g)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, n)
	}
	doc := mapping("groups", list)
	if w.o.CRD {
		// Names of resources have no underscores.
		meta := mapping("name", scalar("collwatch-"+strings.ReplaceAll(f.name, "_", "-")))
		if w.o.Namespace != "" {
			put(meta, "namespace", scalar(w.o.Namespace))
		}
		if len(w.o.ResourceLabels) > 0 {
			put(meta, "labels", stringMap(w.o.ResourceLabels))
		}
		doc = mapping("apiVersion", scalar("monitoring.coreos.com/v1"), "kind", scalar("PrometheusRule"), "metadata", meta, "spec", doc)
	}
	notes := ""
	if first {
		notes = w.leftText()
	}
	return w.file(doc, notes)
}

func (w *writer) group(g group) (*yaml.Node, error) {
	n := mapping("name", scalar(g.name), "interval", scalar(span(w.o.Interval)))
	if w.o.QueryOffset > 0 {
		put(n, w.p.OffsetField(), scalar(span(w.o.QueryOffset)))
	}
	if w.p.PartialResponse != "" {
		put(n, "partial_response_strategy", scalar(w.p.PartialResponse))
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, r := range g.rules {
		x, err := w.rule(r)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, x)
	}
	put(n, "rules", list)
	return n, nil
}

func (w *writer) rule(r rule) (*yaml.Node, error) {
	expr, err := w.pretty(r.expr)
	if err != nil {
		return nil, fmt.Errorf("rule %s%s: %w", r.record, r.alert, err)
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	if r.alert != "" {
		put(n, "alert", scalar(r.alert))
	} else {
		put(n, "record", scalar(r.record))
	}
	put(n, "expr", scalar(expr))
	if r.hold > 0 {
		put(n, "for", scalar(span(r.hold)))
	}
	if r.keep > 0 {
		put(n, "keep_firing_for", scalar(span(r.keep)))
	}
	if len(r.labels) > 0 {
		put(n, "labels", stringMap(r.labels))
	}
	if len(r.annotations) > 0 {
		put(n, "annotations", stringMap(r.annotations))
	}
	var comments []string
	if r.comment != "" {
		comments = append(comments, "# "+r.comment)
	}
	if r.alert != "" && r.hold == 0 && r.keep == 0 {
		comments = append(comments, "# collwatch:off no-for the evidence is an event, and stays for its window")
	}
	n.HeadComment = strings.Join(comments, "\n")
	return n, nil
}

// pretty lays an expression out over lines, and proves that it parses. What is
// experimental in Prometheus is no more than ordinary in MetricsQL.
func (w *writer) pretty(expr string) (string, error) {
	p := parser.NewParser(parser.Options{EnableExperimentalFunctions: w.p.MetricsQL})
	e, err := p.ParseExpr(expr)
	if err != nil {
		return "", fmt.Errorf("%w in %s", err, expr)
	}
	if !w.own {
		keepLabels(e, w.o.KeepLabels)
	}
	return parser.Prettify(e), nil
}

// leftText lists in comments what is not in the file, and why.
func (w *writer) leftText() string {
	if len(w.left) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("#\n# Not among these rules:\n")
	for _, l := range w.left {
		b.WriteString("#   " + l.String() + "\n")
	}
	return b.String()
}

// String says what is left out in a line.
func (l Left) String() string {
	what := l.Class
	if l.What != "" {
		what += " (" + l.What + ")"
	}
	return what + ": " + l.Why
}

// file puts the header on a document.
func (w *writer) file(doc *yaml.Node, notes string) ([]byte, error) {
	var body bytes.Buffer
	enc := yaml.NewEncoder(&body)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("write rules: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write rules: %w", err)
	}
	format := "yaml"
	if w.o.CRD {
		format = "crd"
	}
	options := fmt.Sprintf("# collwatch %s, target %s, format %s, interval %s, inputs %s\n", w.o.Version, w.p.Name, format, span(w.o.Interval), w.o.fingerprint())
	rest := options + notes + "\n" + body.String()
	return []byte(markFirst + "\n" + markContent + contentHash(rest) + "\n" + rest), nil
}

func contentHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Edited says that a file was not written by Generate, or was changed since.
func Edited(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, []byte(markFirst+"\n"+markContent))
	if !ok {
		return true
	}
	hash, rest, ok := bytes.Cut(rest, []byte("\n"))
	return !ok || string(hash) != contentHash(string(rest))
}

func mapping(keysAndValues ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		put(n, keysAndValues[i].(string), keysAndValues[i+1].(*yaml.Node)) //nolint:forcetypeassert // the callers are in this file
	}
	return n
}

func put(n *yaml.Node, key string, v *yaml.Node) { n.Content = append(n.Content, scalar(key), v) }

func scalar(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func stringMap(m map[string]string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		put(n, k, scalar(m[k]))
	}
	return n
}
