package detectors

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

const (
	// spinning is the utilisation of a GPU whose collective kernel spins, idle
	// that of one without any kernel.
	spinning = 0.9
	idleUtil = 0.1
	// freed is the part of its usual memory below which the process of a GPU
	// is gone.
	freed = 0.15
)

// classify says what each GPU of a standing job does, by the state table of
// docs/faults/collective_stall.md.
func (d *progress) classify(
	t *Tick, r *Report, j *signals.Job, p *progressJob, last time.Time, procs map[signals.Entity]rankProcess, seats *positions,
) []Member {
	lost := map[signals.Entity]bool{}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Pattern == Vanished {
			lost[f.Entity.Thing()] = true
		}
	}
	out := make([]Member, 0, len(j.GPUs)+len(j.Ranks))
	for _, g := range slices.Concat(j.GPUs, j.Ranks) {
		state := d.state(t, g)
		if g.Kind == signals.KindRank && seats.waits(g) {
			state = StateWaiting
		}
		if lost[g] {
			state = StateLost
		}
		x := procs[g]
		state = x.member(state, last)
		m, known := p.members[g]
		switch {
		case known && m.State == state:
		case known && state == StateUnknown:
			m.State = state // for want of a sample: what it was is not forgotten
		default:
			m = Member{Entity: g, State: state, Since: t.Time}
			p.members[g] = m
		}
		m.Process = x.state
		out = append(out, m)
	}
	return out
}

// exitSlack is how long before the last sign of progress of a job a process may
// have ended to be the cause: clocks are read at different times.
const exitSlack = 2 * time.Minute

// member is the state of a rank, by that of its process and what is seen
// otherwise. A process that ended long before the job stood is none of its any
// more.
func (p rankProcess) member(otherwise MemberState, last time.Time) MemberState {
	switch p.state {
	case ProcessDead, ProcessLeft:
		if time.UnixMilli(p.since).Before(last.Add(-exitSlack)) {
			return StateUnknown
		}
		return StateGone
	case ProcessStopped:
		return StateStopped
	}
	return otherwise
}

// state is what one GPU does now.
func (d *progress) state(t *Tick, g signals.Entity) MemberState {
	id, ok := t.Entities.Find(g)
	if !ok {
		return StateUnknown
	}
	get := func(kind int) (level, bool) { return d.levels.byID(t.Time, kind, id) }
	if m, ok := get(levelMemory); ok && m.usual > 0 && float64(m.value) < freed*float64(m.usual) {
		return StateGone
	}
	works, judged := false, false
	for _, kind := range [...]int{levelTensor, levelPower} {
		if s, ok := get(kind); ok && s.usual > 0 {
			judged = true
			works = works || !s.low(kind)
		}
	}
	util, ok := get(levelUtil)
	switch {
	case judged && works:
		return StateTraining
	case !ok:
		return StateUnknown
	case float64(util.value) >= spinning:
		return StateWaiting
	case float64(util.value) <= idleUtil:
		return StateIdle
	}
	return StateUnknown
}

// allGone says that a job has given its GPUs back.
func allGone(members []Member) bool {
	gone := 0
	for _, m := range members {
		if m.State == StateGone {
			gone++
		}
	}
	return gone > 0 && 10*gone >= 9*len(members)
}

// holdsMemory says that at least half of the GPUs of a job hold what a training
// process holds.
func (d *progress) holdsMemory(t *Tick, j *signals.Job) bool {
	n := 0
	for _, g := range j.GPUs {
		if m, ok := d.levels.get(t, levelMemory, g); ok && m.value >= leastMemory {
			n++
		}
	}
	return len(j.GPUs) > 0 && 2*n >= len(j.GPUs)
}

// leastMemory is more than a CUDA context takes, in bytes.
const leastMemory = 2e9
