package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// builder collects the rules of all classes. It records each signal once,
// however many classes use it.
type builder struct {
	o         *Options
	profile   Profile
	catalogue []*signals.Dialect
	metrics   map[string]bool // nil: all
	uname     bool            // node_uname_info leads to host names

	// recorded are the normalised series by name; order is that of first use.
	recorded map[string]rule
	order    []string
	readings map[string]reading
	jobs     bool // some series says which job runs where

	class   string
	missing []signals.ID // what the next alert lacks
	rules   []rule       // of the current class
	tests   []testCase   // of the current class
	left    []Left
}

// rule is a recording or alerting rule.
type rule struct {
	record, alert string
	expr          string
	hold, keep    time.Duration
	labels        map[string]string
	annotations   map[string]string
	// comment stands above the rule.
	comment string
}

// Left is something that was not generated, and why.
type Left struct {
	Class string `json:"class"`
	// What is the alert's reason, "" for the whole class.
	What string `json:"what,omitempty"`
	Why  string `json:"why"`
}

func newBuilder(o *Options) *builder {
	b := &builder{o: o, recorded: map[string]rule{}, readings: map[string]reading{}}
	b.profile, _ = FindProfile(o.Target) // the options were checked
	for _, d := range signals.Catalogue() {
		b.catalogue = append(b.catalogue, &d)
	}
	if o.Metrics != nil {
		b.metrics = map[string]bool{}
		for _, m := range o.Metrics {
			b.metrics[m] = true
		}
	}
	b.uname = b.metric("node_uname_info")
	if b.uname {
		// A rule with an instance of two names would fail for all hosts.
		names := "max by (instance, host) (" + relabel("max by (instance, nodename) (node_uname_info)", "host", "nodename", hostPattern, "$1") + ")"
		b.put(hostMap, fmt.Sprintf("%s unless on (instance) (count by (instance) (%s) > 1)", names, names), "the host's own name for each instance that has one")
	}
	b.mapJobs()
	return b
}

func (b *builder) metric(name string) bool { return b.metrics == nil || b.metrics[name] }

// put records a normalised series.
func (b *builder) put(name, expr, comment string) {
	if _, ok := b.recorded[name]; ok {
		return
	}
	b.recorded[name] = rule{record: name, expr: expr, comment: comment}
	b.order = append(b.order, name)
}

// share records a series that several classes use.
func (b *builder) share(name, comment, format string, args ...any) string {
	b.put(name, fmt.Sprintf(format, args...), comment)
	return name
}

// have returns the recorded name of a signal, and whether anybody offers it.
func (b *builder) have(rd reading) (string, bool) {
	list := b.sources(rd)
	if len(list) == 0 {
		return "", false
	}
	op := "last"
	if t := list[0].r.Type; t == signals.Counter || t == signals.CountingGauge {
		op = "rate" + span(rateWindow)
		if rd.increase > 0 {
			op = "increase" + span(rd.increase)
		}
	}
	lv := level(list[0].kind())
	name := lv + ":" + rd.id.String() + ":" + op
	if _, ok := b.recorded[name]; !ok {
		b.readings[name] = rd
		b.put(name, b.normal(rd), rd.id.String()+" in "+unitText(rd))
	}
	return name, true
}

func unitText(rd reading) string {
	if rd.increase > 0 {
		return "events in " + span(rd.increase)
	}
	m := rd.id.Meta()
	if m.Counts && !strings.HasSuffix(m.Unit, "/s") {
		return m.Unit + "/s"
	}
	return m.Unit
}

// has is have for the value or rate of a signal.
func (b *builder) has(id signals.ID) (string, bool) { return b.have(reading{id: id}) }

// need is has for an input without which the next alert cannot be: if it is
// missing, the alert is left out and listed.
func (b *builder) need(id signals.ID) string { return b.needs(reading{id: id}) }

func (b *builder) needs(rd reading) string {
	name, ok := b.have(rd)
	if !ok && !slices.Contains(b.missing, rd.id) {
		b.missing = append(b.missing, rd.id)
	}
	return name
}

// blind says that an input of the next alert is missing, notes it, and starts
// over for another alert.
func (b *builder) blind(what string) bool {
	if len(b.missing) == 0 {
		return false
	}
	var parts []string
	for _, id := range b.missing {
		parts = append(parts, id.String()+b.enable(id))
	}
	b.missing = nil
	b.left = append(b.left, Left{b.class, what, "no series here for " + strings.Join(parts, ", ")})
	return true
}

// enable says what would add a signal.
func (b *builder) enable(id signals.ID) string {
	for _, d := range b.catalogue {
		for _, r := range d.Rules {
			if r.Signal == id && r.Enable != "" {
				return " (" + r.Enable + ")"
			}
		}
	}
	return ""
}

