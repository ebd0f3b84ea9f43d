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

	// Source is the name of the querier that is asked unless Families or a
	// custom signal says otherwise; with one querier it may be empty.
	Source string
	// Families sends families of metrics (the names are those of
	// docs/signals.md) to other sources, several if they complement each other.
	Families map[string][]string
	// Windows overrides the window of a family.
	Windows map[string]time.Duration
	// Selector is added to each selector, such as `cluster="a"`.
	Selector string

	// Dialects allows only the named dialect for a signal.
	Dialects map[ID]string
	// Custom are signals of the user's own.
	Custom []CustomSignal
	// RankMap tells ranks and groups of jobs whose series do not.
	RankMap *RankMap
	// Known are jobs of an earlier run, so that FirstSeen survives a restart.
	Known []JobMark

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
	// Direction says which way is bad.
	Direction Direction
	// Host, GPU, NIC, Job, Rank and Detail name the labels that hold these
	// parts of the entity; "" where there is none. Host falls back to
	// "instance" only if it is set to it.
	Host, GPU, NIC, Job, Rank, Detail string
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
	for f, srcs := range o.Families {
		if !names[f] {
			errs = append(errs, fmt.Errorf("signals: no family %q", f))
		}
		for _, s := range srcs {
			known("signals: family "+strconv.Quote(f), s)
		}
	}
	for f := range o.Windows {
		if !names[f] {
			errs = append(errs, fmt.Errorf("signals: window of an unknown family %q", f))
		}
	}
	for id, name := range o.Dialects {
		if !b.offers(name, id) {
			errs = append(errs, fmt.Errorf("signals: dialect %q does not offer %s", name, id))
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
