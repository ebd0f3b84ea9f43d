package diagnosis

import (
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// pcieFamily judges the PCIe link of GPUs: lanes or generation below the peers
// of the job under load, or replays that slow the rail.
func pcieFamily() Family {
	return Family{Name: "pcie", Judge: func(c *Case) []Hypothesis {
		things, by := c.ofCode(detectors.CodePCIeWidth, detectors.CodePCIeGen, detectors.CodePCIeReplays)
		var out []Hypothesis
		for _, gpu := range things {
			if c.excused(gpu.Host, c.opts.BootGrace) {
				continue
			}
			if h, ok := c.pcie(gpu, by[gpu]); ok {
				out = append(out, h)
			}
		}
		return out
	}}
}

func (c *Case) pcie(gpu signals.Entity, findings []*detectors.Finding) (Hypothesis, bool) {
	reason, replays := "", false
	var evidence []Evidence
	for _, x := range findings {
		switch x.Code {
		case detectors.CodePCIeWidth:
			reason = "width"
		case detectors.CodePCIeGen:
			if reason == "" {
				reason = "generation"
			}
		case detectors.CodePCIeReplays:
			replays = x.Windows >= 3
		}
		evidence = append(evidence, c.say(x, x.Code != detectors.CodePCIeReplays))
	}
	slow, effect := c.SlowGroups(gpu)
	conf := High
	if reason == "" {
		if !replays || len(slow) == 0 {
			return Hypothesis{}, false
		}
		reason, conf = "replays", Medium
	}
	since := findings[0].Since
	for _, x := range findings {
		since = onset(since, x.Since)
	}
	h := c.about(PCIeDegraded, reason, gpu, since)
	h.Confidence, h.Evidence = conf, evidence
	h.Needs = []signals.ID{signals.GPUPCIeWidth}
	if len(slow) > 0 {
		h.Groups = slow
		h.Evidence = append(h.Evidence, tell(signals.CollExecTime, gpu, false, "%s", slowUsers(len(slow), effect)))
	}
	return h, true
}
