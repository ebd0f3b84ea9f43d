package diagnosis

import (
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
}

func newNVLinkFamily() Family {
	f := &nvlinkFamily{first: map[signals.Entity]string{}}
	return Family{Name: "nvlink", Judge: func(c *Case) []Hypothesis {
		out := f.links(c)
		return append(out, f.inside(c, out)...)
	}}
}

const (
	insideHold   = 15 * time.Minute
	insideEffect = 0.04 // one lane of 18 is 5 %
)

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
		if ids, effect := c.insideSlow(gpu.Host); len(ids) > 0 {
			h.Groups = ids
			h.Evidence = append(h.Evidence, tell(signals.CollExecTime, hostEntity(gpu.Host), false, "communication inside %s is %s %% slower", gpu.Host, figure(effect*100)))
		}
		out = append(out, h)
	}
	return out
}

// insideSlow returns the slow communicators inside one host.
func (c *Case) insideSlow(host string) (ids []string, effect float64) {
	for _, x := range c.Pattern(detectors.SlowTransfer) {
		g := c.groups[x.Group]
		if g == nil || g.NNodes != 1 || len(g.Members) == 0 || g.Members[0].Host != host {
			continue
		}
		ids = append(ids, g.ID)
		effect = max(effect, x.Effect())
	}
	return ids, effect
}

// inside judges hosts whose communication inside is slow for a while, where no
// counter says which link: the host is all that can be named.
func (f *nvlinkFamily) inside(c *Case, told []Hypothesis) []Hypothesis {
	hosts := map[string]time.Time{}
	total := 0
	for _, x := range c.Pattern(detectors.SlowTransfer) {
		g := c.groups[x.Group]
		if g == nil || g.NNodes != 1 || len(g.Members) == 0 || x.Effect() < insideEffect {
			continue
		}
		hosts[g.Members[0].Host] = onset(hosts[g.Members[0].Host], x.Since)
	}
	for _, g := range c.Snapshot.Groups {
		if g.NNodes == 1 {
			total++
		}
	}
	if len(hosts) == 0 || len(hosts) > 2 && float64(len(hosts)) > 0.2*float64(total) {
		return nil // a change of the job, such as another algorithm
	}
	names := map[string]bool{}
	for host := range hosts {
		names[host] = true
	}
	var out []Hypothesis
	for _, host := range sortedSet(names) {
		if c.Now.Sub(hosts[host]) < insideHold || coveredHost(told, host) || c.gpuTrouble(host) {
			continue
		}
		ids, effect := c.insideSlow(host)
		h := c.about(NVLinkDegraded, "bandwidth_only", hostEntity(host), hosts[host])
		h.Confidence, h.Groups = Medium, ids
		h.Needs = []signals.ID{signals.CollExecTime}
		h.Evidence = append(h.Evidence, tell(signals.CollExecTime, hostEntity(host), true, "communication inside %s is %s %% slower than inside the other hosts, for %s",
			host, figure(effect*100), Span(c.Now.Sub(hosts[host]))))
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
	for _, x := range c.OnHost(host) {
		switch x.Code {
		case detectors.CodeClockBelow, detectors.CodeThrottleReason, detectors.CodePCIeWidth, detectors.CodePCIeGen, detectors.CodeXid, detectors.CodeGPUVanished, detectors.CodeCPUPressure:
			return true
		}
		if x.Pattern == detectors.Late {
			return true
		}
	}
	return false
}
