package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// inState lists the members of a job in one state, the earliest first.
func inState(p *detectors.JobProgress, state detectors.MemberState) []detectors.Member {
	var out []detectors.Member
	for _, m := range p.Members {
		if m.State == state {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b detectors.Member) int { return a.Since.Compare(b.Since) })
	return out
}

// causeSlack is how long after a job was seen to stand the state of its cause may
// show: values of GPUs are collected every 30 s and scraped every 30 s.
const causeSlack = 90 * time.Second

// causes lists the members in one state that may be why the job stands, the
// earliest first: they were in it when that was first seen, or soon after. Who
// gets into it later is a victim: a watchdog ends ranks one by one, and people
// attach debuggers to a job that hangs.
func causes(p *detectors.JobProgress, state detectors.MemberState) []detectors.Member {
	return slices.DeleteFunc(inState(p, state), func(m detectors.Member) bool { return m.Since.Sub(p.Seen) > causeSlack })
}

func memberHosts(members []detectors.Member) []string {
	var out []string
	for _, m := range members {
		out = append(out, m.Entity.Host)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// alignedEverywhere says that the same GPUs are freed on every host of a job:
// a parallel group that ended on purpose.
func alignedEverywhere(gone []detectors.Member, job *signals.Job) bool {
	if len(job.Hosts) < 2 {
		return false
	}
	per := map[string]int{}
	for _, m := range gone {
		per[m.Entity.Device]++
	}
	for _, n := range per {
		if n < len(job.Hosts) {
			return false
		}
	}
	return true
}

// blameMembers names a single member, or its host if all of it is in the same
// state; several of them are candidates.
func (c *Case) blameMembers(h *Hypothesis, members []detectors.Member, confidence Confidence) {
	things := make([]signals.Entity, len(members))
	for i, m := range members {
		things[i] = m.Entity
	}
	c.blame(h, things, confidence)
}

// blame names one GPU, one host if several of its GPUs are concerned and no
// other host's, or nobody with candidates.
func (c *Case) blame(h *Hypothesis, things []signals.Entity, confidence Confidence) {
	hosts := map[string]bool{}
	for _, e := range things {
		hosts[e.Host] = true
	}
	switch {
	case len(things) == 1:
		h.Suspects = []Suspect{memberSuspect(things[0], 1)}
	case len(hosts) == 1:
		h.Suspects = []Suspect{{Kind: "node", Node: things[0].Host, Score: 1}}
	default:
		h.Confidence, h.TieSet = Low, len(things)
		for _, e := range things {
			h.Candidates = append(h.Candidates, memberSuspect(e, 1/float64(len(things))))
		}
		return
	}
	h.Confidence, h.TieSet = confidence, 1
}

// memberSuspect is a GPU, a rank whose GPU nobody tells, or the host where not
// even that is known.
func memberSuspect(e signals.Entity, score float64) Suspect {
	s := Suspect{Kind: "gpu", Node: e.Host, Device: e.Device, Score: score}
	switch {
	case e.Kind == signals.KindRank:
		s.Kind = "rank"
	case e.Device == "":
		s.Kind = "node"
	}
	return s
}

func names(things []signals.Entity) string {
	out := make([]string, len(things))
	for i, e := range things {
		out[i] = e.String()
	}
	return strings.Join(out, ", ")
}

// memberCounts says what the members of a standing job do.
func memberCounts(p *detectors.JobProgress) []Evidence {
	words := map[detectors.MemberState][2]string{ // of one, of several
		detectors.StateWaiting: {"spins in a collective", "spin in a collective"}, detectors.StateIdle: {"is idle", "are idle"},
		detectors.StateGone: {"has no process", "have no process"}, detectors.StateLost: {"vanished", "vanished"},
		detectors.StateStopped: {"is stopped", "are stopped"}, detectors.StateUnknown: {"cannot be judged", "cannot be judged"},
		detectors.StateTraining: {"works", "work"},
	}
	what := memberWord(p)
	var parts []string
	for state := detectors.StateUnknown; state <= detectors.StateStopped; state++ {
		if n := len(inState(p, state)); n > 0 && words[state][1] != "" {
			parts = append(parts, count(n, what)+" "+words[state][min(n, 2)-1])
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []Evidence{tell(signals.GPUUtil, jobEntity(p.Job), false, "of the job %s", strings.Join(parts, ", "))}
}

// memberWord is what the members of a job are called.
func memberWord(p *detectors.JobProgress) string {
	for _, m := range p.Members {
		if m.Entity.Kind != signals.KindRank {
			return "GPU"
		}
	}
	return "rank"
}

// storage turns a stall whose checkpoint excuse ran out into one of storage.
func (c *Case) storage(h *Hypothesis, job *signals.Job, p *detectors.JobProgress) {
	h.Reason, h.Owner, h.Confidence = "storage_suspected", Platform, Medium
	h.Suspects, h.Candidates, h.TieSet = nil, nil, 0
	h.Evidence = append(h.Evidence, tell(signals.HostIOPressure, jobEntity(job.ID), true,
		"it began like a checkpoint, with I/O on hosts of the job, and has not ended after %s", Span(c.Now.Sub(p.PhaseSince))))
	h.Next = "look at the storage that the checkpoint is written to; no GPU host is to blame"
	h.Command = "cat /proc/pressure/io; nfsiostat; lfs df -h"
}

// initStalled is a job that holds memory and never communicated.
func (c *Case) initStalled(job *signals.Job, p *detectors.JobProgress) Hypothesis {
	h := newHypothesis(InitStall, "slow_init")
	h.Job, h.Jobs, h.Scope, h.StartedAt = job.ID, []string{job.ID}, "job", p.PhaseSince
	h.AffectedHosts, h.AffectedGPUs = len(job.Hosts), len(job.GPUs)
	h.Confidence = Medium
	h.Needs = []signals.ID{signals.InspectorAge}
	h.Evidence = []Evidence{tell(signals.GPUMemUsed, jobEntity(job.ID), true,
		"the job holds GPU memory for %s and has not communicated yet", Span(c.Now.Sub(p.PhaseSince)))}
	return h
}
