package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is one finding of [Lint].
type Problem struct {
	File string `json:"file"`
	// Line and Column are those of what is wrong, from 1.
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

// LintOptions say what is looked for.
type LintOptions struct {
	// Off are the ids of lints that are not run.
	Off []string
	// Target is the server that will load the files. "" allows what any target
	// allows.
	Target string
	// Metrics are the names that exist on a source, and those that other files
	// record; nil means that nobody was asked.
	Metrics []string
}

// maxFile bounds a rule file.
const maxFile = 16 << 20

// linter reads one file.
type linter struct {
	o       LintOptions
	file    string
	lines   []string
	metrics map[string]bool
	book    *book
	out     []Problem
}

// Lint reads a rule file, also a PrometheusRule resource, and reports what no
// server would load and patterns that are known to be broken. A comment above a
// rule, "# collwatch:off ID reason", switches a lint off for it.
func Lint(file string, data []byte, o LintOptions) []Problem {
	l := &linter{o: o, file: file, book: newBook(o.Metrics)}
	if o.Metrics != nil {
		l.metrics = map[string]bool{}
		for _, m := range o.Metrics {
			l.metrics[m] = true
		}
	}
	l.read(data)
	slices.SortStableFunc(l.out, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return l.out
}

func (l *linter) report(line, column int, rule, id, text string) {
	p := Problem{l.file, max(line, 1), max(column, 1), rule, id, text}
	if !slices.Contains(l.o.Off, id) && !slices.Contains(l.out, p) {
		l.out = append(l.out, p)
	}
}

var yamlLine = regexp.MustCompile(`\bline ([0-9]+):`)

func (l *linter) read(data []byte) {
	if len(data) > maxFile {
		l.report(1, 1, "", "unreadable", "the file is larger than 16 MB")
		return
	}
	l.lines = strings.Split(string(data), "\n")
	dec := yaml.NewDecoder(bytes.NewReader(data))
	several := false // what reads the file takes all its documents
	for i := 0; ; i++ {
		var doc yaml.Node
		err := dec.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			if i == 0 {
				l.report(1, 1, "", "unreadable", "the file is empty")
			}
			return
		case err != nil && (i == 0 || several):
			line := 1
			if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
				line, _ = strconv.Atoi(m[1])
			}
			l.report(line, 1, "", "unreadable", err.Error())
			return
		case err != nil:
			return // of a document that nobody reads
		case i > 0 && !several:
			l.report(doc.Line, doc.Column, "", "second-document", "only the first YAML document of a file is read: these rules are never loaded")
			return
		}
		several = l.document(&doc, i == 0) || several
	}
}

// document reads one, and says whether others may follow: those of resources and
// of namespaces for mimirtool are all read.
func (l *linter) document(doc *yaml.Node, first bool) (others bool) {
	if tooDeep(doc) {
		l.report(1, 1, "", "unreadable", "the file is nested too deeply, or its aliases grow too large")
		return false
	}
	root := resolve(doc)
	others = child(root, "kind") != nil || child(root, "namespace") != nil || l.o.Target == "mimir"
	if items := child(root, "items"); items != nil && items.Kind == yaml.SequenceNode { // kind: List
		for _, item := range items.Content {
			l.resource(resolve(item), false)
		}
		return true
	}
	l.resource(root, first)
	return others
}

// resource reads the groups of a rule file, or of one PrometheusRule. Other
// resources beside it are none of our business.
func (l *linter) resource(root *yaml.Node, first bool) {
	place, wrapped := root, false
	if spec := child(root, "spec"); spec != nil {
		root, wrapped = spec, true
	}
	groups := child(root, "groups")
	if groups == nil || groups.Kind != yaml.SequenceNode {
		if kind := child(place, "kind"); first || kind != nil && kind.Value == "PrometheusRule" {
			l.report(place.Line, place.Column, "", "unreadable", "no list of groups: this is no rule file")
		}
		return
	}
	if !wrapped {
		l.fields(root, "", []string{"groups", "namespace"})
	}
	names := map[string]bool{}
	for _, g := range groups.Content {
		l.group(resolve(g), names)
	}
	l.schema(root, wrapped || !first)
}

func (l *linter) group(g *yaml.Node, names map[string]bool) {
	l.fields(g, "", groupFields(l.o.Target))
	if n := child(g, "name"); n != nil {
		if names[n.Value] {
			l.report(n.Line, n.Column, "", "schema", fmt.Sprintf("a second group %q in one file", n.Value))
		}
		names[n.Value] = true
	}
	l.duration(child(g, "interval"), "")
	l.duration(child(g, "query_offset"), "")
	list := child(g, "rules")
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	limit := child(g, "limit")
	for _, n := range list.Content {
		n = resolve(n)
		r, ok := l.rule(n)
		if !ok {
			continue
		}
		if limit != nil && limit.Value != "0" {
			r.limit = limit
		}
		off := l.switchedOff(n, r.name)
		for _, lint := range Lints() {
			if slices.Contains(off, lint.ID) {
				continue
			}
			r.offset, r.place = 0, r.exprNode
			if text := lint.find(r); text != "" {
				line, column := l.position(r.place, r.offset)
				l.report(line, column, r.name, lint.ID, text)
			}
		}
	}
}

var switchOff = regexp.MustCompile(`collwatch:off\s+([a-z0-9-]+(?:\s*,\s*[a-z0-9-]+)*)[ \t]*(.*)`)

// switchedOff reads the comments of a rule.
func (l *linter) switchedOff(n *yaml.Node, rule string) []string {
	all := []string{n.HeadComment}
	for _, c := range n.Content {
		all = append(all, c.HeadComment, c.LineComment)
	}
	comments := strings.Join(all, "\n")
	var out []string
	for _, m := range switchOff.FindAllStringSubmatch(comments, -1) {
		if strings.TrimSpace(m[2]) == "" {
			l.report(n.Line, n.Column, rule, "no-reason", m[1]+" is switched off without a reason")
			continue
		}
		for id := range strings.SplitSeq(m[1], ",") {
			id = strings.TrimSpace(id)
			if !slices.Contains(LintIDs(), id) {
				l.report(n.Line, n.Column, rule, "no-reason", "no lint "+strconv.Quote(id)+" to switch off"+suggest(id, LintIDs()))
			}
			out = append(out, id)
		}
	}
	return out
}

// LintIDs are all ids by which a finding may be switched off.
func LintIDs() []string {
	out := []string{"schema", "second-document", "no-reason", "unreadable"}
	for _, l := range Lints() {
		out = append(out, l.ID)
	}
	return out
}
