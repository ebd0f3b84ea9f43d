package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// cutHost is a host all of whose ports went down at once: that is no cable. It is
// one fault, told once, until the last of them is back.
type cutHost struct {
	began, last time.Time // the first and the last fall
	back        time.Time // when all were seen up again, zero before
	told        bool      // as link_down
	job         string    // that died of it
}

const (
	// hostCut is how long a host whose ports are all down must be seen to live on
	// to be told: one that shuts down is not seen for long after them, and says
	// when it booted once it is seen again.
	hostCut = time.Minute
	// hostCutSamples is in how many samples that must be seen.
	hostCutSamples = 3
)

// hosts takes out the ports of hosts that are cut off as a whole.
func (f *linkFamily) hosts(c *Case, ports []portCase) (rest []portCase, out []Hypothesis) {
	by := map[string][]portCase{}
	for _, p := range ports {
		by[p.nic.Host] = append(by[p.nic.Host], p)
	}
	for host, list := range by {
		f.noteCut(c, host, list)
	}
	seen := map[string]bool{}
	for _, p := range ports {
		host := p.nic.Host
		x := f.hostsCut[host]
		if x == nil || !x.holds(&p) {
			rest = append(rest, p)
			continue
		}
		if seen[host] {
			continue
		}
		seen[host] = true
		mine := slices.DeleteFunc(slices.Clone(by[host]), func(q portCase) bool { return !x.holds(&q) })
		if h, ok := f.cutOffHost(c, host, x, mine); ok {
			out = append(out, h)
		}
	}
	for host, x := range f.hostsCut {
		if c.Now.Sub(x.last) > 2*f.opts.FlapMemory && !x.back.IsZero() {
			delete(f.hostsCut, host)
		}
	}
	return rest, out
}

// holds says that the newest event of a port is part of it.
func (x *cutHost) holds(p *portCase) bool { return !p.since.Before(x.began) && !p.since.After(x.last) }

// noteCut looks whether all that a host has for collectives, two ports at least,
// went down at once. Ports that fell one after another were told one after another,
// and stay so.
func (f *linkFamily) noteCut(c *Case, host string, list []portCase) {
	fell := map[string]bool{}
	var first, last time.Time
	for i := range list {
		p := &list[i]
		if port := c.Port(p.nic); !p.downNow || port != nil && !port.Compute {
			continue
		}
		if f.told[p.nic] != nil && f.told[p.nic].covers(p) {
			return
		}
		fell[p.nic.Device] = true
		first = onset(first, p.since)
		if p.since.After(last) {
			last = p.since
		}
	}
	if len(fell) < 2 || last.Sub(first) > burst {
		return
	}
	known := 0
	for _, p := range c.Fabric.Ports(host) {
		if !p.Compute || c.neverUp(nicEntity(p.Host, p.Device)) {
			continue
		}
		if known++; !fell[p.Device] {
			return
		}
	}
	if known == 0 && len(fell) < 3 {
		return // nobody knows what else it has
	}
	if x := f.hostsCut[host]; x == nil || first.After(x.last) {
		f.hostsCut[host] = &cutHost{began: first, last: last}
	} else if last.After(x.last) {
		x.last = last
	}
}

// cutOffHost tells a host that is cut off: as down if it lives on so, or if a job
// died of it; else as a flap once the ports are back.
func (f *linkFamily) cutOffHost(c *Case, host string, x *cutHost, ports []portCase) (Hypothesis, bool) {
	down := slices.DeleteFunc(slices.Clone(ports), func(p portCase) bool { return !p.downNow })
	jobs, ended := c.Harmed(hostEntity(host), x.began)
	least := hostCut
	if len(jobs) == 0 {
		least = f.opts.SwitchRestart // nobody waits: it may be worked on
	}
	switch {
	case len(down) > 0:
		x.told = x.told || c.Now.Sub(x.began) >= least && down[0].down.Windows >= hostCutSamples
		if !x.told {
			return Hypothesis{}, false
		}
	case x.back.IsZero():
		x.back = c.Now
	}
	if ended && len(jobs) == 1 && x.job == "" && (x.told || len(down) == 0) {
		x.told, x.job = true, jobs[0]
	}
	if !x.told {
		return f.hostFlap(c, host, ports)
	}
	if !x.back.IsZero() {
		if gone := c.Now.Sub(x.back); gone > fate && x.job == "" || gone > f.opts.JobMemory {
			return Hypothesis{}, false
		}
	}
	h := c.about(LinkDown, "port_not_active", hostEntity(host), x.began)
	h.Confidence, h.Immediate = Medium, true
	h.Next = "look at the host, no single cable takes all of its ports: driver and firmware of the NICs, PCIe and power, the switch it is on; restart the job without it" + cordonAdvice
	if x.job != "" {
		h.Job, h.JobEnded, h.Scope = x.job, true, "job"
		h.Consequences = append(h.Consequences, "job "+x.job+" terminated")
	}
	now := "all are active again"
	if len(down) > 0 {
		now = count(len(down), "port") + " still down after " + Span(c.Now.Sub(x.began))
	}
	h.Evidence = append(h.Evidence, tell(signals.NICState, hostEntity(host), true, "%s: all ports for collectives (%s) went down within %s, and the host did not restart; %s",
		host, devices(ports), Span(burst), now))
	return h, true
}

// hostFlap is a flap of all ports of a host together.
func (f *linkFamily) hostFlap(c *Case, host string, ports []portCase) (Hypothesis, bool) {
	h, ok := f.flap(c, &ports[0])
	if !ok {
		return h, false
	}
	all := c.about(LinkFlap, h.Reason, hostEntity(host), h.StartedAt)
	all.Severity, all.Immediate = h.Severity, h.Immediate
	all.Evidence = append(all.Evidence, tell(signals.NICState, hostEntity(host), true, "%s: all ports for collectives (%s) went down together and came back", host, devices(ports)))
	all.Evidence = append(all.Evidence, h.Evidence...)
	return all, true
}

func devices(ports []portCase) string {
	var out []string
	for _, p := range ports {
		out = append(out, p.nic.Device)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
