package detectors

import (
	"math"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// processes knows which training processes exist, from the collwatch exporter.
// A process is there, was killed (it is shown as dead for a while), has left in
// good order (it is not shown any more), or is stopped by a signal.
type processes struct {
	rows map[signals.EntityID]*process
	// newest is the newest sample of a host's processes: one scrape has one
	// time, so who is older was not in it.
	newest map[string]int64
}

type process struct {
	stamp   int64 // ms, newest sample
	up      bool
	stopped bool
	changed int64 // ms, when it was first seen dead; 0 while it is alive
	halted  int64 // ms, when it was first seen stopped; 0 while it is not
}

// leftAfter is how much older than others of its host the newest sample of a
// process must be for it to have left: a scrape may be lost in part.
const leftAfter = 20 * time.Second

// ProcessState is what became of the process of a rank.
type ProcessState uint8

// The states of a process. Of a rank with several processes (an old one is shown
// for a while beside its successor) the living one speaks.
const (
	ProcessUnknown ProcessState = iota
	ProcessRuns
	ProcessStopped // by a signal or a debugger
	ProcessDead    // it was killed
	ProcessLeft    // it closed its communicators in good order, or was forgotten by its exporter
)

// rankProcess is the state of the process of one rank.
type rankProcess struct {
	state ProcessState
	since int64 // ms, when that was first seen
	// Of the processes that are shown for the rank, one is dead, one lives.
	corpse, lives bool
}

// succeeded says that a dead process is still shown beside its successor: what
// the old communicators say is history, and cannot be told apart.
func (p rankProcess) succeeded() bool { return p.corpse && p.lives }

func newProcesses() processes {
	return processes{rows: map[signals.EntityID]*process{}, newest: map[string]int64{}}
}

func (p *processes) renumber(to []signals.EntityID) { p.rows = renumberMap(p.rows, to) }

// read takes the new rows of a tick.
func (p *processes) read(t *Tick) {
	f := t.Frame(signals.ProcessUp)
	for i := range f.Len() {
		if math.IsNaN(f.Value[i]) {
			continue
		}
		row := p.row(t, f.Entity[i], f.Stamp[i])
		row.stamp, row.up = f.Stamp[i], f.Value[i] != 0
		switch {
		case row.up:
			row.changed = 0
		case row.changed == 0:
			row.changed = row.stamp
		}
	}
	f = t.Frame(signals.ProcessStopped)
	for i := range f.Len() {
		row := p.row(t, f.Entity[i], f.Stamp[i])
		row.stopped = f.Value[i] > 0
		switch {
		case !row.stopped:
			row.halted = 0
		case row.halted == 0:
			row.halted = f.Stamp[i]
		}
	}
	for id := range p.rows {
		if t.JobOf(t.Entities.Of(id)) == nil {
			delete(p.rows, id)
		}
	}
}

func (p *processes) row(t *Tick, id signals.EntityID, stamp int64) *process {
	host := t.Entities.Of(id).Host
	p.newest[host] = max(p.newest[host], stamp)
	row := p.rows[id]
	if row == nil {
		row = &process{}
		p.rows[id] = row
	}
	return row
}

// of returns the processes of a job by rank, nil if no exporter shows any.
func (p *processes) of(t *Tick, job string) map[signals.Entity]rankProcess {
	var out map[signals.Entity]rankProcess
	moved := p.moved(t, job)
	for id, row := range p.rows {
		e := t.Entities.Of(id)
		if j := t.JobOf(e); j == nil || j.ID != job || row.stamp == 0 {
			continue
		}
		e.Job = job // what names no job works for that of its GPU or host
		if out == nil {
			out = map[signals.Entity]rankProcess{}
		}
		now, here := p.judge(e.Host, row)
		if !here && moved[pidKey{e.Host, e.Detail}] > row.stamp {
			continue // the same process is known by its GPU since
		}
		thing := e.Thing()
		best, ok := out[thing]
		corpse := best.corpse || here && now.state == ProcessDead
		lives := best.lives || now.state == ProcessRuns || now.state == ProcessStopped
		if !ok || now.before(best) {
			best = now
		}
		best.corpse, best.lives = corpse, lives
		out[thing] = best
	}
	return out
}

// pidKey is a process of a host, whatever it is called by.
type pidKey struct{ host, pid string }

// moved is the newest sample of each pid of a job.
func (p *processes) moved(t *Tick, job string) map[pidKey]int64 {
	out := map[pidKey]int64{}
	for id, row := range p.rows {
		if e := t.Entities.Of(id); e.Job == job || e.Job == "" {
			k := pidKey{e.Host, e.Detail}
			out[k] = max(out[k], row.stamp)
		}
	}
	return out
}

// judge says what became of one process, and whether it is still shown.
func (p *processes) judge(host string, row *process) (out rankProcess, here bool) {
	here = p.newest[host]-row.stamp < leftAfter.Milliseconds()
	switch {
	case row.changed != 0:
		return rankProcess{state: ProcessDead, since: row.changed}, here
	case !here:
		return rankProcess{state: ProcessLeft, since: row.stamp}, false
	case row.stopped:
		return rankProcess{state: ProcessStopped, since: row.halted}, true
	}
	return rankProcess{state: ProcessRuns, since: row.stamp}, true
}

// before says that p speaks for a rank rather than o: the living one, else the
// one that ended last.
func (p rankProcess) before(o rankProcess) bool {
	ended := func(x rankProcess) bool { return x.state == ProcessDead || x.state == ProcessLeft }
	if ended(p) != ended(o) {
		return !ended(p)
	}
	return p.since > o.since
}

// allProcesses says that there are processes and all of them are in one of the
// given states.
func allProcesses(of map[signals.Entity]rankProcess, states ...ProcessState) bool {
	for _, x := range of {
		found := false
		for _, s := range states {
			found = found || x.state == s
		}
		if !found {
			return false
		}
	}
	return len(of) > 0
}

// allKnown says that no rank of a job lacks a process: what is told of the
// processes is told of the job.
func allKnown(j *signals.Job, of map[signals.Entity]rankProcess) bool {
	return len(of) > 0 && len(of) >= max(len(j.GPUs), len(j.Ranks))
}

// historic says that series of dead processes are mixed with those of their
// successors.
func historic(of map[signals.Entity]rankProcess) bool {
	for _, x := range of {
		if x.succeeded() {
			return true
		}
	}
	return false
}
