package rules

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v3"
)

// tests is the unit-test file of a class in promtool's form. The alerts that it
// expects come from the test case, not from an evaluation.
func (w *writer) tests(t classTests, files []ruleFile) ([]byte, error) {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, c := range t.cases {
		name := t.class + " " + c.rule.annotations["reason"] + " " + c.rule.labels["severity"]
		want, err := c.expected()
		if err != nil {
			return nil, fmt.Errorf("test of %s: %w", name, err)
		}
		if c.always {
			list.Content = append(list.Content, testNode(name+": fires always", c.firing, alertTest(0, c.rule.alert, want), alertTest(c.at, c.rule.alert, want)))
			continue
		}
		list.Content = append(list.Content,
			testNode(name+": fires and ends", c.firing, alertTest(0, c.rule.alert, nil), alertTest(c.at, c.rule.alert, want), alertTest(c.clear, c.rule.alert, nil)),
			testNode(name+": quiet with "+c.about, c.resting, alertTest(c.at, c.rule.alert, nil)))
	}
	order, names := &yaml.Node{Kind: yaml.SequenceNode}, &yaml.Node{Kind: yaml.SequenceNode}
	for _, f := range files {
		names.Content = append(names.Content, scalar("../"+f.file()))
		for _, g := range f.groups {
			order.Content = append(order.Content, scalar(g.name))
		}
	}
	return w.file(mapping("rule_files", names, "evaluation_interval", scalar(span(w.o.Interval)), "group_eval_order", order, "tests", list), "")
}

func testNode(name string, in []sample, alerts ...*yaml.Node) *yaml.Node {
	series := &yaml.Node{Kind: yaml.SequenceNode}
	for _, s := range in {
		series.Content = append(series.Content, mapping("series", scalar(s.String()), "values", scalar(s.values)))
	}
	return mapping("name", scalar(name), "interval", scalar(strconv.Itoa(sampleEvery)+"s"), "input_series", series,
		"alert_rule_test", &yaml.Node{Kind: yaml.SequenceNode, Content: alerts})
}

// alertTest says which alerts of a name must fire at a minute: the one wanted,
// or none.
func alertTest(minute int, alertname string, want *yaml.Node) *yaml.Node {
	n := mapping("eval_time", scalar(strconv.Itoa(minute)+"m"), "alertname", scalar(alertname))
	if want != nil {
		put(n, "exp_alerts", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{want}})
	} else {
		put(n, "exp_alerts", &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle})
	}
	return n
}

// expected is the alert that must fire, with its texts filled in.
func (c *builtCase) expected() (*yaml.Node, error) {
	ls := map[string]string{}
	set := func(k, v string) {
		if v != "" {
			ls[k] = v
		}
	}
	set("suspect_node", c.want.host)
	set("suspect_device", c.want.device+c.want.gpu)
	job := c.want.job
	if perHost(c.place) && c.want.host != spareHost && hasJob(c.firing) {
		job = testJob
	}
	set("job_id", job)
	maps.Copy(ls, c.want.labels)
	all := maps.Clone(c.rule.labels)
	for k, v := range all {
		text, err := expand(v, ls, c.want.value)
		if err != nil {
			return nil, err
		}
		all[k] = text
	}
	maps.Copy(all, ls)
	notes := map[string]string{}
	for k, v := range c.rule.annotations {
		text, err := expand(v, ls, c.want.value)
		if err != nil {
			return nil, err
		}
		notes[k] = text
	}
	return mapping("exp_labels", stringMap(all), "exp_annotations", stringMap(notes)), nil
}

// hasJob says that the inputs tell of a job.
func hasJob(in []sample) bool {
	for _, s := range in {
		if slices.Contains(s.labels, testJob) {
			return true
		}
	}
	return false
}

// expand fills a template in as the rule engine does.
func expand(text string, ls map[string]string, value float64) (string, error) {
	data := template.AlertTemplateData(ls, nil, "", promql.Sample{F: value, Metric: labels.FromMap(ls)})
	defs := strings.Join([]string{"{{$labels := .Labels}}", "{{$externalLabels := .ExternalLabels}}", "{{$externalURL := .ExternalURL}}", "{{$value := .Value}}"}, "")
	noQuery := func(context.Context, string, time.Time) (promql.Vector, error) { return nil, nil }
	out, err := template.NewTemplateExpander(context.Background(), defs+text, "rule", data, model.Time(0), noQuery, &url.URL{}, nil).Expand()
	if err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	return out, nil
}
