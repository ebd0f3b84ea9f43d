package diagnosis

import (
	"cmp"
	"slices"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// straggler blames the GPU or host that a job waits for, and tells lateness
// that belongs to nobody: lateness that changes its place, and stages that are
// heavier than others.
func straggler() Family { return Family{Name: "straggler", Judge: judgeStragglers} }

func judgeStragglers(c *Case) []Hypothesis {
	var out []Hypothesis
	byJob := map[string][]*detectors.Finding{}
	for _, f := range c.Pattern(detectors.Late) {
		byJob[f.Job] = append(byJob[f.Job], f)
	}
	for _, id := range sortedJobs(byJob) {
		if job := c.Job(id); job != nil && !job.Ended {
			out = append(out, c.lateHosts(job, byJob[id])...)
		}
	}
	for _, f := range c.Pattern(detectors.RotatingLate) {
		if len(byJob[f.Job]) == 0 {
			out = append(out, c.rotating(f))
		}
	}
	for _, f := range c.Pattern(detectors.LeastReceive) {
		out = append(out, c.heavyStage(f))
	}
	return out
}

func sortedJobs(m map[string][]*detectors.Finding) []string {
	out := make([]string, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

const (
	// hostWindows is the default of Options.
	hostWindows = 6
	// lateShare is the share of a job's hosts that may be late at once. More
	// is a pattern of the job, not of hosts.
	lateShare = 0.1
)

// lateHosts turns the late GPUs of a job into verdicts, one a host.
func (c *Case) lateHosts(job *signals.Job, late []*detectors.Finding) []Hypothesis {
	byHost := map[string][]*detectors.Finding{}
	for _, f := range late {
		if c.believable(f) {
			byHost[f.Entity.Host] = append(byHost[f.Entity.Host], f)
		}
	}
	if n := len(byHost); n > 1 && float64(n) > lateShare*float64(len(job.Hosts)) {
		return nil
	}
	var out []Hypothesis
	for _, host := range sortedJobs(byHost) {
		if h, ok := c.lateHost(job, host, byHost[host]); ok {
			out = append(out, h)
		}
	}
	return out
}

// believable says that lateness can be a fault: it began while the job was
// watched, or the group is known to have members of one role, or a fact of the
// host or GPU goes with it. Lateness since the start in a guessed group can be
// how the job is built.
func (c *Case) believable(f *detectors.Finding) bool {
	if f.Code != detectors.CodeLateSinceStart {
		return true
	}
	g := c.Group(f.Group)
	if g != nil && g.Kind == signals.GroupData && g.Derived >= signals.DerivedName {
		return true
	}
	reason, _ := c.hostReason(f.Entity.Host)
	return reason != "" || c.gpuFact(f.Entity.Thing()) != nil
}

// lateHost decides between a GPU, a host and nobody.
func (c *Case) lateHost(job *signals.Job, host string, late []*detectors.Finding) (Hypothesis, bool) {
	h := newHypothesis(StragglerCompute, "unexplained")
	h.Job, h.Jobs, h.Scope = job.ID, []string{job.ID}, "job"
	h.AffectedHosts, h.AffectedGPUs, h.JobSince = len(job.Hosts), len(job.GPUs), c.WatchedSince(job)
	h.Hosts, h.Needs = []string{host}, []signals.ID{signals.CollExecTime}
	here, windows := 0, late[0].Windows
	for _, g := range slices.Concat(job.GPUs, job.Ranks) {
		if g.Host == host {
			here++
		}
	}
	for _, f := range late {
		windows = min(windows, f.Windows)
		h.StartedAt = onset(h.StartedAt, f.Since)
		h.Groups = append(h.Groups, f.Group)
	}
	alike := lateDevices(late)
	reason, fact := c.hostReason(host)
	switch {
	case reason != "":
		if windows < c.opts.HostWindows/2 {
			return h, false
		}
		h.Reason, h.Confidence = reason, High
		h.Suspects, h.TieSet = []Suspect{{Kind: "node", Node: host, Score: 1}}, 1
		if len(alike) < here {
			h.Confidence = Medium
		}
	case len(late) == 1 && len(late[0].Alike) == 0:
		h.Confidence = Medium
		h.Suspects, h.TieSet = []Suspect{memberSuspect(late[0].Entity.Thing(), 1)}, 1
	case len(alike) >= here:
		if windows < c.opts.HostWindows {
			return h, false
		}
		h.Confidence = Medium
		h.Suspects, h.TieSet = []Suspect{{Kind: "node", Node: host, Score: 1}}, 1
	default:
		h.Confidence, h.TieSet = Low, len(alike)
		for _, device := range alike {
			h.Candidates = append(h.Candidates, Suspect{Kind: "gpu", Node: host, Device: device, Score: 1 / float64(len(alike))})
		}
	}
	h.Owner, h.Next, h.Command = straggleAdvice(h.Reason)
	h.Evidence = c.lateEvidence(job, late)
	if fact != nil {
		h.Evidence = append(h.Evidence, c.say(fact, true))
	}
	if len(alike) == 1 {
		c.gpuContention(&h, job, late[0])
	}
	return h, true
}

// lateDevices are the GPUs of a host that are late, the found ones and those
// that are late like them, sorted.
func lateDevices(late []*detectors.Finding) []string {
	var out []string
	for _, f := range late {
		out = append(out, f.Entity.Device)
		for _, g := range f.Alike {
			out = append(out, g.Device)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hostReason is what a host lacks while it is late, with the finding.
func (c *Case) hostReason(host string) (string, *detectors.Finding) {
	reasons := []struct{ code, reason string }{
		{detectors.CodeCPUPressure, "host_cpu"},
		{detectors.CodeIRQPressure, "host_cpu"},
		{detectors.CodeLoad, "host_cpu"},
		{detectors.CodeMemPressure, "host_memory"},
		{detectors.CodeIOPressure, "data_loading"},
	}
	for _, r := range reasons {
		if f := c.Has(hostEntity(host), r.code); f != nil {
			return r.reason, f
		}
	}
	return "", nil
}

// gpuFact is a finding of another kind about a GPU, nil if there is none.
func (c *Case) gpuFact(gpu signals.Entity) *detectors.Finding {
	for _, f := range c.On(gpu) {
		switch f.Code {
		case detectors.CodeClockBelow, detectors.CodeThrottleReason, detectors.CodeThrottleTime,
			detectors.CodePCIeWidth, detectors.CodePCIeGen, detectors.CodePCIeReplays, detectors.CodeRowRemap, detectors.CodeECC:
			return f
		}
	}
	return nil
}

// lateEvidence says how much less the suspect waits, and how many wait for it.
func (c *Case) lateEvidence(job *signals.Job, late []*detectors.Finding) []Evidence {
	shown := slices.Clone(late)
	slices.SortStableFunc(shown, func(a, b *detectors.Finding) int {
		return cmp.Compare(a.Value/a.Expected, b.Value/b.Expected)
	})
	var out []Evidence
	for i, f := range shown {
		if i == 3 {
			out = append(out, tell(f.Signal, f.Entity, false, "the same on %s of this host", count(len(shown)-3, "more GPU")))
			break
		}
		out = append(out, tell(f.Signal, f.Entity, i == 0,
			"%s: %s takes %s where its %s take %s: it arrives last and waits least, in %d windows in a row, and waits for nobody itself",
			f.Entity, f.Entity.Op, Human(f.Signal, f.Value), count(f.Peers, "peer"), Human(f.Signal, f.Expected), f.Windows))
	}
	if n := len(job.GPUs) - len(late); n > 0 {
		out = append(out, tell(signals.CollExecTime, jobEntity(job.ID), false,
			"the long times are those of GPUs that wait: the other %s of the job are victims", count(n, "GPU")))
	}
	return out
}

// straggleAdvice is who acts and what is next, by reason.
func straggleAdvice(reason string) (owner Owner, next, command string) {
	switch reason {
	case "host_cpu":
		return Platform, "find what else runs on this host, check the CPU affinity of data loaders and proxy threads", "ps -eo pcpu,psr,pid,args --sort=-pcpu | head -20"
	case "host_memory":
		return Platform, "find what uses the memory of this host; look for reclaim and swap", "cat /proc/pressure/memory; ps -eo rss,pid,args --sort=-rss | head -20"
	case "data_loading":
		return Workload, "look at the data loaders of this host and the storage behind them", "iostat -x 5 3; cat /proc/pressure/io"
	case "gpu_contention":
		return OwnerUnknown, "look for another process on this GPU and for reduced clocks; compare with its neighbour", "nvidia-smi -q -d PERFORMANCE,PIDS; nvidia-smi pmon -c 5"
	}
	return OwnerUnknown, "look at clocks, processes and CPU affinity of this GPU's rank; take a stack dump of it during a step", "nvidia-smi -q -d PERFORMANCE,PIDS; py-spy dump --pid PID"
}
