package ruletest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v3"

	"github.com/collwatch/collwatch/internal/embedprom"
)

// file is a unit-test file.
type file struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	GroupEvalOrder     []string       `yaml:"group_eval_order"`
	Tests              []test         `yaml:"tests"`
}

type test struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Input    []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Alerts []alertTest `yaml:"alert_rule_test"`
}

type alertTest struct {
	EvalTime  model.Duration `yaml:"eval_time"`
	Alertname string         `yaml:"alertname"`
	Want      []alert        `yaml:"exp_alerts"`
}

type alert struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

// Failure is an expectation that did not hold.
type Failure struct {
	Test string
	At   time.Duration
	Text string
}

// String says the failure in a line.
func (f Failure) String() string { return fmt.Sprintf("%s: at %s: %s", f.Test, f.At, f.Text) }

// maxEvaluations and maxSamples bound a test, so that a slip of the pen takes
// neither all memory nor for ever: a week at 30 s, and a series as long.
const (
	maxEvaluations = 20_160
	maxSamples     = 100_000
)

// repeats are the numbers of samples in promtool's notation: 0+1x100.
var repeats = regexp.MustCompile(`x([0-9]+)`)

// Run runs one unit-test file and returns how many tests there were and what
// failed. An error means that the file could not be run.
func Run(ctx context.Context, path string) (tests int, failures []Failure, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, nil, fmt.Errorf("unit-test file: %w", err)
	}
	var f file
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return 0, nil, fmt.Errorf("unit-test file %q: %w", path, err)
	}
	if f.EvaluationInterval <= 0 || len(f.Tests) == 0 {
		return 0, nil, fmt.Errorf("unit-test file %q: no tests, or no evaluation_interval", path)
	}
	paths := make([]string, len(f.RuleFiles))
	for i, r := range f.RuleFiles {
		paths[i] = filepath.Join(filepath.Dir(path), r)
	}
	for i := range f.Tests {
		bad, err := f.run(ctx, &f.Tests[i], paths)
		if err != nil {
			return i, failures, fmt.Errorf("unit-test file %q, %s: %w", path, f.Tests[i].Name, err)
		}
		failures = append(failures, bad...)
	}
	return len(f.Tests), failures, nil
}

func (f *file) run(ctx context.Context, t *test, paths []string) ([]Failure, error) {
	// Whether the server of the rules has a function is for the check of rules.
	db, err := embedprom.Open(embedprom.Options{Experimental: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	last := time.Duration(0)
	for _, a := range t.Alerts {
		last = max(last, time.Duration(a.EvalTime))
	}
	if last/time.Duration(f.EvaluationInterval) > maxEvaluations {
		return nil, fmt.Errorf("eval_time %s at an interval of %s: more than %d evaluations", last, f.EvaluationInterval, maxEvaluations)
	}
	if err := load(db, t, last); err != nil {
		return nil, err
	}
	groups, err := f.groups(ctx, db, paths, t)
	if err != nil {
		return nil, err
	}
	var failures []Failure
	for at := time.Duration(0); at <= last; at += time.Duration(f.EvaluationInterval) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, g := range groups {
			g.Eval(ctx, time.Unix(0, 0).Add(at))
			for _, r := range g.Rules() {
				if r.LastError() != nil {
					return nil, fmt.Errorf("rule %s at %s: %w", r.Name(), at, r.LastError())
				}
			}
		}
		for _, a := range t.Alerts {
			if eval := time.Duration(a.EvalTime); eval >= at && eval < at+time.Duration(f.EvaluationInterval) {
				if text := compare(firing(groups, a.Alertname), a.Want); text != "" {
					failures = append(failures, Failure{t.Name, eval, a.Alertname + " " + text})
				}
			}
		}
	}
	return failures, nil
}

// groups loads the rules in the order of evaluation. Recording rules that no
// tested alert reads, directly or through others, are left out: they cost most
// of the time.
func (f *file) groups(ctx context.Context, db *embedprom.DB, paths []string, t *test) ([]*rules.Group, error) {
	opts := managerOptions(ctx, db)
	byKey, err := loadGroups(ctx, db, time.Duration(f.EvaluationInterval), paths)
	if err != nil {
		return nil, err
	}
	list := slices.Collect(maps.Values(byKey))
	place := func(g *rules.Group) int {
		if i := slices.Index(f.GroupEvalOrder, g.Name()); i >= 0 {
			return i
		}
		return len(f.GroupEvalOrder)
	}
	slices.SortFunc(list, func(a, b *rules.Group) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a.Name(), b.Name())
	})
	keep := reached(list, t)
	var out []*rules.Group
	for _, g := range list {
		var some []rules.Rule
		for _, r := range g.Rules() {
			if keep[r.Name()] {
				some = append(some, r)
			}
		}
		if len(some) > 0 {
			out = append(out, rules.NewGroup(rules.GroupOptions{Name: g.Name(), File: g.File(), Interval: g.Interval(), Rules: some, Opts: opts}))
		}
	}
	return out, nil
}

