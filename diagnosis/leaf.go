package diagnosis

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// leafFamily judges leaves and rails that are slow as a whole, cables that were
// exchanged, and slow groups that nothing else explains.
func leafFamily() Family {
	return Family{Name: "leaf", Judge: func(c *Case) []Hypothesis {
		out := c.congestedStages()
		out = append(out, c.miscabled()...)
		return append(out, c.slowRails(out)...)
	}}
}

// congestedStages judges leaves whose NICs wait for credit on most hosts while
// other leaves are calm. A single host with a sign of its own explains it
// better: its back pressure reaches everybody on the rail.
func (c *Case) congestedStages() []Hypothesis {
	things, by := c.ofCode(detectors.CodeTransmitWait)
	stages, members := c.sickStages(things)
	var out []Hypothesis
	for _, s := range stages {
		all := c.members(s)
		if signs := c.deviceSigns(all); len(signs) > 0 && float64(len(signs)) <= c.opts.Majority*float64(len(hostsOf(all))) {
			continue
		}
		if c.sickShare(things, s) > c.opts.Majority {
			continue // the others are no calmer: load, or something larger
		}
		slow, effect := c.slowUnder(all)
		lost := c.uplinksLost(s.leaf)
		if len(slow) == 0 && lost == nil {
			continue
		}
		reason := "rail_wide"
		if lost != nil {
			reason = "uplinks_lost"
		}
		h := c.wholeStage(s, members[s], reason, earliest(members[s], by))
		h.Groups = slow
		h.Needs = []signals.ID{signals.NICTransmitWait}
		h.Evidence = append(h.Evidence, tell(signals.NICTransmitWait, signals.Entity{}, true, "%s: %d of %d NICs wait for credit, such as %s; other switches are calm",
			s, len(members[s]), len(all), c.say(by[members[s][0]][0], true).Text))
		if lost != nil {
			h.Evidence = append(h.Evidence, lostUplinks(lost))
		}
		if len(slow) > 0 {
			h.Evidence = append(h.Evidence, tell(signals.CollExecTime, signals.Entity{}, false, "%s across it up to %s %% slower", count(len(slow), "communicator"), figure(effect*100)))
		}
		out = append(out, h)
	}
	return out
}

// deviceSigns are the hosts among some NICs that have a fact of their own.
func (c *Case) deviceSigns(nics []signals.Entity) map[string]bool {
	out := map[string]bool{}
	for _, nic := range nics {
		for _, x := range c.On(nic) {
			switch x.Code {
			case detectors.CodeRateBelow, detectors.CodeBitErrors, detectors.CodePortNotActive, detectors.CodePauseTx, detectors.CodePCIeStall,
				detectors.CodeTrafficAbove, detectors.CodeTrafficGone:
				out[nic.Host] = true
			case detectors.CodeLinkDowned:
				if c.Now.Sub(x.Since) < 15*time.Minute {
					out[nic.Host] = true
				}
			}
		}
		if gpu, ok := c.GPUOf(nic); ok && (c.Has(gpu, detectors.CodePCIeWidth) != nil || c.Has(gpu, detectors.CodePCIeGen) != nil) {
			out[nic.Host] = true
		}
	}
	return out
}

// sickShare is the share of sick NICs outside a stage.
func (c *Case) sickShare(sick []signals.Entity, not stage) float64 {
	inside := map[signals.Entity]bool{}
	for _, nic := range c.members(not) {
		inside[nic] = true
	}
	total, outside := 0, 0
	for _, s := range c.stagesLike(not) {
		for _, nic := range c.members(s) {
			if !inside[nic] && !c.opts.Unread[nic.Host] {
				total++
			}
		}
	}
	if total == 0 {
		return 0
	}
	for _, nic := range sick {
		if !inside[nic] {
			outside++
		}
	}
	return float64(outside) / float64(total)
}

// stagesLike are all stages of one kind: leaves by their ports or by their hosts,
// or rails.
func (c *Case) stagesLike(s stage) []stage {
	var out []stage
	switch {
	case s.whole:
		leaves := map[string]bool{}
		for _, host := range c.Fabric.Hosts() {
			leaves[c.Fabric.HostLeaf(host)] = true
		}
		delete(leaves, "")
		for _, leaf := range sortedSet(leaves) {
			out = append(out, stage{leaf: leaf, whole: true})
		}
	case s.leaf == "":
		for _, rail := range c.Fabric.Rails() {
			out = append(out, stage{rail: rail})
		}
	default:
		for _, leaf := range c.Fabric.Leaves() {
			out = append(out, stage{leaf: leaf})
		}
	}
	return out
}

