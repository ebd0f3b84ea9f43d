package diagnosis

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// cutLeaf is a leaf (or a rail whose leaf is unknown) that lost most of its
// ports at once.
type cutLeaf struct {
	began, seen, back time.Time
	ports             []signals.Entity
	// degraded is set once it was told as degraded: a leaf that comes back
	// late was not merely restarted.
	degraded bool
}

// burst is how far apart the ports of one switch may be seen to fall: two
// scrapes.
const burst = 60 * time.Second

// leaves takes out the ports of leaves that lost the majority of their ports at
// once. While they are down, a restart and a dead switch look alike: nothing is
// told before a switch would be back, unless jobs die of it.
func (f *linkFamily) leaves(c *Case, ports []portCase) (out []Hypothesis, rest []portCase) {
	var sick []signals.Entity
	var newest time.Time
	for i := range ports {
		if ports[i].downNow || ports[i].seconds > 0 || ports[i].events > 0 {
			if ports[i].since.After(newest) {
				newest = ports[i].since
			}
			sick = append(sick, ports[i].nic)
		}
	}
	byNIC := map[signals.Entity]*portCase{}
	for i := range ports {
		byNIC[ports[i].nic] = &ports[i]
	}
	taken := map[signals.Entity]bool{}
	order, by := c.possibleStages(sick)
	for _, s := range order {
		list := by[s]
		if s.leaf == "" { // what fell with its switch says nothing of the rail
			list = slices.DeleteFunc(list, func(nic signals.Entity) bool { return taken[nic] })
		}
		together := sameBurst(list, byNIC)
		if float64(len(together)) <= c.opts.Majority*float64(len(c.inService(s))) {
			continue
		}
		for _, nic := range together {
			taken[nic] = true
		}
		if h, ok := f.cutOff(c, s, together, byNIC); ok {
			out = append(out, h)
		}
	}
	out = c.notOfRails(out)
	for s, x := range f.cut {
		if c.Now.Sub(x.seen) > f.opts.FlapMemory {
			delete(f.cut, s)
		}
	}
	for _, p := range ports {
		if !taken[p.nic] {
			rest = append(rest, p)
		}
	}
	return out, rest
}

// notOfRails joins rails into one hypothesis where most of them fell at once. What
// is behind the ports is not known then, and it is no rail: which rails there are
// follows from the order of devices only. Nobody is named.
func (c *Case) notOfRails(hs []Hypothesis) []Hypothesis {
	var rails, rest []Hypothesis
	for _, h := range hs {
		if h.Suspects[0].Kind == "rail" && (len(rails) == 0 || h.StartedAt.Sub(rails[0].StartedAt).Abs() <= burst) {
			rails = append(rails, h)
		} else {
			rest = append(rest, h)
		}
	}
	if n := len(rails); n < 2 || float64(n) <= c.opts.Majority*float64(len(c.Fabric.Rails())) {
		return hs
	}
	class, reason := LeafRestart, "burst_down"
	if slices.ContainsFunc(rails, func(h Hypothesis) bool { return h.Class != LeafRestart }) {
		class, reason = LeafDegraded, "leaf_down"
	}
	all := newHypothesis(class, reason)
	all.TieSet, all.Confidence, all.Scope, all.Needs, all.Mute = len(rails), Low, "cluster", rails[0].Needs, true
	jobs, users := map[string]bool{}, map[string]bool{}
	for _, h := range rails {
		h.Suspects[0].Score = 1 / float64(len(rails))
		all.Candidates = append(all.Candidates, h.Suspects[0])
		all.Covers, all.Evidence = append(all.Covers, h.Covers...), append(all.Evidence, h.Evidence...)
		all.StartedAt, all.AffectedHosts = onset(all.StartedAt, h.StartedAt), max(all.AffectedHosts, h.AffectedHosts)
		all.AffectedGPUs += h.AffectedGPUs
		all.Mute = all.Mute && h.Mute
		for _, id := range h.Jobs {
			jobs[id] = true
			users[id] = users[id] || h.harms(id)
		}
	}
	all.Jobs = sortedSet(jobs)
	all.Beside = slices.DeleteFunc(slices.Clone(all.Jobs), func(id string) bool { return users[id] })
	return append(rest, all)
}

