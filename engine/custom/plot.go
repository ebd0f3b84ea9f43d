package custom

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/collwatch/collwatch/signals"
)

// Plot returns the PromQL that shows what a statement of ours is about, and its
// peers on some hosts, none for all: the expression of the user with conditions
// on the labels of its entities. ok is false for what is not known any more.
//
// An expression that makes its labels itself has no series under such
// conditions: they stand where it reads, not behind it.
func (o Options) Plot(e signals.Entity, hosts []string) (plot signals.Plot, ok bool) {
	name, detail, _ := strings.Cut(e.Detail, " ")
	for i := range o.Signals {
		s := &o.Signals[i]
		if s.Name != name {
			continue
		}
		peers := conditions{}
		peers.equal(s.Labels.Job, e.Job)
		peers.like(s.Labels.Detail, regexp.QuoteMeta(detail))
		thing := append(conditions{}, peers...)
		if e.Kind == signals.KindNIC {
			peers.equal(s.Labels.Device, e.Device)
		}
		if len(hosts) > 0 {
			peers.like(s.Labels.Host, hostPattern(hosts...))
		}
		if e.Host != "" {
			thing.like(s.Labels.Host, hostPattern(e.Host))
		}
		thing.like(s.Labels.Device, devicePattern(e))
		if e.Kind == signals.KindSwitchPort {
			thing.equal(s.Labels.Port, e.Port)
		}
		plot = signals.Plot{Source: s.Source, Unit: s.unit()}
		var err error
		if plot.Peers, err = s.where(peers, o.Interval); err != nil {
			return plot, false
		}
		if e.Kind != signals.KindJob {
			plot.Thing, err = s.where(thing, o.Interval)
		}
		return plot, err == nil
	}
	return plot, false
}

type conditions []*labels.Matcher

func (c *conditions) equal(label, value string) {
	if label != "" && value != "" {
		*c = append(*c, &labels.Matcher{Type: labels.MatchEqual, Name: label, Value: value})
	}
}

// like takes a pattern, which ignores capital letters.
func (c *conditions) like(label, pattern string) {
	if label != "" && pattern != "" {
		*c = append(*c, &labels.Matcher{Type: labels.MatchRegexp, Name: label, Value: "(?i)" + pattern})
	}
}

// hostPattern allows for what names of hosts are freed from: domains and ports.
func hostPattern(hosts ...string) string {
	quoted := make([]string, len(hosts))
	for i, h := range hosts {
		quoted[i] = regexp.QuoteMeta(h)
	}
	return "(?:" + strings.Join(quoted, "|") + ")([.:].*)?"
}

// devicePattern allows for the ways to write the number of a GPU.
func devicePattern(e signals.Entity) string {
	if digits, ok := strings.CutPrefix(e.Device, "GPU"); ok && e.Kind == signals.KindGPU {
		if _, err := strconv.Atoi(digits); err == nil {
			return "(gpu|nvidia)?" + digits
		}
	}
	return regexp.QuoteMeta(e.Device)
}

// where is the expression with conditions on all that it reads, in its unit.
func (s *Signal) where(c conditions, interval time.Duration) (string, error) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(s.Expr)
	if err != nil {
		return "", fmt.Errorf("custom signal %q: %w", s.Name, err)
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			v.LabelMatchers = append(v.LabelMatchers, c...)
		}
		return nil
	})
	out := expr.String()
	if s.Counter {
		window := promDuration(max(2*time.Minute, 4*interval))
		if _, plain := expr.(*parser.VectorSelector); plain {
			out = "rate(" + out + "[" + window + "])"
		} else {
			out = "rate((" + out + ")[" + window + ":" + promDuration(interval) + "])"
		}
	}
	if s.Scale != 0 && s.Scale != 1 {
		out = "(" + out + ") * " + strconv.FormatFloat(s.Scale, 'g', -1, 64)
	}
	return out, nil
}

func promDuration(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }

// unit is the unit in the words of the catalogue.
func (s *Signal) unit() string { return s.like().Meta().Unit }
