package diagnosis

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Family proposes hypotheses of related classes. It is one file. A family with
// memory is a method value of its own struct, made by a constructor, so that
// two diagnosers share nothing.
type Family struct {
	// Name is the word for logs and metrics.
	Name string
	// Judge looks at one case. It is called once a tick, in the order of the
	// families, also when nothing was found, so that memories can age.
	Judge func(*Case) []Hypothesis
	// Memory is kept over a restart; nil if there is nothing to keep.
	Memory Keeper
}

// Hypothesis is a verdict that a family proposes, with what the arbitration has
// to know about it.
type Hypothesis struct {
	Verdict

	// Covers are the things whose own verdicts are consequences of this one: a
	// leaf covers the NICs below it. A host covers all that is in it.
	Covers []signals.Entity
	// Jobs are the jobs harmed: a stall or slowness of theirs that began
	// later is a consequence.
	Jobs []string
	// Beside are those of them that use other NICs of the same hosts only: they are
	// told of, and what they suffer is no consequence.
	Beside []string
	// JobSince is since when Job is watched, for a lateness that may be older than
	// what is known of it; zero elsewhere.
	JobSince time.Time
	// Falls are the earlier times at which the link of a flap went down in this
	// episode; StartedAt is the newest.
	Falls []time.Time
	// Over is when it ended, of what lasts for minutes and is told afterwards;
	// zero else.
	Over time.Time
	// Groups are the communicators whose slowness it explains.
	Groups []string
	// Mute keeps the hypothesis from becoming a verdict when nothing else
	// leads; it still folds what it covers. A planned restart is mute.
	Mute bool
}

// covers says whether e, or something it belongs to, is covered by h.
func (h *Hypothesis) covers(e signals.Entity) bool {
	for _, x := range h.Covers {
		if within(e, x) {
			return true
		}
	}
	return false
}

// harms says whether job is one of the jobs that h explains.
func (h *Hypothesis) harms(job string) bool {
	if job == "" || slices.Contains(h.Beside, job) {
		return false
	}
	if slices.Contains(h.Jobs, job) {
		return true
	}
	return h.Job == job
}

// within says whether e is x or a part of x.
func within(e, x signals.Entity) bool {
	switch x.Kind {
	case signals.KindHost:
		return e.Host == x.Host && e.Kind != signals.KindSwitchPort
	case signals.KindGPU, signals.KindNIC, signals.KindSwitchPort:
		return e.Kind == x.Kind && e.Host == x.Host && e.Device == x.Device && (x.Port == "" || e.Port == "" || e.Port == x.Port)
	case signals.KindJob:
		return e.Job == x.Job
	}
	return e == x
}

// entity is what a suspect is, as an entity; KindNone for a component that is
// no entity, such as a rack.
func (s Suspect) entity() signals.Entity {
	switch s.Kind {
	case "nic", "link":
		if s.Node == "" {
			return signals.Entity{Kind: signals.KindSwitchPort, Device: s.Switch, Port: s.Port}
		}
		return signals.Entity{Kind: signals.KindNIC, Host: s.Node, Device: s.Device}
	case "gpu":
		return signals.Entity{Kind: signals.KindGPU, Host: s.Node, Device: s.Device}
	case "node":
		return signals.Entity{Kind: signals.KindHost, Host: s.Node}
	case "rank":
		if s.Device != "" {
			return signals.Entity{Kind: signals.KindGPU, Host: s.Node, Device: s.Device}
		}
		return signals.Entity{Kind: signals.KindHost, Host: s.Node}
	}
	return signals.Entity{}
}

// onset returns the earlier of two times, where zero means unknown.
func onset(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
