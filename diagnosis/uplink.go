package diagnosis

import (
	"math"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

const (
	// cableWait is how long a port that nothing knows is compared with NICs before
	// it is taken for an uplink: NICs are read once a minute at the latest.
	cableWait = 90 * time.Second
	// cableKept is how long it counts that one of them received the same.
	cableKept = 10 * time.Minute
	// cableAlike is how near the bytes at both ends of a cable are: they are read at
	// different times.
	cableAlike = 0.1
)

// uplinks judges a switch port that carries far more than its siblings and marks
// packets, while nothing is lost.
func (c *Case) uplinks() []Hypothesis {
	var out []Hypothesis
	for _, x := range c.Code(detectors.CodeUplinkUneven) {
		marks := c.Has(x.Entity, detectors.CodeSwitchECN)
		wait := c.Has(x.Entity, detectors.CodeSwitchWait)
		if marks == nil && wait == nil || !c.uplink(x) {
			continue
		}
		h := newHypothesis(UplinkCongestion, "uneven_uplinks")
		h.StartedAt, h.TieSet, h.Confidence = x.Since, 1, High
		h.Scope = "leaf:" + x.Entity.Device
		h.Suspects = []Suspect{{Kind: "link", Switch: x.Entity.Device, Port: x.Entity.Port, Score: 1}}
		h.Covers = []signals.Entity{x.Entity}
		h.Needs = []signals.ID{signals.SwitchPortTx}
		under := c.members(c.leafStage(x.Entity.Device))
		c.harmAll(&h, under)
		h.Evidence = append(h.Evidence, c.say(x, true))
		for _, more := range []*detectors.Finding{marks, wait} {
			if more != nil {
				h.Evidence = append(h.Evidence, c.say(more, true))
			}
		}
		slow, effect := c.slowUnder(under)
		if len(slow) > 0 {
			h.Groups = slow
			h.Evidence = append(h.Evidence, tell(signals.CollExecTime, signals.Entity{}, false, "%s across the switch up to %s %% slower", count(len(slow), "communicator"), figure(effect*100)))
		}
		out = append(out, h)
	}
	return out
}

// uplink says whether a switch port leads to another switch. Where no cable of the
// switch is known, a port to a host that receives much looks like one: it is none
// if a NIC somewhere receives what it sends.
func (c *Case) uplink(x *detectors.Finding) bool {
	for _, u := range c.Fabric.Uplinks(x.Entity.Device) {
		if u.Port == x.Entity.Port {
			return true
		}
	}
	known := false
	for _, p := range c.Fabric.Under(x.Entity.Device) {
		if known = known || p.LeafPort != ""; p.LeafPort != "" && p.LeafPort == x.Entity.Port {
			return false
		}
	}
	if known {
		return true
	}
	if c.received(x.Value) {
		c.memory.toHost[x.Entity.Thing()] = c.Now
	}
	at, ok := c.memory.toHost[x.Entity.Thing()]
	return (!ok || c.Now.Sub(at) > cableKept) && c.Offered(signals.NICRx) && c.Now.Sub(x.Since) >= cableWait
}

// received says whether some NIC receives about so many bytes a second now.
func (c *Case) received(rate float64) bool {
	f := c.Snapshot.Frame(signals.NICRx)
	for i := range f.Len() {
		if math.Abs(f.Value[i]-rate) <= cableAlike*rate {
			return true
		}
	}
	return false
}