// record adds a recording rule of the current class.
func (b *builder) record(name, comment, format string, args ...any) string {
	b.rules = append(b.rules, rule{record: name, expr: fmt.Sprintf(format, args...), comment: comment})
	return name
}

// alert is one alerting rule in the words of a verdict.
type alert struct {
	reason   string
	severity string
	// kind is the kind of the suspect, "unknown" for nobody. It decides which
	// labels of the evidence become suspect_node and suspect_device.
	kind  string
	scope string
	owner string
	// evidence is the expression, with rows only where the fault is. Its level
	// says by which labels the rows differ.
	evidence string
	level    string // nic_port, gpu, rank, host, device, job or cluster
	hold     time.Duration
	keep     time.Duration
	summary  string // without the place; it may use $value
	next     string
	cite     string // where the threshold comes from
	test     testCase
	also     []testCase // more cases of the same alert
}

// add records the evidence and makes the alert on it.
func (b *builder) add(a alert) {
	name := a.level + ":" + b.class + "_" + a.reason + ":evidence"
	if !slices.ContainsFunc(b.rules, func(r rule) bool { return r.record == name }) {
		b.record(name, "rows only where "+b.class+" ("+a.reason+") is", "%s", a.evidence)
	}
	b.addOn(name, a)
}

// addOn makes an alert on a recorded series.
func (b *builder) addOn(series string, a alert) {
	expr, place := b.place(series, a)
	labels := map[string]string{
		"class": b.class, "severity": a.severity, "suspect_kind": a.kind, "scope": a.scope, "owner_domain": a.owner, "source": "collwatch-rules",
		// Two rules must never make alerts with equal labels: the one that ends
		// would resolve the other.
		"reason": a.reason,
	}
	maps.Copy(labels, b.o.Labels)
	r := rule{
		alert: alertName(b.class), expr: expr, hold: a.hold, keep: a.keep, labels: labels, comment: a.cite,
		annotations: map[string]string{
			"summary":     place + a.summary,
			"description": "Found by a rule on raw series (class " + b.class + ", reason " + a.reason + "): " + place + a.summary + "." + b.jobText(a),
			"reason":      a.reason,
			"next_step":   a.next,
		},
	}
	if url := b.runbook(); url != "" {
		r.annotations["runbook_url"] = url
	}
	b.rules = append(b.rules, r)
	for _, t := range append([]testCase{a.test}, a.also...) {
		t.rule = r
		t.place = a.level
		b.tests = append(b.tests, t)
	}
}

func (b *builder) runbook() string {
	u := b.o.RunbookURL
	switch {
	case u == "":
		return ""
	case strings.Contains(u, "{class}"):
		return strings.ReplaceAll(u, "{class}", b.class)
	}
	return strings.TrimRight(u, "/") + "/" + b.class
}

func perHost(level string) bool { return level == "nic_port" || level == "gpu" || level == "host" }

// jobText names the job in prose where the rows can have one.
func (b *builder) jobText(a alert) string {
	switch {
	case a.level == "job", a.level == "rank":
		return " Job {{ $labels.job_id }}."
	case perHost(a.level) && b.jobs:
		return "{{ if $labels.job_id }} Job {{ $labels.job_id }} runs on it.{{ end }}"
	}
	return ""
}

// place brings the rows of a series to the labels of an alert and returns the
// words for where it is.
func (b *builder) place(series string, a alert) (expr, words string) {
	expr = series
	if perHost(a.level) && b.jobs {
		expr = fmt.Sprintf("(%s * on (host) group_left (job_id) %s or on (host) %s)", series, jobOfHost, series)
	}
	by := []string{"job_id"}
	add := func(label, from string) {
		expr = fmt.Sprintf("label_replace(%s, %q, %q, %q, %q)", expr, label, "$1", from, "(.+)")
		by = append(by, label)
	}
	switch a.level {
	case "nic_port":
		add("suspect_node", "host")
		add("suspect_device", "device")
		words = "{{ $labels.suspect_node }}/{{ $labels.suspect_device }} "
	case "gpu", "rank":
		add("suspect_node", "host")
		add("suspect_device", "gpu")
		words = "{{ $labels.suspect_node }}/{{ $labels.suspect_device }} "
	case "host":
		add("suspect_node", "host")
		words = "{{ $labels.suspect_node }} "
	case "device":
		by = nil
		add("suspect_device", "device")
		words = "{{ $labels.suspect_device }} of many hosts "
	case "job":
		return fmt.Sprintf("max by (job_id) (%s)", series), "job {{ $labels.job_id }} "
	default:
		return fmt.Sprintf("max(%s)", series), ""
	}
	return fmt.Sprintf("max by (%s) (%s)", strings.Join(by, ", "), expr), words
}
