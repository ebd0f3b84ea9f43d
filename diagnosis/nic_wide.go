package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// Forty ports do not break at once. What many of them show alike has one cause,
// which lies in what they share: a host, a switch that nobody names, a firmware or a
// setting that was rolled out. That is one notice, and none of the ports is named.

// sickAlike is what some NICs show alike.
type sickAlike struct {
	reason string
	text   string // such as "bit errors"
	signal signals.ID
	nics   []signals.Entity
	by     map[signals.Entity][]*detectors.Finding
}

func (s *sickAlike) since(nic signals.Entity) time.Time {
	return earliest([]signals.Entity{nic}, s.by)
}

// wide returns the hypotheses about what sick NICs share: a leaf or rail, a host, or
// something that is not known. NICs that none of them covers are sick by themselves.
func (c *Case) wide(s *sickAlike) []Hypothesis {
	stages, members := c.sickStages(s.nics)
	if c.mostStages(stages) {
		return []Hypothesis{c.commonCause(s, s.nics)}
	}
	var out []Hypothesis
	for _, st := range stages {
		h := c.wholeStage(st, members[st], "rail_wide", earliest(members[st], s.by))
		h.Evidence = append(h.Evidence, tell(s.signal, signals.Entity{}, true, "%s: %s on %d of %d ports, such as %s",
			st, s.text, len(members[st]), len(c.members(st)), c.say(s.by[members[st][0]][0], true).Text))
		out = append(out, h)
	}
	rest := slices.DeleteFunc(slices.Clone(s.nics), func(nic signals.Entity) bool { return coveredBy(out, nic) })
	hosts, on := c.sickHosts(rest)
	if len(hosts) >= c.opts.MinMembers {
		var all []signals.Entity
		for _, host := range hosts {
			all = append(all, on[host]...)
		}
		return append(out, c.commonCause(s, all))
	}
	for _, host := range hosts {
		h := c.about(NICDegraded, s.reason, hostEntity(host), earliest(on[host], s.by))
		h.Confidence = Medium
		h.Next = "look at what the ports of this host have in common: driver and firmware, PCIe, power, the switch they are on" + cordonAdvice
		h.Evidence = append(h.Evidence, c.sayAlike(s, on[host]))
		out = append(out, h)
		rest = slices.DeleteFunc(rest, func(nic signals.Entity) bool { return nic.Host == host })
	}
	at := c.atOnce(s, rest)
	if n := len(hostsOf(at)); n > 3 && float64(n) > c.opts.CordonShare*float64(c.Hosts()) {
		out = append(out, c.commonCause(s, at))
	}
	return out
}

// mostStages says that there are several stages of one kind and that they are most
// of all of that kind: then it is none of them.
func (c *Case) mostStages(stages []stage) bool {
	if len(stages) < 2 {
		return false
	}
	like := 0
	for _, s := range stages {
		if (s.leaf == "") == (stages[0].leaf == "") {
			like++
		}
	}
	return like >= 2 && float64(like) > c.opts.Majority*float64(len(c.stagesLike(stages[0])))
}

// sickHosts are the hosts most of whose ports for collectives, two at least, are
// among the sick.
func (c *Case) sickHosts(sick []signals.Entity) (hosts []string, on map[string][]signals.Entity) {
	on = map[string][]signals.Entity{}
	for _, nic := range sick {
		if p := c.Port(nic); p != nil && p.Compute {
			on[nic.Host] = append(on[nic.Host], nic)
		}
	}
	for _, host := range sortedSet(hostsOf(sick)) {
		all := 0
		for _, p := range c.Fabric.Ports(host) {
			if p.Compute && !c.neverUp(nicEntity(p.Host, p.Device)) {
				all++
			}
		}
		if n := len(on[host]); n >= 2 && (n >= c.opts.MinMembers || n == all) && float64(n) > c.opts.Majority*float64(all) {
			hosts = append(hosts, host)
		}
	}
	return hosts, on
}

// atOnce are the most of some sick NICs that got so within a while. Of what was so
// when the daemon began to look nobody knows when it began.
func (c *Case) atOnce(s *sickAlike, nics []signals.Entity) []signals.Entity {
	known := slices.DeleteFunc(slices.Clone(nics), func(nic signals.Entity) bool { return s.since(nic).Sub(c.memory.began) < memberSlack })
	slices.SortStableFunc(known, func(a, b signals.Entity) int { return s.since(a).Compare(s.since(b)) })
	from, best, start := 0, 0, 0
	for to := range known {
		for s.since(known[to]).Sub(s.since(known[from])) > memberSlack {
			from++
		}
		if n := len(hostsOf(known[from : to+1])); n > best {
			best, start = n, from
		}
	}
	end := start
	for end < len(known) && s.since(known[end]).Sub(s.since(known[start])) <= memberSlack {
		end++
	}
	return known[start:end]
}

// commonCause is a hypothesis about many NICs that names none.
func (c *Case) commonCause(s *sickAlike, nics []signals.Entity) Hypothesis {
	const most = 32
	h := newHypothesis(NICDegraded, s.reason)
	severity := h.Severity
	h.StartedAt = earliest(nics, s.by)
	h.Covers, h.Needs = nics, []signals.ID{signals.NICState}
	c.harmAll(&h, nics)
	for _, nic := range nics[:min(most, len(nics))] {
		h.Candidates = append(h.Candidates, c.NICSuspect(nic))
	}
	h.nobody(len(nics))
	h.Severity = severity
	h.Next = "look for what these ports have in common: a switch, a firmware or a setting that was rolled out at that time; no single port or cable is to blame"
	h.Command = ""
	h.Evidence = append(h.Evidence, c.sayAlike(s, nics))
	return h
}

func (c *Case) sayAlike(s *sickAlike, nics []signals.Entity) Evidence {
	return tell(s.signal, signals.Entity{}, true, "%s on %d ports of %s since %s, such as %s", s.text, len(nics),
		listedHosts(nics), earliest(nics, s.by).UTC().Format("15:04:05 UTC"), c.say(s.by[nics[0]][0], true).Text)
}

func listedHosts(nics []signals.Entity) string {
	hosts := sortedSet(hostsOf(nics))
	if len(hosts) == 1 {
		return hosts[0]
	}
	return fmt.Sprintf("%s (%s)", count(len(hosts), "host"), listed(hosts))
}

// joinNameless makes one of hypotheses that name nobody and are about the same jobs:
// ports that fall back to a lower rate and have bit errors besides are ill once.
func joinNameless(hs []Hypothesis) []Hypothesis {
	var out []Hypothesis
	for _, h := range hs {
		i := slices.IndexFunc(out, func(o Hypothesis) bool { return len(o.Suspects)+len(h.Suspects) == 0 && o.Key() == h.Key() })
		if i < 0 {
			out = append(out, h)
			continue
		}
		o := &out[i]
		o.Evidence, o.Covers = append(o.Evidence, h.Evidence...), append(o.Covers, h.Covers...)
		o.StartedAt, o.Severity = onset(o.StartedAt, h.StartedAt), max(o.Severity, h.Severity)
	}
	return out
}
