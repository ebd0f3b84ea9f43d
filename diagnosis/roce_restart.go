package diagnosis

import (
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// roceHosts remembers which hosts have RoCE: their NICs were seen to mark,
// answer marks or be paused, which no healthy InfiniBand port does.
type roceHosts map[string]bool

func (r roceHosts) learn(s *signals.Snapshot) {
	for _, id := range []signals.ID{signals.NICECNReceived, signals.NICCNPSent, signals.NICCNPHandled, signals.NICPauseRx} {
		f := s.Frames[id]
		for i := range f.Len() {
			if f.Value[i] > 0 {
				r[s.Entities.Of(f.Entity[i]).Host] = true
			}
		}
	}
}

const (
	// restartSlow is how much slower than the job of the same shape before it
	// all transfers of a job must be: two heavy flows that share one of four
	// uplinks lose 40 %.
	restartSlow = 0.3
	// restartIdle is the least fall of tensor activity: GPUs that wait for the
	// network work less, those that compute in its way do not.
	restartIdle = 0.05
)

// slowSinceRestart judges jobs over RoCE whose transfers are all much slower
// than in the job of the same shape before, while nothing is wrong with any
// device: flows are spread over the uplinks anew with each start, and can meet.
// It stays a notice, because nothing here sees the uplinks.
func (c *Case) slowSinceRestart(roce roceHosts) []Hypothesis {
	var out []Hypothesis
	for _, job := range c.Snapshot.Jobs {
		if job.Ended || len(job.Hosts) < 2 || c.fabricTrouble(job) {
			continue
		}
		with := 0
		for _, h := range job.Hosts {
			if roce[h] {
				with++
			}
		}
		a := c.activity(job.ID)
		if 2*with <= len(job.Hosts) || len(a.slow) == 0 || a.competes() || effect(a.tensor) > -restartIdle {
			continue
		}
		h := newHypothesis(RoCECongestion, "uplink_suspected")
		all := true
		for _, x := range a.slow {
			all = all && x.Pattern == detectors.BaselineShape && x.Effect() >= restartSlow
			h.Evidence = append(h.Evidence, sayProfile(x))
		}
		if !all {
			continue
		}
		h.Severity, h.Confidence = Info, Low
		h.Job, h.Jobs, h.Scope, h.StartedAt = job.ID, []string{job.ID}, "job", a.slow[0].Since
		h.AffectedHosts, h.AffectedGPUs = len(job.Hosts), len(job.GPUs)
		h.Needs = []signals.ID{signals.CollExecTime}
		h.Evidence = append(h.Evidence, sayProfile(a.tensor), tell(signals.SwitchPortTx, jobEntity(job.ID), false,
			"all members alike, and no error or congestion at any of their NICs: flows may share an uplink since the start of the job; no series shows the uplinks"))
		out = append(out, h)
	}
	return out
}
