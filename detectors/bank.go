package detectors

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Detector is one way to see that something is unusual. One detector is one
// file, one test and one docs page of the same name.
//
// A Bank calls its detectors in a fixed order, from one goroutine. A detector
// that keeps state per entity implements [Renumberer] as well, and [Keeper] if
// it knows what cannot be learned anew from an hour of history.
type Detector interface {
	// Name is the name used in Finding.Detector, in the docs and in metrics.
	Name() string
	// Observe looks at one tick and adds what it finds to r, behind the
	// findings of the detectors before it. While t.Warming is set it learns
	// and must not report.
	Observe(t *Tick, r *Report)
}

// Renumberer is a Detector whose state is indexed by [signals.EntityID].
type Renumberer interface {
	// Renumber is called before Observe when the numbers changed: the entity
	// that was i is now to[i], or gone if to[i] is Gone. count is the number
	// of entities now.
	Renumber(to []signals.EntityID, count int)
}

// Gone marks an entity without a new number.
const Gone = ^signals.EntityID(0)

// Bank holds all detectors and hands each snapshot to them in order. It is
// owned by the goroutine of the tick and is not safe for concurrent use.
type Bank struct {
	options   Options
	detectors []Detector
	tick      Tick

	generation uint64
	entities   *signals.Entities // what numbers meant at the last tick, to survive a renumbering
	remap      []signals.EntityID
	took       []time.Duration
}

// NewBank returns a Bank with all built-in detectors.
func NewBank(o Options) *Bank {
	o = o.withDefaults()
	all := slices.DeleteFunc(append(builtin(o), o.Extra...), func(d Detector) bool {
		return slices.Contains(o.Disabled, d.Name()) && d.Name() != windowsName
	})
	return &Bank{options: o, detectors: all, tick: newTick()}
}

// Options returns the settings with all defaults filled in.
func (b *Bank) Options() Options { return b.options }

// Observe runs all detectors over s. The report is new at each call.
func (b *Bank) Observe(s *signals.Snapshot) *Report {
	b.renumber(s)
	b.tick.begin(s)
	r := &Report{Time: s.Time}
	b.took = b.took[:0]
	began := time.Now()
	for _, d := range b.detectors {
		d.Observe(&b.tick, r)
		now := time.Now()
		b.took, began = append(b.took, now.Sub(began)), now
	}
	if s.Warming {
		r.Findings, r.Blind = nil, nil
	}
	b.tick.end()
	return r
}

// Freeze tells which things are suspect: baselines of their series, and of
// everything that belongs to them, do not learn until the next call. A host
// covers its GPUs and NICs, a job its communicators.
func (b *Bank) Freeze(things []signals.Entity) { b.tick.freeze(things) }

// Names lists the detectors in the order of their calls.
func (b *Bank) Names() []string {
	out := make([]string, len(b.detectors))
	for i, d := range b.detectors {
		out[i] = d.Name()
	}
	return out
}

// Took is the wall time of each detector in the last call of Observe, in the order
// of Names. The slice is valid until the next call.
func (b *Bank) Took() []time.Duration { return b.took }

// renumber follows a change of generation: state moves with its entity.
func (b *Bank) renumber(s *signals.Snapshot) {
	if s.Entities == nil {
		return
	}
	if s.Generation != b.generation && b.entities != nil {
		b.remap = b.remap[:0]
		for i := range b.entities.Len() {
			id, ok := s.Entities.Find(b.entities.Of(signals.EntityID(i)))
			if !ok {
				id = Gone
			}
			b.remap = append(b.remap, id)
		}
		b.tick.renumber(b.remap)
		for _, d := range b.detectors {
			if n, ok := d.(Renumberer); ok {
				n.Renumber(b.remap, s.Entities.Len())
			}
		}
	}
	b.generation, b.entities = s.Generation, s.Entities
}
