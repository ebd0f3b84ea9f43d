package diagnosis

import (
	"slices"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// gpuContention looks whether the transfers that include a late GPU are slow as
// well. Copy kernels share the GPU with the computation: late and slow together
// is a GPU that does not get on, not only a rank with more to do. In a recorded
// job with one slowed GPU the collectives with it took 2.1 to 2.2 times those of
// the other groups. A slow NIC would do the same to its groups, so that nothing
// is concluded beside a finding about a NIC of the host.
func (c *Case) gpuContention(h *Hypothesis, job *signals.Job, late *detectors.Finding) {
	gpu := late.Entity.Thing()
	var with, without []*detectors.Finding
	for _, f := range c.OfJob(job.ID) {
		if f.Pattern != detectors.SlowTransfer {
			continue
		}
		if g := c.Group(f.Group); g != nil && slices.Contains(g.Members, gpu) {
			with = append(with, f)
		} else {
			without = append(without, f)
		}
	}
	if len(with) == 0 || len(without) >= len(with) || c.nicTrouble(gpu.Host) {
		return
	}
	for _, f := range with {
		against := "before"
		if f.Peers > 0 {
			against = "in " + count(f.Peers, "group") + " of the same role"
		}
		h.Evidence = append(h.Evidence, tell(f.Signal, f.Entity, false,
			"contention on the GPU: %s of %s, which includes %s, needs %s at least, against %s %s (%s times)",
			f.Entity.Op, groupName(c.Group(f.Group)), gpu, Human(f.Signal, f.Value), Human(f.Signal, f.Expected), against, figure(f.Value/f.Expected)))
	}
	if h.Reason == "unexplained" {
		h.Reason = "gpu_contention"
		h.Owner, h.Next, h.Command = straggleAdvice(h.Reason)
	}
	if !c.Offered(signals.GPUSMClock) {
		h.Evidence = append(h.Evidence, tell(signals.GPUSMClock, gpu, false,
			"there are no GPU series here: whether clock, power or another process is the reason cannot be told"))
	}
}

// nicTrouble says whether anything is known about a NIC of a host.
func (c *Case) nicTrouble(host string) bool {
	for _, f := range c.OnHost(host) {
		if f.Entity.Kind != signals.KindNIC {
			continue
		}
		switch f.Pattern {
		case detectors.Fact, detectors.Errors, detectors.Congestion, detectors.PeerOutlier, detectors.Event:
			return true
		}
	}
	return false
}

func groupName(g *signals.Group) string {
	if g == nil || g.Comm == "" || g.Comm == "unknown" {
		return "the group"
	}
	return g.Comm
}

// rotating is lateness that belongs to nobody.
func (c *Case) rotating(f *detectors.Finding) Hypothesis {
	h := newHypothesis(RotatingStraggler, "data_imbalance")
	h.Job, h.Jobs, h.Scope, h.StartedAt = f.Job, []string{f.Job}, "job", f.Since
	h.Needs = []signals.ID{signals.CollExecTime}
	h.Evidence = []Evidence{tell(f.Signal, f.Entity, true,
		"somebody is late in %s of the windows, on %s in turn, and nobody stays late", unitRatio.write(min(f.Value, 1)), count(f.Peers, "host"))}
	return h
}

// heavyStage is a pipeline stage with more to do than the others.
func (c *Case) heavyStage(f *detectors.Finding) Hypothesis {
	h := newHypothesis(RoleImbalance, "stage")
	h.Job, h.Jobs, h.Scope, h.StartedAt = f.Job, []string{f.Job}, "job", f.Since
	h.Needs = []signals.ID{signals.P2PExecTime}
	g := c.Group(f.Group)
	name := groupName(g)
	h.Evidence = []Evidence{tell(f.Signal, f.Entity, true,
		"the stage of %s receives after %s where the next one needs %s, in all %s alike: the pipeline waits for this stage, which is how the model is cut and no fault of a part",
		name, Human(f.Signal, f.Value), Human(f.Signal, f.Expected), count(f.Peers, "replica"))}
	if g != nil {
		for _, m := range g.Members {
			h.Evidence = append(h.Evidence, tell(f.Signal, m, false, "%s works for this stage", m))
		}
	}
	return h
}
