package diagnosis

import (
	"cmp"
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// roceFamily judges flow control: a host that does not absorb, an uplink that
// carries more than its siblings, and congestion that belongs to nobody.
func roceFamily() Family {
	hosts := roceHosts{}
	return Family{Name: "roce", Judge: func(c *Case) []Hypothesis {
		hosts.learn(c.Snapshot)
		out := append(c.pauseStorm(), c.uplinks()...)
		if len(out) == 0 {
			out = c.congested()
		}
		if len(out) == 0 {
			out = c.slowSinceRestart(hosts)
		}
		return out
	}}
}

const (
	// stormRatio is how far the first pauser must be above the second host.
	stormRatio   = 4.0
	stormVictims = 3 // NICs of other hosts that are paused
)

// pauseStorm judges the direction of pause: who sends it cannot absorb, who
// receives it is a victim. One dominant sender is the origin.
func (c *Case) pauseStorm() []Hypothesis {
	var senders []*detectors.Finding
	for _, x := range c.Code(detectors.CodePauseTx) {
		if x.Entity.Kind == signals.KindNIC && x.Windows >= 2 && !c.excused(x.Entity.Host, c.opts.BootGrace) {
			senders = append(senders, x)
		}
	}
	if len(senders) == 0 {
		return nil
	}
	slices.SortStableFunc(senders, func(a, b *detectors.Finding) int { return cmp.Compare(b.Value, a.Value) })
	top := senders[0]
	second := 0.0
	same := map[signals.Entity]bool{} // a NIC may pause on several priorities
	for _, x := range senders {
		if x.Entity.Host != top.Entity.Host {
			second = max(second, x.Value)
		} else if 2*x.Value >= top.Value {
			same[c.thing(x.Entity)] = true
		}
	}
	victims := c.pausedElsewhere(top.Entity.Host)
	if top.Value < stormRatio*second || len(victims) < stormVictims {
		return nil
	}
	thing := c.thing(top.Entity)
	if len(same) > 1 {
		thing = hostEntity(top.Entity.Host)
	}
	h := c.about(PFCStorm, "host_not_absorbing", thing, top.Since)
	h.Needs = []signals.ID{signals.NICPauseTx}
	h.Evidence = append(h.Evidence, c.say(top, true))
	for _, nic := range victims {
		h.Covers = append(h.Covers, nic)
		h.Jobs = append(h.Jobs, jobIDs(c.JobsOf(nic))...)
	}
	slices.Sort(h.Jobs)
	h.Jobs = slices.Compact(h.Jobs)
	if len(h.Jobs) > 1 {
		h.Job, h.Scope = "", "cluster"
	}
	hosts := hostsOf(victims)
	h.AffectedHosts = len(hosts) + 1
	h.Evidence = append(h.Evidence, tell(signals.NICPauseRx, signals.Entity{}, true, "%d NICs of %s are paused by the network; no other host pauses more than %s",
		len(victims), count(len(hosts), "other host"), Human(signals.NICPauseTx, second)))
	if x := c.Has(c.thing(top.Entity), detectors.CodePCIeStall); x != nil {
		h.Evidence = append(h.Evidence, c.say(x, false))
	}
	return []Hypothesis{h}
}

func jobIDs(jobs []*signals.Job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return out
}

func (c *Case) pausedElsewhere(host string) []signals.Entity {
	things, _ := c.ofCode(detectors.CodePauseRx)
	return slices.DeleteFunc(things, func(e signals.Entity) bool { return e.Kind != signals.KindNIC || e.Host == host })
}

// congestedHosts is on how many hosts at least congestion must show.
const congestedHosts = 3

// congested judges congestion that many NICs see and nobody causes.
func (c *Case) congested() []Hypothesis {
	things, by := c.ofCode(detectors.CodeECN, detectors.CodePauseRx)
	things = slices.DeleteFunc(things, func(e signals.Entity) bool {
		return e.Kind != signals.KindNIC || c.excused(e.Host, c.opts.BootGrace)
	})
	if len(hostsOf(things)) < congestedHosts || c.lossSeen() {
		return nil
	}
	since := earliest(things, by)
	if c.Now.Sub(since) < time.Minute {
		return nil // two windows of a burst
	}
	h := newHypothesis(RoCECongestion, "incast")
	h.StartedAt, h.Scope, h.Confidence = since, "cluster", Low
	h.Needs = []signals.ID{signals.NICPauseRx}
	c.harmAll(&h, things)
	if h.Job != "" {
		h.Scope = "job"
	}
	if _, ok := c.commonStage(things); ok {
		h.Reason = "uplink_suspected"
	}
	slow, effect := c.slowUnder(things)
	h.Groups = slow
	if len(slow) == 0 {
		h.Severity = Info
	}
	h.Evidence = append(h.Evidence, tell(signals.NICPauseRx, signals.Entity{}, true, "%d NICs on %s are pushed back by the network, such as %s; none of them pauses others, nothing is lost",
		len(things), count(h.AffectedHosts, "host"), c.say(by[things[0]][0], false).Text))
	if len(slow) > 0 {
		h.Evidence = append(h.Evidence, tell(signals.CollExecTime, signals.Entity{}, false, "%s up to %s %% slower", count(len(slow), "communicator"), figure(effect*100)))
	}
	return []Hypothesis{h}
}

// lossSeen says whether packets are lost anywhere.
func (c *Case) lossSeen() bool {
	for _, x := range c.Code(detectors.CodePacketLoss) {
		if x.Windows >= 2 {
			return true
		}
	}
	return false
}
