package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// selfClass is the class label of alerts about collwatch itself, and the name
// of their file. It is no class of the vocabulary: nothing of the cluster is
// at fault.
const selfClass = "self"

// SelfMetric is a metric that every running daemon has. Rules about the daemon
// are made where a source has it.
const SelfMetric = "collwatch_last_evaluation_timestamp_seconds"

// selfAlert is one alert on the daemon's own metrics.
type selfAlert struct {
	name, severity string
	expr           string
	hold           time.Duration
	summary, next  string
	cite           string
	fire, quiet    []sample
	look           string // the look-alike in words
	at, clear      int
	labels         map[string]string // of the row, instance and job apart
	value          float64
	// always says that the alert never ends, and has no quiet case.
	always bool
}

// own is a series of the daemon in a test.
func own(metric string, labels map[string]string, values string) sample {
	return sample{metric: metric, labels: labelPairs(labels, "instance", "mon0:9876", "job", "collwatch"), values: values}
}

// self makes the rules about the daemon: it must be there, evaluate in time,
// see its sources, and bring its alerts and its state to their places. Each of
// them is something that looks exactly like a healthy cluster.
func (b *builder) self() (group, classTests, bool) {
	if len(b.o.Classes) > 0 || !b.metric(SelfMetric) {
		return group{}, classTests{}, false
	}
	g, t := group{name: "collwatch." + selfClass}, classTests{class: selfClass}
	for _, a := range slices.Concat(b.selfLife(), b.selfPace(), b.selfSight(), b.selfDelivery(), b.selfState(), b.selfFleet()) {
		labels := map[string]string{
			"class": selfClass, "severity": a.severity, "suspect_kind": "unknown", "scope": "cluster", "owner_domain": "platform",
			"source": "collwatch-rules", "reason": snake(a.name),
		}
		maps.Copy(labels, b.o.Labels)
		r := rule{
			alert: "CollwatchSelf" + a.name, expr: a.expr, hold: a.hold, labels: labels, comment: a.cite,
			annotations: map[string]string{
				"summary": a.summary, "description": "About collwatch itself: " + a.summary + ".", "reason": snake(a.name), "next_step": a.next,
			},
		}
		b.class = selfClass
		if url := b.runbook(); url != "" {
			r.annotations["runbook_url"] = url
		}
		g.rules = append(g.rules, r)
		c := builtCase{testCase: testCase{
			rule: r, about: a.look, at: a.at, clear: a.clear, want: want{value: a.value, labels: a.labels}, always: a.always,
		}, firing: a.fire, resting: a.quiet}
		t.cases = append(t.cases, c)
	}
	return g, t, true
}

// snake writes DaemonGone as daemon_gone.
func snake(s string) string {
	var out strings.Builder
	for i, c := range s {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		out.WriteRune(c)
	}
	return out.String()
}

// here are the labels of a row of the daemon in a test.
func here(pairs ...string) map[string]string {
	m := map[string]string{"instance": "mon0:9876", "job": "collwatch"}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// minuteSteps are values of a sample each half minute, in promtool's notation:
// a healthy stretch, a bad one, and a healthy one.
func minuteSteps(good, bad string, before, during, after int) string {
	return fmt.Sprintf("%sx%d %sx%d %sx%d", good, 2*before-1, bad, 2*during-1, good, 2*after-1)
}

// named gives the name of a source another label than source, which says who
// made the alert: two sources would otherwise make one and the same.
func named(expr string) string {
	return fmt.Sprintf(`label_replace(%s, "source_name", "$1", "source", "(.+)")`, expr)
}
