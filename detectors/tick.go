package detectors

import (
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Tick is one snapshot with what all detectors ask of it: how much time has
// passed, which job a thing works for, and whether a thing is suspect.
type Tick struct {
	*signals.Snapshot

	// Elapsed is the time since the tick before, 0 at the first.
	Elapsed time.Duration

	last   time.Time
	frozen map[signals.Entity]struct{}
	byGPU  map[[2]string]*signals.Job // by host and device: an Entity is too large for a key that is asked so often
	byHost map[string]*signals.Job
	byID   map[string]*signals.Job
	placed map[string]bool // hosts whose working GPUs are known

	columns [signals.Count]*column // that a detector asked for
	number  uint32                 // of the tick
	jobs    []jobMemo              // by entity
	cards   cards
}

// jobMemo is what JobOf said of an entity at one tick.
type jobMemo struct {
	job  *signals.Job
	tick uint32
}

func newTick() Tick {
	return Tick{
		frozen: map[signals.Entity]struct{}{},
		byGPU:  map[[2]string]*signals.Job{},
		byHost: map[string]*signals.Job{},
		byID:   map[string]*signals.Job{},
		placed: map[string]bool{},
		cards:  cards{ports: map[[3]string]*card{}},
	}
}

func (t *Tick) begin(s *signals.Snapshot) {
	t.Snapshot = s
	t.number++
	t.Elapsed = 0
	if !t.last.IsZero() {
		t.Elapsed = s.Time.Sub(t.last)
	}
	clear(t.byGPU)
	clear(t.byHost)
	clear(t.byID)
	clear(t.placed)
	for _, j := range s.Jobs {
		t.byID[j.ID] = j
		if j.Ended {
			continue
		}
		for _, g := range j.GPUs {
			t.byGPU[[2]string{g.Host, g.Device}] = j
			t.placed[g.Host] = true
		}
		for _, h := range j.Hosts {
			if other, taken := t.byHost[h]; taken && other != j {
				t.byHost[h] = nil // shared host: only its GPUs tell
				continue
			}
			t.byHost[h] = j
		}
	}
	for _, c := range t.columns {
		if c != nil {
			c.update(t)
		}
	}
	t.cards.update(t)
}

func (t *Tick) renumber(to []signals.EntityID) {
	for _, c := range t.columns {
		if c != nil {
			c.rows.renumber(to)
		}
	}
	t.cards.renumber(to)
}

func (t *Tick) end() {
	t.last = t.Time
	t.Snapshot = nil
}

func (t *Tick) freeze(things []signals.Entity) {
	clear(t.frozen)
	for _, e := range things {
		t.frozen[e.Thing()] = struct{}{}
	}
}

// Frozen says that e, or something it belongs to, is suspect: its host, its
// GPU, or its job.
func (t *Tick) Frozen(e signals.Entity) bool {
	if len(t.frozen) == 0 {
		return false
	}
	thing := e.Thing()
	if _, ok := t.frozen[thing]; ok {
		return true
	}
	thing.Port = ""
	if _, ok := t.frozen[thing]; ok {
		return true
	}
	if _, ok := t.frozen[signals.Entity{Kind: signals.KindHost, Host: e.Host}]; ok && e.Host != "" {
		return true
	}
	if e.Job == "" {
		return false
	}
	_, ok := t.frozen[signals.Entity{Kind: signals.KindJob, Job: e.Job}]
	return ok
}

// JobOf returns the running job that e works for, or nil if there is none or
// it cannot be told.
func (t *Tick) JobOf(e signals.Entity) *signals.Job {
	if e.Job != "" {
		return t.byID[e.Job]
	}
	if e.Kind == signals.KindGPU || e.Device != "" && (e.Kind == signals.KindComm || e.Kind == signals.KindRank) {
		if j, ok := t.byGPU[[2]string{e.Host, e.Device}]; ok {
			return j
		}
	}
	return t.byHost[e.Host]
}

// jobOf is JobOf of the entity with this number, looked up once a tick: a GPU has a
// dozen signals.
func (t *Tick) jobOf(id signals.EntityID) *signals.Job {
	if int(id) >= len(t.jobs) {
		grown := make([]jobMemo, int(id)+1+int(id)/8)
		copy(grown, t.jobs)
		t.jobs = grown
	}
	m := &t.jobs[id]
	if m.tick != t.number {
		m.job, m.tick = t.JobOf(t.Entities.Of(id)), t.number
	}
	return m.job
}

// spare says that e is a GPU of a host whose working GPUs are known, and none of
// them: it is free, or works for somebody who is not seen.
func (t *Tick) spare(e signals.Entity) bool {
	return e.Kind == signals.KindGPU && t.placed[e.Host] && t.byGPU[[2]string{e.Host, e.Device}] == nil
}

// JobByID returns a job, or nil.
func (t *Tick) JobByID(id string) *signals.Job { return t.byID[id] }
