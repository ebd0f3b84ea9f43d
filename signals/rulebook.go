package signals

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/promapi"
)

// rulebook is the catalogue made ready for matching.
type rulebook struct {
	dialects []Dialect
	rules    []compiled
	byName   map[string][]int16
	patterns []int16
	customs  map[string]int16 // by family
}

// compiled is a Rule with everything from its dialect that matters while
// samples are read.
type compiled struct {
	Rule
	dialect  int
	family   string
	scale    float64
	rank     uint8 // of the dialect, and within it: lower wins
	positive bool
	steady   bool
	limited  bool
	limit    limit
	columns  compiledColumns
	where    []condition
	re       *regexp.Regexp
	custom   *CustomSignal
}

type condition struct {
	label, value string
	mode         byte // '=' equal, '+' present, '-' absent
}

// compileRules checks and indexes dialects.
func compileRules(dialects []Dialect) (*rulebook, error) {
	b := &rulebook{dialects: dialects, byName: map[string][]int16{}, customs: map[string]int16{}}
	for di, d := range dialects {
		for _, rule := range d.Rules {
			c := compiled{Rule: rule, dialect: di, family: d.Family, scale: rule.Scale, rank: d.Rank * 2, positive: d.NonNegative, steady: d.Steady}
			if c.scale == 0 {
				c.scale = 1
			}
			if c.Kind == KindNone {
				c.Kind = d.Kind
			}
			if rule.Second {
				c.rank++
			}
			for _, w := range append(append([]string(nil), d.Where...), rule.Where...) {
				c.where = append(c.where, parseCondition(w))
			}
			c.limit, c.limited = limitOf(c.Signal)
			c.columns = compileColumns(d.Columns, rule.Columns)
			i := int16(len(b.rules))
			if rule.Pattern {
				re, err := regexp.Compile("^(?:" + rule.Metric + ")$")
				if err != nil {
					return nil, fmt.Errorf("dialect %q: metric %q: %w", d.Name, rule.Metric, err)
				}
				c.re = re
				b.patterns = append(b.patterns, i)
			} else {
				b.byName[rule.Metric] = append(b.byName[rule.Metric], i)
			}
			b.rules = append(b.rules, c)
		}
	}
	return b, nil
}

// prefer puts the labels of the configuration before those of the dialects.
func (b *rulebook) prefer(host, job []string) {
	for i := range b.rules {
		c := &b.rules[i].columns
		if len(c.host) > 0 && len(host) > 0 {
			c.host = append(slices.Clone(host), c.host...)
		}
		if len(c.job) > 0 && len(job) > 0 {
			c.job = append(slices.Clone(job), c.job...)
		}
	}
}

func parseCondition(w string) condition {
	if l, v, ok := strings.Cut(w, "="); ok {
		return condition{l, v, '='}
	}
	if l, ok := strings.CutPrefix(w, "!"); ok {
		return condition{l, "", '-'}
	}
	return condition{w, "", '+'}
}

func (c condition) holds(ls promapi.Labels) bool {
	v := ls.Get(c.label)
	switch c.mode {
	case '=':
		return v == c.value
	case '-':
		return v == ""
	default:
		return v != ""
	}
}

// nameLabel carries the metric's name where an aggregation dropped it.
const nameLabel = "collwatch_metric"

// match returns the rule for a label set that a query of family returned.
func (b *rulebook) match(family string, ls promapi.Labels, allowed func(c *compiled) bool) (int16, bool) {
	if i, ok := b.customs[family]; ok {
		return i, true
	}
	name := ls.Get("__name__")
	if name == "" {
		name = ls.Get(nameLabel)
	}
	try := func(i int16) bool {
		c := &b.rules[i]
		if c.family != family || !allowed(c) || (c.re != nil && !c.re.MatchString(name)) {
			return false
		}
		for _, w := range c.where {
			if !w.holds(ls) {
				return false
			}
		}
		return true
	}
	for _, i := range b.byName[name] {
		if try(i) {
			return i, true
		}
	}
	for _, i := range b.patterns {
		if try(i) {
			return i, true
		}
	}
	return 0, false
}

// detail fills the template of Rule.Detail.
func (c *compiled) detail(ls promapi.Labels) string {
	t := c.Detail
	if c.re != nil && strings.Contains(t, "$") {
		if m := c.re.FindStringSubmatch(ls.Get("__name__")); m != nil {
			for i, g := range m[1:] {
				t = strings.ReplaceAll(t, fmt.Sprintf("$%d", i+1), g)
			}
		}
	}
	a := strings.IndexByte(t, '{')
	if a < 0 {
		return t
	}
	z := strings.IndexByte(t, '}')
	return t[:a] + firstOf(ls, strings.Split(t[a+1:z], "|")) + t[z+1:]
}

// compiledColumns are Columns cut into alternatives.
type compiledColumns struct {
	host, device, port, job, comm, op, size, nranks, nnodes, rank, algo, version, peer, uuid, process, pod, namespace []string
}

func compileColumns(base, over Columns) compiledColumns {
	pick := func(a, b string) []string {
		if b != "" {
			a = b
		}
		if a == "" || a == "-" {
			return nil
		}
		return strings.Split(a, "|")
	}
	return compiledColumns{
		host: pick(base.Host, over.Host), device: pick(base.Device, over.Device), port: pick(base.Port, over.Port),
		job: pick(base.Job, over.Job), comm: pick(base.Comm, over.Comm), op: pick(base.Op, over.Op), size: pick(base.Size, over.Size),
		nranks: pick(base.NRanks, over.NRanks), nnodes: pick(base.NNodes, over.NNodes), rank: pick(base.Rank, over.Rank),
		algo: pick(base.Algo, over.Algo), version: pick(base.Version, over.Version), peer: pick(base.Peer, over.Peer),
		uuid: pick(base.UUID, over.UUID), process: pick(base.Process, over.Process), pod: pick(base.Pod, over.Pod), namespace: pick(base.Namespace, over.Namespace),
	}
}

// firstOf returns the first of several labels that is present and not empty.
// Names joined by "+" are taken together, with "_" between the values.
func firstOf(ls promapi.Labels, names []string) string {
	for _, n := range names {
		if a, b, ok := strings.Cut(n, "+"); ok {
			x, y := ls.Get(a), ls.Get(b)
			if x != "" && y != "" {
				return x + "_" + y
			}
			if x+y != "" {
				return x + y
			}
			continue
		}
		v := ls.Get(n)
		if n == instanceLabel || n == jobLabel {
			v = targetLabel(ls, n)
		}
		if v != "" {
			return v
		}
	}
	return ""
}
