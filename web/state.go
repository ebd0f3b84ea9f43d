package web

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// State is a copy of what an evaluation saw. It is immutable: the evaluation
// uses its own memory again, pages read at any time.
type State struct {
	Time   time.Time
	Series int
	Jobs   []Job
	// Blind lists what cannot be judged now, and why.
	Blind []string

	Coverage *signals.Coverage
	Plots    *signals.Plots
	Queries  []signals.QueryStat
	Fabric   *topology.Fabric
}

// Job is a training job with the health of its communication.
type Job struct {
	ID, Name, User, Partition string
	Hosts                     []string
	GPUs                      int
	FirstSeen, LastSeen       time.Time
	Ended                     bool

	// Known says that detectors could follow its progress.
	Known      bool
	Stalled    bool
	Since      time.Time // of the stall
	Phase      string    // an excuse for a pause, "" for none
	PhaseSince time.Time
	Clocks     []detectors.Clock
	// Members counts its GPUs by what they do, in the order of the states.
	Members []StateCount
	// Odd are the members that do something else than most, at most maxOdd.
	Odd []Member
	// Operations are its kinds of collectives with their typical figures.
	Operations []Operation
}

// StateCount is how many members are in one state.
type StateCount struct {
	State string
	Count int
}

// Member is one GPU and what it does.
type Member struct {
	Host, Device, State string
	Since               time.Time
}

// Look copies what the tick saw. It runs in the goroutine of the tick. A tick
// that failed says nothing new: before is returned.
func Look(t *engine.Tick, before *State, more State) *State {
	if t.Snapshot == nil || t.Report == nil {
		return before
	}
	s := more
	s.Time, s.Series = t.At, t.Series
	progress := map[string]*detectors.JobProgress{}
	for i := range t.Report.Progress {
		progress[t.Report.Progress[i].Job] = &t.Report.Progress[i]
	}
	ops := operations(t.Snapshot)
	for _, j := range t.Snapshot.Jobs {
		job := Job{
			ID: j.ID, Name: j.Name, User: j.User, Partition: j.Partition, Hosts: slices.Clone(j.Hosts), GPUs: len(j.GPUs),
			FirstSeen: j.FirstSeen, LastSeen: j.LastSeen, Ended: j.Ended, Operations: ops[j.ID],
		}
		if job.Operations == nil {
			job.Operations = before.operationsOf(j.ID, t.At)
		}
		if p := progress[j.ID]; p != nil {
			job.follow(p)
		}
		s.Jobs = append(s.Jobs, job)
	}
	slices.SortStableFunc(s.Jobs, compareJobs)
	s.Blind = blindness(t)
	return &s
}

// compareJobs puts what needs attention first.
func compareJobs(a, b Job) int {
	rank := func(j *Job) int {
		switch {
		case j.Ended:
			return 2
		case j.Stalled:
			return 0
		default:
			return 1
		}
	}
	return rank(&a) - rank(&b)
}

// follow copies the progress.
func (j *Job) follow(p *detectors.JobProgress) {
	j.Known, j.Stalled, j.Since = true, p.Stalled || p.Hung, p.Since
	j.Phase, j.PhaseSince = phaseWord(p.Phase), p.PhaseSince
	j.Clocks = slices.Clone(p.Clocks)
	counts := map[detectors.MemberState]int{}
	most := detectors.StateUnknown
	for _, m := range p.Members {
		counts[m.State]++
		if counts[m.State] > counts[most] {
			most = m.State
		}
	}
	for st := detectors.StateUnknown; st <= detectors.StateStopped; st++ {
		if counts[st] > 0 {
			j.Members = append(j.Members, StateCount{st.String(), counts[st]})
		}
	}
	for _, m := range p.Members {
		if m.State != most && m.State != detectors.StateUnknown && len(j.Odd) < maxOdd {
			j.Odd = append(j.Odd, Member{m.Entity.Host, m.Entity.Device, m.State.String(), m.Since})
		}
	}
}

// maxOdd bounds the members that are listed by name.
const maxOdd = 32

func phaseWord(p detectors.Phase) string {
	switch p {
	case detectors.PhaseInit:
		return "initialisation"
	case detectors.PhaseCheckpoint:
		return "checkpoint"
	case detectors.PhaseLearnedPause:
		return "a pause as seen before"
	case detectors.PhaseEnded:
		return "ended"
	case detectors.PhaseGap:
		return "telemetry gap"
	case detectors.PhaseSuspended:
		return "suspended"
	case detectors.PhaseOutside:
		return "outside of collectives"
	case detectors.PhaseOneComputes:
		return "one rank computes"
	default:
		return ""
	}
}

// maxBlind bounds the list of what cannot be judged.
const maxBlind = 100

// blindness says in words what the tick could not judge.
func blindness(t *engine.Tick) []string {
	var out []string
	for _, g := range t.Snapshot.Gaps {
		out = append(out, g.String())
	}
	if t.Result != nil {
		if !t.Result.Whole {
			out = append(out, "too little was read to say that anything is over: incidents keep their state")
		}
		for _, h := range t.Result.Holds {
			text := h.Reason
			if h.Host != "" {
				text = "host " + h.Host + ": " + text
			}
			if h.Job != "" {
				text = "job " + h.Job + ": " + text
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxBlind)]
}

// job finds a job by its id.
func (s *State) job(id string) *Job {
	if s == nil || id == "" {
		return nil
	}
	for i := range s.Jobs {
		if s.Jobs[i].ID == id {
			return &s.Jobs[i]
		}
	}
	return nil
}
