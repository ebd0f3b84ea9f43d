package diagnosis

import (
	"fmt"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// efficiency tells which operation costs a job most for no good reason. It is a
// hint to the owner of a job that was never faster, so anything that could make
// it slow in another way silences it: device and fabric evidence, contention,
// and every verdict that leads.
func efficiency() Family { return Family{Name: "efficiency", Judge: judgeEfficiency} }

func judgeEfficiency(c *Case) []Hypothesis {
	var out []Hypothesis
	for _, x := range c.Pattern(detectors.BelowPossible) {
		job := c.Job(x.Job)
		if job == nil || job.Ended {
			continue
		}
		reason, ok := c.inefficiency(x)
		if !ok || c.fabricTrouble(job) || c.activity(job.ID).competes() {
			continue
		}
		out = append(out, c.inefficient(x, job, reason))
	}
	return out
}

// inefficiency is the reason of a finding; false if it is none.
func (c *Case) inefficiency(x *detectors.Finding) (string, bool) {
	for _, s := range c.Code(detectors.CodeSocketsOnly) {
		if s.Job == x.Job {
			return "tcp_fallback", true
		}
	}
	switch x.Code {
	case detectors.CodeSingleRail:
		return "single_rail", true
	case detectors.CodeSmallMessages:
		return "small_messages", true
	case detectors.CodeOtherAlgorithm:
		return "algorithm", true
	case detectors.CodeBelowBest:
		return "below_shape", true
	}
	// Far below the links and nothing else known: few fabrics reach their rate.
	return "", false
}

// competes says that the GPUs of a job are busier than they were.
func (a activity) competes() bool {
	return len(a.slow) > 0 && max(effect(a.sm), effect(a.dram)) >= contentionBusy
}

func (c *Case) inefficient(x *detectors.Finding, job *signals.Job, reason string) Hypothesis {
	h := newHypothesis(InefficientCollective, reason)
	h.Job, h.Jobs, h.Scope, h.StartedAt = job.ID, []string{job.ID}, "job", x.Since
	h.AffectedHosts, h.AffectedGPUs = len(job.Hosts), len(job.GPUs)
	h.Confidence = Medium
	h.Needs = []signals.ID{signals.CollExecTime}
	where := count(int(x.Entity.NRanks), "rank")
	if x.Entity.NNodes > 0 {
		where += " on " + count(int(x.Entity.NNodes), "node")
	}
	h.Evidence = append(h.Evidence, tell(x.Signal, x.Entity, true,
		"%s of %s over %s takes %s of the time of job %s at %s, %s of the %s that %s, and has done so since the job was first seen",
		x.Entity.Op, sizeText(x.Entity.Size), where, unitRatio.write(x.Share), job.ID,
		Human(x.Signal, x.Value), unitRatio.write(x.Value/x.Expected), Human(x.Signal, x.Expected), allows(x, reason)))
	if why := c.whyInefficient(x, reason); why != "" {
		h.Evidence = append(h.Evidence, tell(x.Signal, x.Entity, false, "%s", why))
	}
	h.Next, h.Command = nextEfficiency(x, reason)
	return h
}

// allows says what the bandwidth is compared with.
func allows(x *detectors.Finding, reason string) string {
	switch reason {
	case "algorithm":
		return fmt.Sprintf("other jobs of this shape reach with %s", x.Entity.Detail)
	case "below_shape":
		return "the best of the other jobs of this shape reaches"
	}
	return "the links of its hosts carry"
}

func (c *Case) whyInefficient(x *detectors.Finding, reason string) string {
	switch reason {
	case "tcp_fallback":
		return "its bytes go through sockets; its NICs carry nothing"
	case "single_rail":
		return fmt.Sprintf("on most of its hosts one NIC of %d carries nearly all bytes", x.Peers)
	case "small_messages":
		return "a message of this size is on its way for less time than its hops take to start"
	case "algorithm":
		return fmt.Sprintf("it runs with %s", x.Entity.Algo)
	case "below_shape":
		return fmt.Sprintf("compared with %s of the same shape and algorithm", count(x.Peers, "job"))
	}
	return ""
}

// nextEfficiency is the one setting or change to try first.
func nextEfficiency(x *detectors.Finding, reason string) (next, command string) {
	switch reason {
	case "tcp_fallback":
		return "see why the network plugin was not used: NCCL_NET, NCCL_IB_HCA, FI_PROVIDER, security groups", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"
	case "single_rail":
		return "let NCCL use all NICs: NCCL_IB_HCA, NCCL_CROSS_NIC, the devices that the container sees", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH"
	case "small_messages":
		return fmt.Sprintf("send fewer and larger %s: larger gradient buckets (bucket_cap_mb), fused or coalesced operations", x.Entity.Op), ""
	case "algorithm":
		return fmt.Sprintf("remove NCCL_ALGO and NCCL_PROTO if they are set, or try %s", x.Entity.Detail), "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING"
	}
	return "compare environment, library versions and placement with the faster job of this shape", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,TUNING"
}
