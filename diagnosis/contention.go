package diagnosis

import (
	"slices"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// contention judges jobs whose computation and communication are in each
// other's way. The whole job communicates slower while its GPUs are busier: SM
// and DRAM activity rise and tensor activity holds. A slow network does the
// opposite: the GPUs wait, so that DRAM and tensor activity fall.
func contention() Family { return Family{Name: "contention", Judge: judgeContention} }

const (
	// contentionSlow is the least slowness of the transfers of a job,
	// contentionBusy the least rise of SM or DRAM activity, contentionHold how
	// much tensor activity may fall, contentionMore how much it may rise.
	contentionSlow = 0.15
	contentionBusy = 0.05
	contentionHold = 0.05
	contentionMore = 0.15
)

func judgeContention(c *Case) []Hypothesis {
	var out []Hypothesis
	for _, job := range c.Snapshot.Jobs {
		if !job.Ended {
			if h, ok := c.contends(job); ok {
				out = append(out, h)
			}
		}
	}
	return out
}

// activity is what the profile of a job says.
type activity struct {
	slow                   []*detectors.Finding
	sm, dram, tensor, step *detectors.Finding
}

func (c *Case) activity(job string) activity {
	var a activity
	for _, f := range c.OfJob(job) {
		if f.Detector != "profile" {
			continue
		}
		switch f.Signal {
		case signals.CollExecTime:
			if f.Effect() >= contentionSlow {
				a.slow = append(a.slow, f)
			}
		case signals.GPUSMActive:
			a.sm = f
		case signals.GPUDRAMActive:
			a.dram = f
		case signals.GPUTensorActive:
			a.tensor = f
		case signals.StepTime:
			a.step = f
		}
	}
	return a
}

// effect is the relative change of a finding, 0 if there is none.
func effect(f *detectors.Finding) float64 {
	if f == nil {
		return 0
	}
	return f.Effect()
}

func (c *Case) contends(job *signals.Job) (Hypothesis, bool) {
	a := c.activity(job.ID)
	rise := max(effect(a.sm), effect(a.dram))
	// Where tensor activity rose with them, the GPUs only do more: what was
	// before was a start or a pause.
	busier := rise >= contentionBusy && effect(a.tensor) < min(rise/2, contentionMore)
	falls := effect(a.sm) < 0 || effect(a.dram) < 0 || effect(a.tensor) < -contentionHold
	if len(a.slow) == 0 || !busier || falls || c.fabricTrouble(job) || c.rotates(job.ID) {
		return Hypothesis{}, false
	}
	reason := "sm_sharing"
	if effect(a.dram) > effect(a.sm) {
		reason = "memory_bandwidth"
	}
	h := newHypothesis(ComputeCommContention, reason)
	h.Job, h.Jobs, h.Scope, h.StartedAt = job.ID, []string{job.ID}, "job", a.slow[0].Since
	h.AffectedHosts, h.AffectedGPUs = len(job.Hosts), len(job.GPUs)
	h.Confidence = Medium
	h.Needs = []signals.ID{signals.CollExecTime, signals.GPUSMActive}
	if c.Offered(signals.StepTime) && effect(a.step) <= 0 {
		h.Severity = Info
	}
	for _, f := range append(a.slow, a.sm, a.dram, a.tensor, a.step) {
		if f != nil {
			h.Evidence = append(h.Evidence, sayProfile(f))
		}
	}
	h.Evidence = append(h.Evidence, tell(signals.NICTx, jobEntity(job.ID), false,
		"all hosts alike, and no error, congestion or link event on any of their NICs: the network is not the reason"))
	return h, true
}

// rotates says that one rank and then another is late. Whoever waits least within
// a window has waited as well then, so that the least time over a group is not
// that of a transfer.
func (c *Case) rotates(job string) bool {
	return slices.ContainsFunc(c.Pattern(detectors.RotatingLate), func(f *detectors.Finding) bool { return f.Job == job })
}

// sayProfile is a line of a job's profile in words.
func sayProfile(f *detectors.Finding) Evidence {
	what := phrases(f.Signal).name
	if f.Entity.Op != "" {
		what = f.Entity.Op + " of " + sizeText(f.Entity.Size) + " across hosts"
	}
	before := "before"
	if f.Pattern == detectors.BaselineShape {
		before = "in job " + f.Entity.Detail + " of the same shape"
	}
	return tell(f.Signal, f.Entity, f.Signal == signals.CollExecTime, "%s: %s against %s %s",
		what, Human(f.Signal, f.Value), Human(f.Signal, f.Expected), before)
}

// fabricTrouble says whether anything is known about the NICs or links of a
// job's hosts, or about a part of its groups only.
func (c *Case) fabricTrouble(job *signals.Job) bool {
	if slices.ContainsFunc(job.Hosts, c.nicTrouble) {
		return true
	}
	for _, f := range c.Report.Findings {
		if f.Entity.Kind == signals.KindSwitchPort && (f.Pattern == detectors.Errors || f.Pattern == detectors.Congestion) {
			return true
		}
	}
	return false
}
