package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Output is what one run generates.
type Output struct {
	// Files are the files by name, in the order of writing: the rules first,
	// then a unit-test file for each class in a folder of its own, where a
	// server that loads *.yaml does not look.
	Files []File
	// Left is what was not generated, and why.
	Left []Left
	// Alerts and Recordings count the rules.
	Alerts, Recordings int
}

// File is one generated file.
type File struct {
	Name string
	Data []byte
}

// group is a rule group.
type group struct {
	name  string
	rules []rule
}

// ErrNothing says that not a single alert could be generated. An empty file
// would look like a healthy cluster.
var ErrNothing = errors.New("no rules: no class that was asked for has its series here")

// Generate makes the files. It asks nobody and writes nothing. Equal options
// give equal bytes. Files come even with ErrNothing left out: Left says why.
func Generate(o Options) (*Output, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p, err := FindProfile(o.Target)
	if err != nil {
		return nil, err
	}
	b := newBuilder(&o)
	classes, tests := b.classes()
	out := &Output{Left: b.left}
	for _, g := range classes {
		for _, r := range g.rules {
			if r.alert != "" {
				out.Alerts++
			}
		}
	}
	if out.Alerts == 0 {
		return out, ErrNothing
	}
	limit := o.MaxPerGroup
	if limit == 0 {
		limit = p.MaxPerGroup
	}
	if g, t, ok := b.self(); ok {
		classes, tests = append(classes, g), append(tests, t)
		out.Alerts += len(g.rules)
	}
	w := writer{o: &o, p: p, left: b.left}
	files := filesOf(b.signalGroups(), classes, limit)
	if o.Single {
		files = []ruleFile{merged(files)}
	}
	for i, f := range files {
		data, err := w.rules(f, i == 0)
		if err != nil {
			return nil, err
		}
		out.Files = append(out.Files, File{f.file(), data})
		for _, g := range f.groups {
			out.Recordings += len(g.rules)
		}
	}
	out.Recordings -= out.Alerts
	if o.CRD || o.Single {
		return out, nil // promtool reads rule files only
	}
	for _, t := range tests {
		data, err := w.tests(t, closure(t.class, files))
		if err != nil {
			return nil, err
		}
		out.Files = append(out.Files, File{"tests/" + t.class + "_test.yaml", data})
	}
	return out, nil
}

// classTests are the tests of one class with their series.
type classTests struct {
	class string
	cases []builtCase
}

type builtCase struct {
	testCase

	firing, resting []sample
}

// classes runs the classes that are asked for.
func (b *builder) classes() (groups []group, tests []classTests) {
	all := classRules()
	for _, name := range ClassNames() {
		if len(b.o.Classes) > 0 && !slices.Contains(b.o.Classes, name) || slices.Contains(b.o.Disabled, name) {
			continue
		}
		c := all[name]
		if c.build == nil {
			b.left = append(b.left, Left{Class: name, Why: c.cannot})
			continue
		}
		b.class, b.rules, b.tests, b.missing = name, nil, nil, nil
		c.build(b)
		if len(b.rules) == 0 {
			continue
		}
		groups = append(groups, group{"collwatch." + name, b.rules})
		t := classTests{class: name}
		for _, c := range b.tests {
			t.cases = append(t.cases, builtCase{c, b.render(c.fire), b.render(c.quiet)})
		}
		tests = append(tests, t)
	}
	return groups, tests
}

// signalGroups are the normalised series, a group for each level, each in the
// order of dependence.
func (b *builder) signalGroups() []group {
	var out []group
	index := map[string]int{}
	for _, name := range b.order {
		level, _, _ := strings.Cut(name, ":")
		i, ok := index[level]
		if !ok {
			i = len(out)
			index[level] = i
			out = append(out, group{name: "collwatch.signals." + level})
		}
		out[i].rules = append(out[i].rules, b.recorded[name])
	}
	return out
}

// split cuts groups that are longer than a server allows. The parts of one
// group are evaluated apart: a rule then sees what the part before it recorded
// one evaluation late.
func split(groups []group, limit int) []group {
	if limit <= 0 {
		return groups
	}
	var out []group
	for _, g := range groups {
		for i := 0; i < len(g.rules); i += limit {
			part := group{g.name, g.rules[i:min(i+limit, len(g.rules))]}
			if len(g.rules) > limit {
				part.name += "-" + strconv.Itoa(i/limit+1)
			}
			out = append(out, part)
		}
	}
	return out
}

// fingerprint is a short hash of everything that decides the output.
func (o *Options) fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %v %s %v %s %s %v %v %v %v %d %q %s %+v", o.Target, o.CRD, o.Namespace, o.ResourceLabels, o.Interval, o.QueryOffset, o.Labels, o.KeepLabels, o.Classes, o.Disabled,
		o.MaxPerGroup, o.Metrics, o.RunbookURL, o.Limits)
	return hex.EncodeToString(h.Sum(nil))[:12]
}
