package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// stall judges jobs that stand still, and jobs that never start.
func stall() Family { return Family{Name: "stall", Judge: judgeStalls} }

const (
	// stallFact, stallMinority and stallAlike are the defaults of Options. A pause of a checkpoint without any sign of I/O
	// takes up to 150 s.
	stallFact     = 60 * time.Second
	stallMinority = 120 * time.Second
	stallAlike    = 180 * time.Second
	// minority is the share of a job's GPUs that can be suspect for being in
	// another state than the rest.
	minority = 0.1
)

func judgeStalls(c *Case) []Hypothesis {
	var out []Hypothesis
	for i := range c.Report.Progress {
		p := &c.Report.Progress[i]
		job := c.Job(p.Job)
		if job == nil || job.Ended {
			continue
		}
		switch {
		case p.Stalled || p.Hung:
			if h, ok := c.standsStill(job, p); ok {
				out = append(out, h)
			}
		case p.Phase == detectors.PhaseInit && !p.PhaseUntil.IsZero() && c.Now.After(p.PhaseUntil):
			out = append(out, c.initStalled(job, p))
		}
	}
	return out
}

// standsStill explains a standing job, if it has stood long enough for what is
// known.
func (c *Case) standsStill(job *signals.Job, p *detectors.JobProgress) (Hypothesis, bool) {
	h := newHypothesis(CollectiveStall, "all_alike")
	h.Job, h.Jobs, h.Scope, h.StartedAt = job.ID, []string{job.ID}, "job", p.Since
	h.AffectedHosts, h.AffectedGPUs = len(job.Hosts), len(job.GPUs)
	h.Needs = []signals.ID{signals.InspectorAge}
	h.Evidence = append(h.Evidence, c.standing(p))
	stood := c.Now.Sub(p.Since)
	least, sure := c.stallReason(&h, job, p)
	if !sure {
		if !p.Stalled {
			return h, false
		}
		switch p.Phase {
		case detectors.PhaseLearnedPause:
			return h, false
		case detectors.PhaseOutside, detectors.PhaseOneComputes:
			if c.Now.Before(p.PhaseUntil) {
				return h, false
			}
		case detectors.PhaseCheckpoint:
			if c.Now.Before(p.PhaseUntil) {
				return h, false
			}
			c.storage(&h, job, p)
		}
	}
	if len(h.Suspects) > 0 {
		h.Hosts = []string{h.Suspects[0].Node}
		h.Covers = append(h.Covers, h.Suspects[0].entity())
	}
	h.Evidence = append(h.Evidence, memberCounts(p)...)
	h.Evidence = append(h.Evidence, witnesses(&h, p)...)
	return h, stood >= least
}

// stallReason looks for what stands behind a stall, the strongest evidence
// first, and returns how long the job must stand for it to be reported. It is
// sure if no pause looks like it: a rank that has not begun what others wait in
// may also write a checkpoint for all of them.
func (c *Case) stallReason(h *Hypothesis, job *signals.Job, p *detectors.JobProgress) (least time.Duration, sure bool) {
	switch {
	case !p.Stalled && !c.hungByFact(job, p):
		return 0, false
	case c.stallByGPU(h, job, p), c.stallByExit(h, job, p), c.stallByStop(h, p):
		if p.Hung && c.hungByFact(job, p) {
			return c.opts.StallFact / 2, true
		}
		return c.opts.StallFact, p.Stalled
	case c.stallByGraph(h, job, p):
		return c.opts.StallFact, p.Stalled && h.Reason != "rank_behind"
	case c.stallByMinority(h, job, p), c.stallByNetwork(h, job, p):
		return c.opts.StallMinority, false
	}
	h.Confidence = Unknown
	if len(p.Clocks) == 1 && p.Clocks[0].Name == detectors.ClockInspector {
		// Nothing distinguishes the two, and a hang must not be missed.
		h.Evidence = append(h.Evidence, tell(signals.InspectorAge, jobEntity(p.Job), true,
			"files of the Inspector are all that is known of the job, and one that was killed leaves them too"))
		h.Next = "see whether the job still runs; if it does: " + h.Next
		h.Command = "squeue; kubectl get pods; nvidia-smi"
	}
	return c.opts.StallAlike, false
}

