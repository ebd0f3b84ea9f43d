package diagnosis

import (
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// hungByFact says that what stands behind a job whose slower clocks are not
// known to stand yet is beyond doubt: no pause has a dead process, one that
// somebody stopped, or a GPU that the driver gave up.
func (c *Case) hungByFact(job *signals.Job, p *detectors.JobProgress) bool {
	if len(causes(p, detectors.StateStopped)) > 0 {
		return true
	}
	for _, m := range causes(p, detectors.StateGone) {
		if m.Process == detectors.ProcessDead {
			return true
		}
	}
	for _, g := range job.GPUs {
		for _, f := range c.On(g) {
			if f.Code == detectors.CodeXid && c.xidClass(int(f.Value)).Hardware() && !f.Since.Before(p.Since.Add(-reasonSlack)) {
				return true
			}
		}
	}
	return false
}

// awaited says that somebody waits for ranks that are gone. One whose process
// was killed is beyond doubt. Others may have ended on purpose while the rest
// saves or uploads what they made: then nobody spins in a collective.
func awaited(p *detectors.JobProgress, gone []detectors.Member) bool {
	if gone[0].Process == detectors.ProcessDead || len(inState(p, detectors.StateWaiting)) > 0 {
		return true
	}
	return len(inState(p, detectors.StateIdle)) == 0 // else nobody tells what the rest does
}

// stallByExit blames a rank whose process is gone while the others hold their
// memory.
func (c *Case) stallByExit(h *Hypothesis, job *signals.Job, p *detectors.JobProgress) bool {
	gone := causes(p, detectors.StateGone)
	if len(gone) == 0 || float64(len(gone)) > max(1, 0.5*float64(len(p.Members))) || alignedEverywhere(gone, job) || !awaited(p, gone) {
		return false
	}
	h.Reason, h.Owner = "rank_exited", Workload
	h.Next = "read the log of that rank: its process ended while the others went on; then restart the job"
	h.Command = ""
	confidence := High
	if gone[0].Process == detectors.ProcessLeft {
		confidence = Medium // its exporter may have forgotten it
	}
	c.blameMembers(h, gone, confidence)
	h.Evidence = append(h.Evidence, exitEvidence(gone[0], len(p.Members)-len(gone)))
	for _, host := range memberHosts(gone) {
		if f := c.Has(hostEntity(host), detectors.CodeOOM); f != nil && !f.Since.Before(p.Since.Add(-reasonSlack)) {
			h.Owner = Platform
			h.Next = "the kernel killed a process of " + host + " for lack of host memory: find what used it"
			h.Command = "dmesg -T | grep -i 'out of memory'"
			h.Evidence = append(h.Evidence, c.say(f, true))
		}
	}
	return true
}

// exitEvidence says how it is known that the process of a rank is gone.
func exitEvidence(m detectors.Member, others int) Evidence {
	rest := count(others, "other rank")
	switch m.Process {
	case detectors.ProcessDead:
		return tell(signals.ProcessUp, m.Entity, true, "%s: its process died and %s did not", m.Entity, rest)
	case detectors.ProcessLeft:
		return tell(signals.ProcessUp, m.Entity, true, "%s: its process is not there any more, and %s are", m.Entity, rest)
	}
	return tell(signals.GPUMemUsed, m.Entity, true, "%s freed its memory: its process is gone, while %s hold theirs", m.Entity, rest)
}

// stallByStop blames a rank whose process somebody stopped while the others run.
func (c *Case) stallByStop(h *Hypothesis, p *detectors.JobProgress) bool {
	stopped := causes(p, detectors.StateStopped)
	if len(stopped) == 0 || 2*len(stopped) > len(p.Members) {
		return false
	}
	h.Reason, h.Owner = "rank_behind", OwnerUnknown
	c.blameMembers(h, stopped, High)
	things := make([]signals.Entity, len(stopped))
	for i, m := range stopped {
		things[i] = m.Entity
	}
	h.Evidence = append(h.Evidence, tell(signals.ProcessStopped, things[0], true,
		"%s: stopped by a signal or a debugger, while %s of the job run", names(things), count(len(p.Members)-len(stopped), "other process")))
	h.Next = "find who stopped it (a debugger, a stack dump, a suspend of the scheduler), and let it go on"
	h.Command = "ps -eo pid,stat,args | awk '$2 ~ /^[Tt]/'"
	return true
}