// reached are the names of the tested alerts and of all that they read.
func reached(groups []*rules.Group, t *test) map[string]bool {
	reads := map[string][]string{}
	for _, g := range groups {
		for _, r := range g.Rules() {
			reads[r.Name()] = append(reads[r.Name()], metricsIn(r.Query())...)
		}
	}
	keep := map[string]bool{}
	var walk func(name string)
	walk = func(name string) {
		if _, known := reads[name]; !known || keep[name] {
			return
		}
		keep[name] = true
		for _, n := range reads[name] {
			walk(n)
		}
	}
	for _, a := range t.Alerts {
		walk(a.Alertname)
	}
	return keep
}

// metricsIn lists the metrics that an expression selects by name.
func metricsIn(e parser.Expr) []string {
	var out []string
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			out = append(out, v.Name)
		}
		return nil
	})
	return out
}

// load writes the input series up to the last evaluation.
func load(db *embedprom.DB, t *test, last time.Duration) error {
	p := parser.NewParser(parser.Options{})
	sink := db.Appender()
	for _, in := range t.Input {
		for _, m := range repeats.FindAllStringSubmatch(in.Values, -1) {
			if n, err := strconv.Atoi(m[1]); err != nil || n > maxSamples {
				return fmt.Errorf("series %s: %s samples, more than %d", in.Series, m[1], maxSamples)
			}
		}
		ls, values, err := p.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			return fmt.Errorf("series %s: %w", in.Series, err)
		}
		var pairs []string
		for name, value := range ls.Map() {
			pairs = append(pairs, name, value)
		}
		h := sink.Series(pairs...)
		for i, v := range values {
			at := time.Duration(i) * time.Duration(t.Interval)
			if at > last {
				break
			}
			if !v.Omitted {
				if err := sink.Append(h, at.Milliseconds(), v.Value); err != nil {
					return err
				}
			}
		}
	}
	return sink.Commit()
}

// firing are the alerts of a name that fire.
func firing(groups []*rules.Group, name string) []alert {
	var out []alert
	for _, g := range groups {
		for _, r := range g.AlertingRules() {
			if r.Name() != name {
				continue
			}
			for _, a := range r.ActiveAlerts() {
				if a.State == rules.StateFiring {
					ls := a.Labels.Map()
					delete(ls, model.AlertNameLabel)
					out = append(out, alert{ls, a.Annotations.Map()})
				}
			}
		}
	}
	return out
}

// compare says how two lists of alerts differ, "" if they do not.
func compare(got, want []alert) string {
	texts := func(list []alert) []string {
		out := make([]string, len(list))
		for i, a := range list {
			out[i] = fmt.Sprintf("%v %v", a.Labels, a.Annotations) // fmt sorts maps
		}
		slices.Sort(out)
		return out
	}
	g, w := texts(got), texts(want)
	if slices.Equal(g, w) {
		return ""
	}
	return fmt.Sprintf("fires as\n  %s\nexpected\n  %s", strings.Join(g, "\n  "), strings.Join(w, "\n  "))
}
