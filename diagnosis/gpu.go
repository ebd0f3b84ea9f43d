package diagnosis

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// gpuFamily judges GPUs that are broken by a fact: a hardware Xid, spare memory
// rows used up, or series that are gone while the siblings' go on. A fact about
// many GPUs of an NVLink domain is a fault of the domain.
func gpuFamily() Family {
	return Family{Name: "gpu", Judge: func(c *Case) []Hypothesis {
		facts := c.gpuFacts()
		out, rest := c.domains(facts)
		return append(out, c.broken(rest)...)
	}}
}

// gpuFact is what speaks against one GPU.
type gpuFact struct {
	gpu      signals.Entity
	reason   string
	since    time.Time
	codes    []int
	conf     Confidence
	severity Severity
	action   string
	evidence []Evidence
}

// gpuFacts collects what speaks against each GPU. Application Xids and those of
// teardown say nothing about hardware.
func (c *Case) gpuFacts() []gpuFact {
	things, by := c.ofCode(detectors.CodeXid, detectors.CodeRowRemap, detectors.CodeECC, detectors.CodeGPUVanished)
	var out []gpuFact
	for _, gpu := range things {
		if c.restarted(gpu.Host, c.opts.BootGrace) != nil || c.Has(hostEntity(gpu.Host), detectors.CodeDrained) != nil {
			continue
		}
		if f := c.against(gpu, by[gpu]); f.reason != "" {
			out = append(out, f)
		}
	}
	return out
}

func (c *Case) against(gpu signals.Entity, findings []*detectors.Finding) gpuFact {
	f := gpuFact{gpu: gpu, severity: Critical, action: "act by code"}
	for _, x := range findings {
		switch x.Code {
		case detectors.CodeXid:
			c.xidFact(&f, x)
		case detectors.CodeRowRemap:
			f.set("row_remap_failure", x.Since, High)
			f.evidence = append(f.evidence, tell(x.Signal, gpu, true, "%s: row remapping failed, no spare memory rows are left", gpu))
			f.action = "replace the GPU"
		case detectors.CodeECC:
			f.set("ecc", x.Since, High)
			f.evidence = append(f.evidence, tell(x.Signal, gpu, true, "%s: %s uncorrectable memory errors", gpu, figure(x.Count)))
			f.action = "reset the GPU"
		}
	}
	for _, x := range findings {
		if x.Code == detectors.CodeGPUVanished {
			if f.reason == "" {
				f.set("gpu_lost", x.Since, Medium)
				f.action = "reboot the host"
			}
			f.evidence = append(f.evidence, tell(x.Signal, gpu, true, "%s: not reported for %s while its %d siblings on the host are", gpu, Span(c.Now.Sub(x.Since)), x.Peers))
		}
	}
	return f
}

func (f *gpuFact) set(reason string, since time.Time, conf Confidence) {
	if f.reason == "" || conf > f.conf {
		f.reason = reason
	}
	f.since = onset(f.since, since)
	f.conf = max(f.conf, conf)
}

func (c *Case) xidFact(f *gpuFact, x *detectors.Finding) {
	code := int(x.Value)
	class := c.xidClass(code)
	if !class.Hardware() {
		return
	}
	f.set("xid", x.Since, High)
	f.codes = append(f.codes, code)
	f.action = xidAction(code)
	f.evidence = append(f.evidence, tell(x.Signal, f.gpu, true, "%s: Xid %d (%s) at %s UTC", f.gpu, code, class, x.Since.UTC().Format(time.TimeOnly)))
	if len(f.codes) == 1 && code == 63 {
		f.severity = Warning // a row was remapped: that is the repair
	}
}

// FactOf returns what speaks against a GPU as a reason and its evidence, for
// families that explain a stall by it; reason is empty if nothing does.
func (c *Case) FactOf(gpu signals.Entity) (reason string, since time.Time, conf Confidence, evidence []Evidence) {
	var list []*detectors.Finding
	for _, x := range c.On(gpu) {
		switch x.Code {
		case detectors.CodeXid, detectors.CodeRowRemap, detectors.CodeECC, detectors.CodeGPUVanished:
			list = append(list, x)
		}
	}
	f := c.against(c.thing(gpu), list)
	return f.reason, f.since, f.conf, f.evidence
}

// broken makes one verdict a GPU, or one a host where three or more of its GPUs
// have a fact: that is what they share.
func (c *Case) broken(facts []gpuFact) []Hypothesis {
	byHost := map[string][]gpuFact{}
	hosts := map[string]bool{}
	for _, f := range facts {
		byHost[f.gpu.Host] = append(byHost[f.gpu.Host], f)
		hosts[f.gpu.Host] = true
	}
	var out []Hypothesis
	for _, host := range sortedSet(hosts) {
		list := byHost[host]
		if len(list) >= 3 {
			h := c.about(GPUFault, list[0].reason, hostEntity(host), list[0].since)
			h.AffectedGPUs = len(list)
			h.Confidence = list[0].conf
			for _, f := range list {
				h.StartedAt = onset(h.StartedAt, f.since)
				h.Evidence = append(h.Evidence, f.evidence...)
			}
			out = append(out, h)
			continue
		}
		for _, f := range list {
			h := c.about(GPUFault, f.reason, f.gpu, f.since)
			h.Confidence, h.Severity, h.Evidence = f.conf, f.severity, f.evidence
			h.Next = f.action + cordonAdvice
			h.Immediate = h.JobEnded
			h.Mute = c.mayStall(&h, f)
			out = append(out, h)
		}
	}
	return out
}