// sameBurst returns the ports whose newest event lies within the burst that has
// the most of them.
func sameBurst(nics []signals.Entity, by map[signals.Entity]*portCase) []signals.Entity {
	order := slices.Clone(nics)
	slices.SortStableFunc(order, func(a, b signals.Entity) int { return by[a].since.Compare(by[b].since) })
	from, best, start := 0, 0, 0
	for to := range order {
		for by[order[to]].since.Sub(by[order[from]].since) > burst {
			from++
		}
		if to-from+1 > best {
			best, start = to-from+1, from
		}
	}
	return order[start : start+best]
}

func (f *linkFamily) cutOff(c *Case, s stage, nics []signals.Entity, by map[signals.Entity]*portCase) (Hypothesis, bool) {
	x := f.cut[s]
	began, down := time.Time{}, 0
	for _, nic := range nics {
		began = onset(began, by[nic].since)
		if by[nic].downNow {
			down++
		}
	}
	if x == nil || began.Sub(x.began) > burst {
		x = &cutLeaf{began: began}
		f.cut[s] = x
	}
	x.seen, x.ports = c.Now, nics
	isDown := 2*down > len(nics)
	if !isDown && x.back.IsZero() {
		x.back = c.Now
	}
	probe := Hypothesis{Verdict: Verdict{StartedAt: began}}
	c.harmAll(&probe, nics)
	users := subtract(probe.Jobs, probe.Beside)
	if isDown && (c.Now.Sub(began) >= f.opts.SwitchRestart || probe.JobEnded && len(users) > 0 || c.ended(users) || c.stalled(users)) {
		x.degraded = true
	}
	if !isDown && c.Now.Sub(x.back) > f.opts.JobMemory {
		return Hypothesis{}, false
	}
	return f.tellLeaf(c, s, x, isDown, down), true
}

// ended says whether one of the jobs ended.
func (c *Case) ended(jobs []string) bool {
	for _, id := range jobs {
		if j := c.Job(id); j != nil && j.Ended {
			return true
		}
	}
	return false
}

func (f *linkFamily) tellLeaf(c *Case, s stage, x *cutLeaf, isDown bool, down int) Hypothesis {
	class, reason := LeafRestart, "burst_down"
	if x.degraded {
		class, reason = LeafDegraded, "leaf_down"
		if s.leaf == "" {
			class = RailDegraded
		}
	}
	h := newHypothesis(class, reason)
	h.StartedAt = x.began
	h.Scope = s.scope()
	h.Suspects, h.TieSet = []Suspect{s.suspect()}, 1
	h.Confidence = High
	if s.leaf == "" {
		h.Confidence = Medium
	}
	h.Covers = x.ports
	h.Needs = []signals.ID{signals.NICState}
	h.Mute = class == LeafRestart && isDown
	if class == LeafRestart {
		h.Over = x.back
	}
	c.harmAll(&h, x.ports)
	now := "all are up again"
	if down > 0 {
		now = count(down, "port") + " still down"
	}
	h.Evidence = append(h.Evidence, tell(signals.NICState, signals.Entity{Kind: signals.KindSwitchPort, Device: s.leaf}, true,
		"%s: %d of %d ports on %s went down within %s at %s; %s", s, len(x.ports), len(c.inService(s)), count(h.AffectedHosts, "host"),
		Span(burst), x.began.UTC().Format("15:04:05 UTC"), now))
	if lost := c.uplinksLost(s.leaf); lost != nil {
		h.Evidence = append(h.Evidence, lostUplinks(lost))
	}
	return h
}

// uplinksLost returns the finding that a switch has fewer uplinks than before.
func (c *Case) uplinksLost(leaf string) *detectors.Finding {
	if leaf == "" {
		return nil
	}
	for _, x := range c.Code(detectors.CodeUplinksLost) {
		if x.Entity.Device == leaf {
			return x
		}
	}
	return nil
}

func lostUplinks(x *detectors.Finding) Evidence {
	return tell(signals.SwitchUplink, x.Entity, true, "%s: %s uplinks against %s before", x.Entity.Device, figure(x.Value), figure(x.Expected))
}
