package custom

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// Signal is what is known of one signal of the user's own. Its rows are in the
// frame signals.Custom, with its name at the begin of Entity.Detail.
type Signal struct {
	Name string
	// Unit is one of the words of the configuration, such as "seconds".
	Unit string
	// Counter says that the values are rates.
	Counter bool
	// Direction is the way in which it moves when things get worse; a Context
	// signal is shown and not judged.
	Direction signals.Direction
	// Source, Expr and Scale are how its values are read, and Labels which hold
	// the parts of its entities, for charts.
	Source, Expr string
	Scale        float64
	Labels       Labels
}

// Labels name the labels that hold the parts of an entity, "" for none.
type Labels struct{ Host, Device, Port, Job, Detail string }

// Options configures a Watch. Zero fields mean the defaults of detectors.
type Options struct {
	Signals []Signal
	// Interval is the time between two ticks, 15 s if zero.
	Interval time.Duration
	// Limits are the least effects and the chart, those of transfers.
	Limits detectors.TransferOptions
}

const (
	// stale is how long a value is shown after its sample: the look-back of
	// Prometheus.
	stale = 5 * time.Minute
	// runToJudge is how many ticks in a row a series has to be away from its
	// peers: one bad scrape is none.
	runToJudge = 3
	// minPeers is the least number of others for a comparison with them, as in
	// detectors: below it a median absolute deviation says nothing.
	minPeers = 5
)

// Watch follows the signals. It is a detector that reports no finding: what it
// found is asked for by Explain, when there are verdicts. It is owned by the
// goroutine of the tick.
type Watch struct {
	opts   Options
	series detectors.States[series]
	ids    []signals.EntityID // with a value once, in the order of their entities
	groups map[group]*members

	now      time.Time
	entities *signals.Entities

	inherited map[signals.Entity]series
}

// New returns a Watch, nil if there is nothing to follow.
func New(o Options) *Watch {
	if len(o.Signals) == 0 {
		return nil
	}
	o.Interval = cmp.Or(o.Interval, 15*time.Second)
	o.Limits.Effect = cmp.Or(o.Limits.Effect, 0.10)
	o.Limits.PeerEffect = cmp.Or(o.Limits.PeerEffect, 0.15)
	o.Limits.PeerScore = cmp.Or(o.Limits.PeerScore, 5)
	return &Watch{opts: o, groups: map[group]*members{}}
}

// Inherit takes over what another Watch has learned of signals that both know
// alike, for a reload. The other must not be used any more; nil has nothing.
func (w *Watch) Inherit(from *Watch) {
	if w == nil || from == nil || from.entities == nil {
		return
	}
	w.inherited = map[signals.Entity]series{}
	for _, id := range from.ids {
		e := from.entities.Of(id)
		ours, theirs := w.find(e.Detail), from.find(e.Detail)
		if ours != nil && theirs != nil && *ours == *theirs {
			w.inherited[e] = *from.series.Peek(id)
		}
	}
}

// Name implements detectors.Detector.
func (w *Watch) Name() string { return "custom" }

// Renumber implements detectors.Renumberer.
func (w *Watch) Renumber(to []signals.EntityID, count int) {
	w.series.Renumber(to, count)
	kept := w.ids[:0]
	for _, id := range w.ids {
		if int(id) < len(to) && to[id] != detectors.Gone {
			kept = append(kept, to[id])
		}
	}
	w.ids = kept
}

// Observe implements detectors.Detector.
func (w *Watch) Observe(t *detectors.Tick, _ *detectors.Report) {
	w.now, w.entities = t.Time, t.Entities
	for _, m := range w.groups {
		m.reset()
	}
	f := t.Frame(signals.Custom)
	for i := range f.Len() {
		id := f.Entity[i]
		e := t.Entities.Of(id)
		def := w.find(e.Detail)
		if def == nil || f.Value[i] != f.Value[i] {
			continue
		}
		s := w.series.At(id)
		if s.stamp == 0 {
			w.ids = append(w.ids, id)
			*s = w.inherited[e]
			delete(w.inherited, e)
		}
		job := ""
		if j := t.JobOf(e); j != nil {
			job = j.ID
		}
		s.take(f.Value[i], f.Stamp[i], job)
		if def.Direction == signals.Context {
			continue
		}
		s.follow(w, def, t.Frozen(e))
		w.group(groupOf(e, job)).add(id, s)
	}
	for k, m := range w.groups {
		if len(m.ids) == 0 {
			delete(w.groups, k)
			continue
		}
		m.judge(w, w.find(k.detail))
	}
}

// find returns the signal that a detail names, nil if the configuration knows
// it no more. A detail is the name, or the name and what tells series apart.
func (w *Watch) find(detail string) *Signal {
	name, _, _ := strings.Cut(detail, " ") // names have no spaces
	i := slices.IndexFunc(w.opts.Signals, func(s Signal) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &w.opts.Signals[i]
}

func (w *Watch) group(k group) *members {
	m := w.groups[k]
	if m == nil {
		m = &members{}
		w.groups[k] = m
	}
	return m
}
