package diagnosis

import (
	"maps"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// Diagnoser turns the report of each tick into verdicts. It is owned by the
// goroutine of the tick and is not safe for concurrent use.
type Diagnoser struct {
	opts     Options
	memory   *memory
	families []Family
	ended    map[string]bool
}

// New returns a Diagnoser with the built-in families and those of o.
func New(o Options) *Diagnoser {
	d := &Diagnoser{opts: o.withDefaults(), ended: map[string]bool{}}
	d.memory = newMemory(&d.opts)
	d.families = append(builtin(&d.opts), d.opts.Families...)
	return d
}

// Options returns the settings with all defaults filled in.
func (d *Diagnoser) Options() Options { return d.opts }

// Diagnose judges one tick. s, r and f are only read; f may be nil. Calls must
// be in the order of time.
func (d *Diagnoser) Diagnose(s *signals.Snapshot, r *detectors.Report, f *topology.Fabric) *Result {
	d.memory.observe(s)
	out := &Result{Time: s.Time, Holds: holds(s, r), Ended: d.newlyEnded(s), Whole: whole(s)}
	c := newCase(s, r, f, &d.opts, d.memory)
	var all []Hypothesis
	for i := range d.families {
		all = append(all, d.families[i].Judge(c)...)
	}
	if s.Warming {
		return out
	}
	out.Suspect = suspects(all)
	all = slices.DeleteFunc(all, func(h Hypothesis) bool { return d.opts.Disabled[h.Class] })
	out.Verdicts = d.opts.Shard.keep(c.arbitrate(all))
	return out
}

// Names lists the families in the order in which they judge.
func (d *Diagnoser) Names() []string {
	out := make([]string, len(d.families))
	for i := range d.families {
		out[i] = d.families[i].Name
	}
	return out
}

// newlyEnded returns the jobs that ended since the tick before.
func (d *Diagnoser) newlyEnded(s *signals.Snapshot) []string {
	var out []string
	known := make(map[string]bool, len(s.Jobs))
	for _, j := range s.Jobs {
		known[j.ID] = j.Ended
		if was, seen := d.ended[j.ID]; j.Ended && (!seen || !was) {
			out = append(out, j.ID)
		}
	}
	if whole(s) {
		for id, was := range d.ended {
			if _, ok := known[id]; !ok && !was {
				out = append(out, id)
			}
		}
		d.ended = known
	} else {
		maps.Copy(d.ended, known)
	}
	slices.Sort(out)
	return out
}

// suspects lists everything whose baselines must not learn now: what is
// suspect, what could be, and the collectives of the jobs harmed.
func suspects(all []Hypothesis) []signals.Entity {
	seen := map[signals.Entity]bool{}
	var out []signals.Entity
	add := func(e signals.Entity) {
		if e.Kind != signals.KindNone && !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	for i := range all {
		h := &all[i]
		if h.Class == TelemetryGap || h.Severity == Recorded {
			continue
		}
		for _, s := range h.Suspects {
			add(s.entity())
		}
		for _, s := range h.Candidates {
			add(s.entity())
		}
		for _, e := range h.Covers {
			add(e)
		}
		for _, j := range h.Jobs {
			add(jobEntity(j))
		}
		if h.Job != "" {
			add(jobEntity(h.Job))
		}
	}
	slices.SortFunc(out, compareEntities)
	return out
}

func compareEntities(a, b signals.Entity) int {
	for _, d := range []int{
		int(a.Kind) - int(b.Kind), strings.Compare(a.Host, b.Host), strings.Compare(a.Device, b.Device),
		strings.Compare(a.Port, b.Port), strings.Compare(a.Job, b.Job), strings.Compare(a.Detail, b.Detail),
	} {
		if d != 0 {
			return d
		}
	}
	return 0
}