// stallHold is how long a fact that stops a job waits for the stall: the owner
// of the job is told once, with the fact as the reason.
const stallHold = 200 * time.Second

// mayStall says whether a job that ran on a GPU is about to be told as stalled
// by this very fact: the GPU is lost or of no use, or progress stopped already.
func (c *Case) mayStall(h *Hypothesis, f gpuFact) bool {
	if h.Job == "" || h.JobEnded || c.Now.Sub(f.since) >= stallHold {
		return false
	}
	if f.reason == "gpu_lost" {
		return true
	}
	for _, code := range f.codes {
		if c.xidClass(code) == XidFatal {
			return true
		}
	}
	p := c.Progress(h.Job)
	if p == nil {
		return false
	}
	for _, clock := range p.Clocks {
		if !clock.Running && clock.Stopped.After(f.since.Add(-samplingSlack)) {
			return true
		}
	}
	return false
}

// primaryHold is how long a fault of an unnamed domain waits for the Xid that
// marks the primary GPU: one collection and two scrapes of DCGM.
const primaryHold = 90 * time.Second

// domainBurst is how far apart the Xids of one domain fault may be seen.
const domainBurst = 3 * time.Minute

// domains finds NVLink Xids on several hosts of one domain at once. The GPU with
// Xid 149 is the primary one, otherwise the first, if one was first.
func (c *Case) domains(facts []gpuFact) (out []Hypothesis, rest []gpuFact) {
	byDomain := map[string][]gpuFact{}
	names := map[string]bool{}
	for _, f := range facts {
		if slices.ContainsFunc(f.codes, xidDomain) {
			d := c.Fabric.Domain(f.gpu.Host)
			byDomain[d] = append(byDomain[d], f)
			names[d] = true
		}
	}
	taken := map[signals.Entity]bool{}
	for _, d := range sortedSet(names) {
		list := byDomain[d]
		slices.SortStableFunc(list, func(a, b gpuFact) int { return a.since.Compare(b.since) })
		list = slices.DeleteFunc(list, func(f gpuFact) bool { return f.since.Sub(list[0].since) > domainBurst })
		hosts := map[string]bool{}
		for _, f := range list {
			hosts[f.gpu.Host] = true
		}
		if len(hosts) < c.opts.MinMembers {
			continue
		}
		for _, f := range list {
			taken[f.gpu] = true
		}
		out = append(out, c.domainFault(d, list, sortedSet(hosts)))
	}
	for _, f := range facts {
		if !taken[f.gpu] {
			rest = append(rest, f)
		}
	}
	return out, rest
}

func (c *Case) domainFault(domain string, list []gpuFact, hosts []string) Hypothesis {
	h := newHypothesis(NVLinkDomainFault, "xid_family")
	h.StartedAt, h.Confidence, h.TieSet = list[0].since, High, 1
	h.Scope, h.Hosts = "domain:"+domain, hosts
	h.Needs = []signals.ID{signals.GPUXid}
	if domain != "" {
		h.Suspects = append(h.Suspects, Suspect{Kind: "domain", Device: domain, Score: 1})
		for _, host := range c.Fabric.InDomain(domain) {
			h.Covers = append(h.Covers, hostEntity(host))
		}
	} else {
		h.Scope, h.Confidence = "cluster", Medium
	}
	things := make([]signals.Entity, 0, len(list))
	for _, f := range list {
		things = append(things, f.gpu)
		if domain == "" {
			h.Covers = append(h.Covers, hostEntity(f.gpu.Host))
		}
	}
	c.harmAll(&h, things)
	h.AffectedHosts, h.AffectedGPUs = len(hosts), len(list)
	if p := primary(list); p != nil {
		h.Suspects = append(h.Suspects, Suspect{Kind: "gpu", Node: p.gpu.Host, Device: p.gpu.Device, Score: 0.9})
		h.Evidence = append(h.Evidence, p.evidence...)
	} else if domain == "" {
		h.TieSet = len(list)
		// The code that marks the primary may come with the next scrape.
		h.Mute = c.Now.Sub(h.StartedAt) < primaryHold
	}
	h.Evidence = append(h.Evidence, tell(signals.GPUXid, signals.Entity{}, true, "NVLink Xids on %d GPUs of %s within %s", len(list), count(len(hosts), "host"), Span(domainBurst)))
	return h
}

// primary is the only GPU with Xid 149, or the one that was clearly first.
func primary(list []gpuFact) *gpuFact {
	var with []*gpuFact
	for i := range list {
		if slices.Contains(list[i].codes, 149) {
			with = append(with, &list[i])
		}
	}
	if len(with) == 1 {
		return with[0]
	}
	if len(with) == 0 && len(list) > 1 && list[1].since.Sub(list[0].since) > samplingSlack {
		return &list[0]
	}
	return nil
}
