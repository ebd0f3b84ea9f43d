package diagnosis

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// nvlinkFamily judges single NVLinks by their error counters, and hosts whose
// communication inside is slower than that of others.
type nvlinkFamily struct {
	// first is the job in which a link was first seen with errors: the same
	// link in another job is worse.
	first map[signals.Entity]string
	// trouble is when a host last had a GPU with a fact that slows it down.
	trouble map[string]time.Time
}

// insideForgets is how long after such a fact the bandwidth inside a host says
// nothing by itself: its mean has a time constant of five minutes, after which a
// drop by a half takes a quarter of an hour to be below what is told.
const insideForgets = 20 * time.Minute

func newNVLinkFamily() Family {
	f := &nvlinkFamily{first: map[signals.Entity]string{}, trouble: map[string]time.Time{}}
	return Family{Name: "nvlink", Memory: f, Judge: func(c *Case) []Hypothesis {
		f.noteTrouble(c)
		out := f.links(c)
		return append(out, f.inside(c, out)...)
	}}
}

func (f *nvlinkFamily) links(c *Case) []Hypothesis {
	things, by := c.ofCode(detectors.CodeNVLink)
	var out []Hypothesis
	for _, gpu := range things {
		if c.excused(gpu.Host, c.opts.BootGrace) {
			continue
		}
		worst := by[gpu][0]
		for _, x := range by[gpu] {
			if x.Count > worst.Count {
				worst = x
			}
		}
		h := c.about(NVLinkDegraded, "recovery_counter", gpu, earliest([]signals.Entity{gpu}, by))
		h.Needs = []signals.ID{signals.NVLinkErrors}
		h.Suspects[0].Port = worst.Entity.Port
		for _, x := range by[gpu] {
			h.Evidence = append(h.Evidence, tell(x.Signal, x.Entity, true, "%s: link %s counted %s %s errors in the last hour, none on most of %d other links",
				gpu, x.Entity.Port, figure(x.Count), x.Entity.Detail, x.Peers))
		}
		link := gpu
		link.Port = worst.Entity.Port
		if was, ok := f.first[link]; !ok {
			f.first[link] = h.Job
		} else if was != "" && h.Job != "" && was != h.Job {
			h.Severity = Critical
			h.Evidence = append(h.Evidence, tell(signals.NVLinkErrors, link, false, "the same link had errors in job %s", was))
		}
		if ids, effect := c.insideSlow(gpu.Host); effect > 0 {
			h.Groups = ids
			h.Evidence = append(h.Evidence, tell(signals.CollExecTime, hostEntity(gpu.Host), false, "communication inside %s is up to %s %% slower", gpu.Host, figure(effect*100)))
		}
		out = append(out, h)
	}
	return out
}

// insideSlow returns the slow communicators inside one host, and how much
// slower they are.
func (c *Case) insideSlow(host string) (ids []string, effect float64) {
	for _, x := range c.Pattern(detectors.SlowTransfer) {
		g := c.groups[x.Group]
		if g != nil && g.NNodes == 1 && len(g.Members) > 0 && g.Members[0].Host == host {
			ids = append(ids, g.ID)
			effect = max(effect, x.Effect())
		}
	}
	if x := c.Has(hostEntity(host), detectors.CodeInsideBelow); x != nil {
		effect = max(effect, x.Expected/x.Value-1)
	}
	return ids, effect
}

// inside judges hosts whose communication inside is slow for a while, where no
// counter says which link: the host is all that can be named.
func (f *nvlinkFamily) inside(c *Case, told []Hypothesis) []Hypothesis {
	things, by := c.ofCode(detectors.CodeInsideBelow)
	if n := len(things); n > 2 && float64(n) > 0.2*float64(c.Hosts()) {
		return nil // how the job is, not how hosts are
	}
	var out []Hypothesis
	for _, host := range things {
		_, just := f.trouble[host.Host]
		if just || coveredHost(told, host.Host) || c.gpuTrouble(host.Host) || c.excused(host.Host, c.opts.BootGrace) {
			continue
		}
		ids, _ := c.insideSlow(host.Host)
		h := c.about(NVLinkDegraded, "bandwidth_only", host, earliest([]signals.Entity{host}, by))
		h.Confidence, h.Groups = Medium, ids
		h.Needs = []signals.ID{signals.CollBusBandwidth}
		for _, x := range by[host] {
			h.Evidence = append(h.Evidence, tell(x.Signal, host, true, "%s: bus bandwidth inside the host %s against %s of %d peers, over %s",
				host.Host, Human(x.Signal, x.Value), Human(x.Signal, x.Expected), x.Peers, Span(15*time.Minute)))
		}
		out = append(out, h)
	}
	return out
}

func coveredHost(told []Hypothesis, host string) bool {
	for i := range told {
		for _, s := range told[i].Suspects {
			if s.Node == host {
				return true
			}
		}
	}
	return false
}

// gpuTrouble says whether a GPU of the host has a fact that slows it down.
func (c *Case) gpuTrouble(host string) bool {
	return slices.ContainsFunc(c.OnHost(host), func(x *detectors.Finding) bool { return x.Pattern == detectors.Late || slowsGPU(x) })
}

// slowsGPU says that a finding is a fact about a GPU or its host that makes what
// is inside the host slow.
func slowsGPU(x *detectors.Finding) bool {
	switch x.Code {
	case detectors.CodeClockBelow, detectors.CodeThrottleReason, detectors.CodePCIeWidth, detectors.CodePCIeGen, detectors.CodeXid, detectors.CodeGPUVanished, detectors.CodeCPUPressure:
		return true
	}
	return false
}

// noteTrouble remembers the hosts with such facts, or that were late for so long
// that it was told, now and not long ago.
func (f *nvlinkFamily) noteTrouble(c *Case) {
	for i := range c.Report.Findings {
		x := &c.Report.Findings[i]
		if slowsGPU(x) || x.Pattern == detectors.Late && x.Windows >= c.opts.HostWindows {
			f.trouble[x.Entity.Host] = c.Now
		}
	}
	for host, at := range f.trouble {
		if c.Now.Sub(at) > insideForgets {
			delete(f.trouble, host)
		}
	}
}