// slowUnder returns the slow groups that use any of some NICs.
func (c *Case) slowUnder(nics []signals.Entity) (ids []string, effect float64) {
	seen := map[string]bool{}
	for _, nic := range nics {
		list, e := c.SlowGroups(nic)
		effect = max(effect, e)
		for _, id := range list {
			seen[id] = true
		}
	}
	return sortedSet(seen), effect
}

// miscabled judges hosts two of whose cables are exchanged: each port is on a
// leaf other than expected, and the rails involved are slower. Many hosts alike
// are another wiring, not a mistake.
func (c *Case) miscabled() []Hypothesis {
	byHost := map[string][]signals.Entity{}
	hosts := map[string]bool{}
	for _, leaf := range c.Fabric.Leaves() {
		for _, p := range c.Fabric.Under(leaf) {
			hosts[p.Host] = true
			if p.Compute && p.ExpectedLeaf != "" && p.ExpectedLeaf != p.Leaf {
				byHost[p.Host] = append(byHost[p.Host], nicEntity(p.Host, p.Device))
			}
		}
	}
	if len(byHost) == 0 || float64(len(byHost)) > max(1, 0.2*float64(len(hosts))) {
		return nil
	}
	names := map[string]bool{}
	for h := range byHost {
		names[h] = true
	}
	var out []Hypothesis
	for _, host := range sortedSet(names) {
		nics := byHost[host]
		slow, effect := c.slowUnder(nics)
		if len(nics) < 2 || !c.slowAlike(nics) {
			continue
		}
		slices.SortFunc(nics, compareEntities)
		h := newHypothesis(RailMiscabled, "cables_swapped")
		h.StartedAt, h.TieSet, h.Confidence = c.slowSince(slow), 1, High
		h.Covers, h.Groups, h.Hosts, h.AffectedHosts = nics, slow, []string{host}, 1
		h.Scope = "host:" + host
		h.Needs = []signals.ID{signals.SwitchLink}
		for _, nic := range nics {
			p := c.Port(nic)
			h.Suspects = append(h.Suspects, c.NICSuspect(nic))
			h.Evidence = append(h.Evidence, tell(signals.SwitchLink, nic, true, "%s is on %s, where %s is expected", nic, p.Leaf, p.ExpectedLeaf))
		}
		h.Evidence = append(h.Evidence, tell(signals.CollExecTime, signals.Entity{}, false, "%s across these leaves up to %s %% slower", count(len(slow), "communicator"), figure(effect*100)))
		c.Lead(&h, hostEntity(host))
		out = append(out, h)
	}
	return out
}

// slowAlike says that each of some NICs of a host is used by a slow group for whose
// slowness no other host shows a reason: exchanged cables slow all their rails down,
// and a plan that nobody kept up to date none.
func (c *Case) slowAlike(nics []signals.Entity) bool {
	for _, nic := range nics {
		slow, _ := c.SlowGroups(nic)
		if !slices.ContainsFunc(slow, func(id string) bool {
			var others []signals.Entity
			for _, m := range c.groups[id].Members {
				if other, _, ok := c.NICOf(m); ok && m.Host != nic.Host {
					others = append(others, other)
				}
			}
			return len(c.deviceSigns(others)) == 0
		}) {
			return false
		}
	}
	return true
}

// slowSince is the onset of the first of some slow groups.
func (c *Case) slowSince(groups []string) time.Time {
	var t time.Time
	for _, x := range c.Pattern(detectors.SlowTransfer) {
		if slices.Contains(groups, x.Group) {
			t = onset(t, x.Since)
		}
	}
	return t
}