// stallByGPU blames a GPU with a hardware Xid, or one that vanished.
func (c *Case) stallByGPU(h *Hypothesis, job *signals.Job, p *detectors.JobProgress) bool {
	type fault struct {
		gpu signals.Entity
		f   *detectors.Finding
		xid bool
	}
	var faults []fault
	for _, g := range job.GPUs {
		var own fault
		for _, f := range c.On(g) {
			if f.Since.Before(p.Since.Add(-reasonSlack)) {
				continue
			}
			late := f.Since.Sub(p.Seen)
			switch {
			case f.Code == detectors.CodeXid && c.xidClass(int(f.Value)).Hardware() && late <= memberSlack:
				own = fault{g, f, true}
			case f.Pattern == detectors.Vanished && own.f == nil && late <= causeSlack:
				own = fault{g, f, false}
			}
		}
		if own.f != nil {
			faults = append(faults, own)
		}
	}
	if len(faults) == 0 {
		return false
	}
	slices.SortStableFunc(faults, func(a, b fault) int {
		if a.xid != b.xid {
			if a.xid {
				return -1
			}
			return 1
		}
		return a.f.Since.Compare(b.f.Since)
	})
	h.Reason, h.Owner = "gpu_fault", Infrastructure
	first := faults[0]
	if n := len(faults); n > 1 && (!first.xid || faults[1].xid) && faults[1].f.Since.Sub(first.f.Since) <= samplingSlack {
		h.Confidence, h.TieSet = Low, n
		for _, x := range faults {
			h.Candidates = append(h.Candidates, Suspect{Kind: "gpu", Node: x.gpu.Host, Device: x.gpu.Device, Score: 1 / float64(n)})
			h.Evidence = append(h.Evidence, c.say(x.f, false))
		}
		return true
	}
	h.Suspects, h.TieSet, h.Confidence = []Suspect{{Kind: "gpu", Node: first.gpu.Host, Device: first.gpu.Device, Score: 1}}, 1, Medium
	if first.xid {
		h.Confidence = High
		h.Evidence = append(h.Evidence, tell(signals.GPUXid, first.gpu, true, "%s: Xid %d, %s", first.gpu, int(first.f.Value), c.xidClass(int(first.f.Value))))
		h.Next = xidAction(int(first.f.Value)) + "; " + h.Next
		return true
	}
	h.Evidence = append(h.Evidence, tell(first.f.Signal, first.gpu, true,
		"%s: all its series vanished while the other GPUs of %s go on reporting", first.gpu, first.gpu.Host))
	return true
}

// nameable says that ranks that are behind can be named: one, a small minority,
// or only such of one host of several.
func nameable(behind []signals.Entity, job *signals.Job, p *detectors.JobProgress) bool {
	switch n := len(behind); {
	case n == 0:
		return false
	case n == 1 || float64(n) <= minority*float64(len(p.Members)):
		return true
	case len(job.Hosts) < 2:
		return false
	}
	for _, e := range behind {
		if e.Host != behind[0].Host {
			return false
		}
	}
	return true
}

// works says that one of the things computes: a rank that evaluates for all of
// them has not begun what the others wait in either.
func works(p *detectors.JobProgress, things []signals.Entity) bool {
	return slices.ContainsFunc(p.Members, func(m detectors.Member) bool {
		return m.State == detectors.StateTraining && slices.Contains(things, m.Entity)
	})
}

