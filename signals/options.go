package signals

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Options configures a Reader. The zero value is complete for one source.
type Options struct {
	// Interval is the time between two ticks, 15 s if zero.
	Interval time.Duration
	// Scrape is the longest scrape interval of the targets, 30 s if zero. A
	// query reads one interval plus one scrape plus slack.
	Scrape time.Duration
	// Dump is the dump period of the Inspector's files, 30 s if zero.
	Dump time.Duration
	// MaxWindow bounds how far back a query reads after missed ticks, 10 min
	// if zero. What is older is lost; counters then show an average.
	MaxWindow time.Duration
	// Concurrency bounds the queries in flight, 4 if zero.
	Concurrency int

	// Source is the name of the querier that is asked unless Sources or a
	// custom signal says otherwise; with one querier it may be empty.
	Source string
	// Sources names another querier for a signal.
	Sources map[ID]string
	// Windows overrides the window of a family.
	Windows map[string]time.Duration
	// Selector is added to each selector, such as `cluster="a"`.
	Selector string

	// Dialects allows only the named dialects for a signal; an empty list
	// switches the signal off. Disabled forbids dialects for all signals.
	Dialects map[ID][]string
	Disabled []string
	// HostLabels and JobLabels are tried before those of the dialects.
	HostLabels, JobLabels []string
	// HostAliases maps what an exporter says to what the host is called.
	HostAliases map[string]string
	// NodeLabels are labels of nodes that say where a host hangs, after the
	// known ones: the label as Kubernetes has it, and rack, leaf, pod or domain.
	NodeLabels [][2]string
	// KeepDomain keeps domains on host names.
	KeepDomain bool
	// GPUsPerHost and NICsPerHost are how many each host should show; 0 takes
	// what most hosts show.
	GPUsPerHost, NICsPerHost int
	// MaxSeries bounds the series that are looked at per answer, 2,000,000 if
	// zero. What is beyond makes the frame incomplete.
	MaxSeries int
	// Custom are signals of the user's own.
	Custom []CustomSignal
	// RankMap tells ranks and groups of jobs whose series do not.
	RankMap *RankMap
	// Known are jobs of an earlier run, so that FirstSeen survives a restart.
	Known []JobMark

	// Far are targets, as the server's label "instance" has them, whose series are
	// left out of a family: hosts that have nothing to do with what is asked. What
	// is not known to be far is asked.
	Far map[string][]string

	// ReadAhead reads history in larger chunks, and one while the one before it
	// is looked at: for commands, which may take the memory that a daemon which
	// starts should not.
	ReadAhead bool

	// KeepInterner forbids the Reader to renew the interners of its queriers.
	// Set it if anybody else holds Refs between two reads.
	KeepInterner bool
}

// JobMark is what is remembered of a job over a restart.
type JobMark struct {
	ID        string
	FirstSeen time.Time
}

// CustomSignal is the user's own PromQL.
type CustomSignal struct {
	// Name is unique; it stands in Entity.Detail of the Custom frame.
	Name string
	// Expr is evaluated at the time of each tick.
	Expr string
	// Source is the querier to ask, "" for the default.
	Source string
	// Signal feeds a canonical signal instead of Custom, such as StepTime.
	Signal ID
	// Unit is for people; Scale multiplies values, 0 means 1.
	Unit  string
	Scale float64
	// Counter says that the expression gives a counter, not a rate.
	Counter bool
	// Host, GPU, NIC, Switch, Port, Job, Rank and Detail name the labels that
	// hold these parts of the entity; "" where there is none. The most specific
	// one decides what the signal is about.
	Host, GPU, NIC, Switch, Port, Job, Rank, Detail string
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Interval, 15*time.Second)
	def(&o.Scrape, 30*time.Second)
	def(&o.Dump, 30*time.Second)
	def(&o.MaxWindow, 10*time.Minute)
	if o.MaxSeries <= 0 {
		o.MaxSeries = 2_000_000
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	return o
}

// validate reports all mistakes at once.
func (o Options) validate(b *rulebook, sources []string) error {
	var errs []error
	known := func(what, name string) {
		if name != "" && !slices.Contains(sources, name) {
			errs = append(errs, fmt.Errorf("%s: no source %q, there are %q", what, name, sources))
		}
	}
	known("signals: source", o.Source)
	if o.Source == "" && len(sources) != 1 {
		errs = append(errs, fmt.Errorf("signals: %d sources and none is named as the default", len(sources)))
	}
	names := map[string]bool{}
	for _, f := range families() {
		names[f.name] = true
	}
	for id, name := range o.Sources {
		known("signals: source of "+id.String(), name)
	}
	for f := range o.Windows {
		if !names[f] {
			errs = append(errs, fmt.Errorf("signals: window of an unknown family %q", f))
		}
	}
	for id, list := range o.Dialects {
		for _, name := range list {
			if !b.offers(name, id) {
				errs = append(errs, fmt.Errorf("signals: dialect %q does not offer %s", name, id))
			}
		}
	}
	for _, name := range o.Disabled {
		if !slices.ContainsFunc(b.dialects, func(d Dialect) bool { return d.Name == name }) {
			errs = append(errs, fmt.Errorf("signals: no dialect %q", name))
		}
	}
	seen := map[string]bool{}
	for _, c := range o.Custom {
		known("custom signal "+strconv.Quote(c.Name), c.Source)
		switch {
		case c.Name == "" || c.Expr == "":
			errs = append(errs, errors.New("signals: a custom signal needs a name and an expression"))
		case seen[c.Name]:
			errs = append(errs, fmt.Errorf("signals: two custom signals are named %q", c.Name))
		}
		seen[c.Name] = true
	}
	return errors.Join(errs...)
}

// offers says whether a dialect has a rule for a signal.
func (b *rulebook) offers(dialect string, id ID) bool {
	for i := range b.rules {
		if c := &b.rules[i]; c.Signal == id && b.dialects[c.dialect].Name == dialect {
			return true
		}
	}
	return false
}

func itoa(v int64) string { return strconv.FormatInt(v, 10) }