// slowRails tells communicators across hosts that are slow by timing alone,
// where a vote points to components that the series cannot tell apart. Nobody
// is named: that is what a tie set is for.
func (c *Case) slowRails(told []Hypothesis) []Hypothesis {
	var out []Hypothesis
	for _, j := range c.Snapshot.Jobs {
		if j.Ended {
			continue
		}
		v := c.Vote(j.ID)
		for _, b := range v.Blames {
			if since := c.slowSince(b.Slow); since.Sub(c.WatchedSince(j)) < builtIn {
				continue // slow as long as it is watched: how it is built
			}
			if c.explained(told, b.Slow) || c.signAmong(b.Tied) {
				c.memory.explain(b.Slow, c.Now)
				continue
			}
			if b.Effect < leastRailEffect || !b.across() || v.Healthy == 0 || c.Now.Sub(c.slowSince(b.Slow)) < timingHold {
				continue
			}
			if c.memory.namedSince(c.slowSince(b.Slow), b.Tied) {
				continue // it was known why, and only the facts are not reported just now
			}
			h := newHypothesis(RailDegraded, "timing_only")
			h.Severity, h.Confidence, h.Job, h.Scope = Warning, Low, j.ID, "job"
			h.Jobs, h.Groups = []string{j.ID}, b.Slow
			h.Mute = c.memory.justExplained(b.Slow)
			h.StartedAt = c.slowSince(b.Slow)
			h.Candidates = c.candidates(b.Tied)
			h.TieSet = len(b.Tied)
			h.Needs = []signals.ID{signals.CollExecTime}
			h.AffectedHosts = len(j.Hosts)
			h.Evidence = append(h.Evidence, tell(signals.CollExecTime, jobEntity(j.ID), true, "%s of job %s %s %% slower, %d others are not; no counter tells the %d possible components apart",
				count(len(b.Slow), "communicator"), j.ID, figure(b.Effect*100), v.Healthy, len(b.Tied)))
			h.Next = "run a pair test between the hosts of the slow communicators: two rounds, sorted by the first, find the bad one"
			out = append(out, h)
		}
	}
	return out
}

const (
	// leastRailEffect is the slowness below which timing alone says nothing.
	leastRailEffect = 0.2
	// timingHold is how long facts have time to show before timing alone is
	// told: bit errors need three minutes, DCGM values can be a minute old.
	timingHold = 5 * time.Minute
	// builtIn is how long after its start a job must have been fast before it
	// can be said to have become slow: ten windows of 30 s.
	builtIn = 5 * time.Minute
)

// signAmong says whether one of some components has a fact of its own, which
// may still be too young for a verdict.
func (c *Case) signAmong(tied []Component) bool {
	var nics []signals.Entity
	for _, x := range tied {
		switch x.Kind {
		case "nic":
			nics = append(nics, nicEntity(x.Node, x.Dev))
		case "gpu":
			for _, f := range c.On(gpuEntity(x.Node, x.Dev)) {
				if f.Pattern != detectors.Late && f.Pattern != detectors.SlowTransfer {
					return true
				}
			}
		}
	}
	return len(c.deviceSigns(nics)) > 0
}

// across says whether a blame is about the network between hosts.
func (b *Blame) across() bool {
	for _, x := range b.Tied {
		if x.Kind == "nic" || x.Kind == "leaf" || x.Kind == "rail" {
			return true
		}
	}
	return false
}

// explained says whether all groups are explained by hypotheses told before.
func (c *Case) explained(told []Hypothesis, groups []string) bool {
	for _, id := range groups {
		found := false
		for i := range told {
			found = found || slices.Contains(told[i].Groups, id)
		}
		if !found {
			return false
		}
	}
	return true
}

// candidates turns tied components into suspects that are shown and not named,
// past offenders first. Their number is bounded; the size of the tie set is not.
func (c *Case) candidates(tied []Component) []Suspect {
	const most = 32
	order := slices.Clone(tied)
	slices.SortStableFunc(order, func(a, b Component) int { return c.offended(b) - c.offended(a) })
	var out []Suspect
	for _, x := range order[:min(most, len(order))] {
		s := Suspect{Kind: x.Kind, Node: x.Node, Device: x.Dev, Score: 1 / float64(len(tied))}
		switch x.Kind {
		case "nic":
			s = c.NICSuspect(nicEntity(x.Node, x.Dev))
			s.Score = 1 / float64(len(tied))
		case "leaf":
			s.Kind, s.Switch = "switch", x.Name
		case "rail", "domain", "rack":
			s.Device = x.Name
		}
		out = append(out, s)
	}
	return out
}

func (c *Case) offended(x Component) int {
	return c.memory.offences(Suspect{Kind: x.Kind, Node: x.Node, Device: x.Dev}.entity())
}