// stallByGraph blames the ranks that per-rank counters show behind.
func (c *Case) stallByGraph(h *Hypothesis, job *signals.Job, p *detectors.JobProgress) bool {
	switch {
	case !p.Graph:
		return false
	case len(p.Mismatch) > 0:
		h.Reason, h.Owner = "signature_mismatch", Workload
		c.blame(h, p.Mismatch, High)
		h.Evidence = append(h.Evidence, tell(signals.CollSequence, p.Mismatch[0], true,
			"at the same position %s entered another operation, size or type than the others", names(p.Mismatch)))
		h.Next = "compare the code path and batch shape of these ranks with the others"
		return true
	case nameable(p.Behind, job, p) && p.BehindSince.Sub(p.Seen) <= causeSlack && !works(p, p.Behind):
		h.Reason, h.Owner = "rank_behind", OwnerUnknown
		c.blame(h, p.Behind, High)
		h.Evidence = append(h.Evidence, tell(signals.CollSequence, p.Behind[0], true,
			"%s has not begun the operation in which the others wait, and waits for nobody; its count does not move", names(p.Behind)))
		h.Next = "take a stack dump of this rank first; " + h.Next
		return true
	case p.Cycle:
		h.Reason, h.Owner, h.Confidence = "order_deadlock", Workload, High
		h.Evidence = append(h.Evidence, tell(signals.CollSequence, jobEntity(p.Job), true,
			"ranks wait for each other in different communicators and nobody is missing: the order of the operations differs between ranks"))
		h.Next = "compare the order of collectives in the code paths of the ranks"
		return true
	}
	return false
}

// stallByMinority blames the few members that idle while most spin.
func (c *Case) stallByMinority(h *Hypothesis, _ *signals.Job, p *detectors.JobProgress) bool {
	idle, waiting := causes(p, detectors.StateIdle), inState(p, detectors.StateWaiting)
	if len(idle) == 0 || 2*len(waiting) < len(p.Members) {
		return false
	}
	if hosts := memberHosts(idle); len(idle) > 1 && (len(hosts) > 1 || len(idle)*2 > len(p.Members)) {
		return false
	}
	h.Reason, h.Owner = "rank_behind", OwnerUnknown
	c.blameMembers(h, idle, Medium)
	h.Evidence = append(h.Evidence, tell(signals.GPUUtil, idle[0].Entity, true,
		"%s idles with its memory held, while %s spin in a collective: it is stuck outside of NCCL", idle[0].Entity, count(len(waiting), "other GPU")))
	h.Next = "take a stack dump of this rank first; " + h.Next
	return true
}

// stallByNetwork reports that everybody waits beside a fault of a link. Who is
// to blame is the matter of that fault's own verdict.
func (c *Case) stallByNetwork(h *Hypothesis, job *signals.Job, p *detectors.JobProgress) bool {
	for _, host := range job.Hosts {
		for _, f := range c.OnHost(host) {
			fact := f.Pattern == detectors.Fact || f.Pattern == detectors.Event || f.Pattern == detectors.Errors
			nic := c.thing(f.Entity)
			if nic.Kind == signals.KindNIC && fact && !c.strange(nic) && !c.beside(nic, job.ID) && !f.Since.Before(p.Since.Add(-memberSlack)) {
				h.Reason, h.Owner, h.Confidence = "network_no_progress", Infrastructure, Low
				h.Evidence = append(h.Evidence, c.say(f, false))
				return true
			}
		}
	}
	return false
}

// standing is the evidence that a job stands still.
func (c *Case) standing(p *detectors.JobProgress) Evidence {
	var words []string
	for _, k := range p.Clocks {
		if k.Running {
			continue // it only lags, see JobProgress.Hung
		}
		words = append(words, fmt.Sprintf("%s since %s", strings.ReplaceAll(k.Name, "_", " "), k.Stopped.UTC().Format("15:04:05")))
	}
	return tell(signals.InspectorAge, jobEntity(p.Job), true, "no progress for %s on any of %s: %s",
		Span(c.Now.Sub(p.Since)), count(len(words), "clock"), strings.Join(words, ", ")+" UTC")
}
