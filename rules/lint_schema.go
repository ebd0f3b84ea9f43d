package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"
)

// fields reports keys that a server does not know: older ones refuse the file.
func (l *linter) fields(n *yaml.Node, rule string, known []string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; !slices.Contains(known, k.Value) && k.Value != "<<" {
			l.report(k.Line, k.Column, rule, "schema", "field "+strconv.Quote(k.Value)+" is not known"+suggest(k.Value, known))
		}
	}
}

// rulefmtPlace is how rulefmt begins an error: with a place, a rule, or both.
var rulefmtPlace = regexp.MustCompile(`^(?:(\d+):(\d+): )?(?:\d+:\d+: )?(?:group "([^"]*)", rule (\d+), "((?:[^"\\]|\\.)*)": )?((?s).*)$`)

// schema reports what Prometheus itself finds: durations, names of labels,
// templates, a rule that is both an alert and a record.
func (l *linter) schema(root *yaml.Node, resource bool) {
	text := strings.Join(l.lines, "\n")
	if resource {
		var v any
		if err := root.Decode(&v); err != nil {
			l.report(root.Line, root.Column, "", "schema", err.Error())
			return
		}
		data, err := json.Marshal(v) // JSON is YAML; the lines are lost
		if err != nil {
			l.report(root.Line, root.Column, "", "schema", err.Error())
			return
		}
		text = string(data)
	}
	unreadable := map[string]bool{}
	for _, p := range l.out {
		if p.ID == "unreadable" {
			unreadable[p.Rule] = true
		}
	}
	_, errs := rulefmt.Parse([]byte(text), true, model.UTF8Validation, ruleParser(), promslog.NewNopLogger())
	for _, err := range errs {
		line, column, rule, what := root.Line, root.Column, "", err.Error()
		if m := rulefmtPlace.FindStringSubmatch(what); m != nil {
			line, column = l.placeOf(root, m, resource)
			rule, what = m[5], m[6]
		}
		// What follows was reported with its place.
		if strings.Contains(what, "could not parse expression") || strings.Contains(what, "repeated in the same file") || strings.Contains(what, "valid duration string") || unreadable[rule] {
			continue
		}
		l.report(line, column, rule, "schema", what)
	}
}

// placeOf is the place that an error of rulefmt names: its own, if the file was
// read as it is, or that of the rule.
func (l *linter) placeOf(root *yaml.Node, m []string, resource bool) (line, column int) {
	if m[1] != "" && !resource {
		line, _ = strconv.Atoi(m[1])
		column, _ = strconv.Atoi(m[2])
		return line, column
	}
	index, _ := strconv.Atoi(m[4])
	for _, g := range child(root, "groups").Content {
		name, list := child(resolve(g), "name"), child(resolve(g), "rules")
		if name != nil && list != nil && name.Value == m[3] && index > 0 && index <= len(list.Content) {
			return list.Content[index-1].Line, list.Content[index-1].Column
		}
	}
	return root.Line, root.Column
}

// tooDeep says that a document's aliases would grow beyond reason when they are
// followed: more than four million nodes, or a hundred levels.
func tooDeep(n *yaml.Node) bool {
	const most = 1 << 22
	left := most
	var walk func(n *yaml.Node, depth int)
	walk = func(n *yaml.Node, depth int) {
		if left--; left < 0 || depth > 100 {
			left = -1
			return
		}
		if n.Kind == yaml.AliasNode && n.Alias != nil {
			walk(n.Alias, depth+1)
		}
		for _, c := range n.Content {
			walk(c, depth+1)
		}
	}
	walk(n, 0)
	return left < 0
}
