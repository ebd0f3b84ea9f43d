package rules

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/signals"
)

// Options says what to generate.
type Options struct {
	// Target is the name of a [Profile].
	Target string
	// CRD wraps the rules into a PrometheusRule resource, with its namespace
	// and the labels by which an operator selects it.
	CRD            bool
	Namespace      string
	ResourceLabels map[string]string
	// Single puts all rules into one file, without unit tests.
	Single bool
	// Interval is that of the groups.
	Interval time.Duration
	// QueryOffset is how far in the past the groups are evaluated; 0 leaves it to
	// the server. Not every target can do that.
	QueryOffset time.Duration
	// Labels are added to every alert. They may not be one of the contract.
	Labels map[string]string
	// KeepLabels are labels by which rows stay apart, such as that of the cluster
	// where one server has several.
	KeepLabels []string
	// Classes limits the output to these, if there are any; Disabled takes
	// classes away.
	Classes, Disabled []string
	// MaxPerGroup splits groups; 0 means the limit of the target.
	MaxPerGroup int
	// Metrics are the names that exist on the source; nil means all.
	Metrics []string
	// RunbookURL is where runbooks are; {class} is replaced, or the class is
	// appended. "" leaves the annotation out.
	RunbookURL string
	// Version is that of the program, for the header.
	Version string
	// Limits are the thresholds.
	Limits Limits
}

// Limits are the thresholds that the daemon reads from its configuration too,
// so that both say the same.
type Limits struct {
	// BootGrace is the time after a boot in which links may still come up.
	BootGrace time.Duration
	// LeafRestart is the time in which a switch may come back.
	LeafRestart time.Duration
	// FlapCritical is how many link losses within ten minutes are critical.
	FlapCritical int
	// StallAlike is the time without progress after which a stall is told,
	// InitStall that from a job's start without any collective.
	StallAlike, InitStall time.Duration
	// ThrottleClock is the share of the peers' clock below which heat alone
	// makes a GPU throttled.
	ThrottleClock float64
	// ErrorsHold and ErrorsCritical are how long error counters must rise.
	ErrorsHold, ErrorsCritical time.Duration
	// EvaluationLate is the age of the daemon's last evaluation from which it
	// counts as late.
	EvaluationLate time.Duration
}

// FromConfig takes the options from a configuration.
func FromConfig(c *config.Config) Options {
	r := &c.Rules
	return Options{
		Target: r.Profile, CRD: r.Format == "crd", Namespace: r.Namespace, ResourceLabels: r.ResourceLabels,
		Interval: r.Interval.Std(), QueryOffset: r.QueryOffset.Std(), Labels: r.Labels, KeepLabels: r.KeepLabels, Disabled: r.DisabledClasses, MaxPerGroup: r.MaxPerGroup,
		RunbookURL: c.Incidents.RunbookURL.Template(),
		Limits: Limits{
			BootGrace: c.Diagnosis.BootGrace.Std(), LeafRestart: c.Diagnosis.LeafRestart.Std(), FlapCritical: c.Diagnosis.FlapCritical,
			StallAlike: c.Diagnosis.StallAlike.Std(), InitStall: c.Diagnosis.InitStall.Std(), ThrottleClock: c.Diagnosis.ThrottleClock,
			ErrorsHold: c.Detectors.Counters.Hold.Std(), ErrorsCritical: c.Diagnosis.BitErrorsCritical.Std(),
			EvaluationLate: max(3*time.Minute, 4*c.Global.Interval.Std()+c.Global.QueryOffset.Std()),
		},
	}
}

// Default returns the options of an empty configuration.
func Default() Options {
	c := config.Default()
	return FromConfig(&c)
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// contractLabels identify an alert; a site may not give them another meaning.
func contractLabels() []string {
	return []string{"alertname", "class", "severity", "job_id", "suspect_kind", "suspect_node", "suspect_device", "scope", "owner_domain", "source"}
}

// check finds all mistakes at once.
func (o *Options) check() error {
	var errs []error
	switch p, err := FindProfile(o.Target); {
	case err != nil:
		errs = append(errs, err)
	case o.QueryOffset != 0 && p.OffsetField() == "":
		errs = append(errs, fmt.Errorf("query_offset %s: target %s refuses files with such a field; leave it 0", o.QueryOffset, o.Target))
	case o.QueryOffset < 0 || o.QueryOffset > 10*time.Minute || o.QueryOffset%time.Second != 0:
		errs = append(errs, fmt.Errorf("query_offset %s: it must be whole seconds from 0 to 10m", o.QueryOffset))
	}
	known := ClassNames()
	for _, list := range [][]string{o.Classes, o.Disabled} {
		for _, c := range list {
			if !slices.Contains(known, c) {
				errs = append(errs, fmt.Errorf("class %q does not exist%s", c, suggest(c, known)))
			}
		}
	}
	for _, l := range o.KeepLabels {
		switch {
		case !labelName.MatchString(l) || strings.HasPrefix(l, "__"):
			errs = append(errs, fmt.Errorf("label %q to keep: a name has letters, digits and underscores only, as older servers know no other", l))
		case slices.Contains(append(contractLabels(), "host", "gpu", "device", "port", "instance"), l):
			errs = append(errs, fmt.Errorf("label %q is one of the rules' own and cannot be kept", l))
		case o.Labels[l] != "":
			errs = append(errs, fmt.Errorf("label %q cannot be kept and be given a fixed value", l))
		}
	}
	for _, l := range slices.Sorted(maps.Keys(o.Labels)) {
		switch {
		case !labelName.MatchString(l) || strings.HasPrefix(l, "__"):
			errs = append(errs, fmt.Errorf("label %q: a name has letters, digits and underscores only, as older servers know no other", l))
		case slices.Contains(contractLabels(), l):
			errs = append(errs, fmt.Errorf("label %q identifies an alert of collwatch and cannot be set", l))
		}
	}
	if o.Interval < time.Second || o.Interval > 5*time.Minute {
		errs = append(errs, fmt.Errorf("interval %s: the rules need one between 1s and 5m", o.Interval))
	}
	if o.MaxPerGroup < 0 {
		errs = append(errs, fmt.Errorf("rules per group must be 0 (no limit) or more, got %d", o.MaxPerGroup))
	}
	return errors.Join(errs...)
}

// ClassNames lists all classes of fault, in the order of the vocabulary.
func ClassNames() []string {
	var out []string
	for _, r := range signals.Requirements() {
		out = append(out, r.Class)
	}
	return out
}

// alertName is the daemon's name of an alert: CollwatchNicDegraded.
func alertName(class string) string {
	var b strings.Builder
	b.WriteString("Collwatch")
	for word := range strings.SplitSeq(class, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
