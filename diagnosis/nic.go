package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// nicFamily judges single NICs that are sick by a fact of their own: their rate,
// their bit errors, the packets they lose or send again. Many at once under one
// leaf are not many sick NICs.
func nicFamily(o *Options) Family {
	return Family{Name: "nic", Judge: func(c *Case) []Hypothesis {
		out := c.downtrained()
		out = append(out, c.bitErrors(o)...)
		return joinNameless(append(out, c.lossy()...))
	}}
}

// downtrained judges ports below the rate of peers with the same card.
func (c *Case) downtrained() []Hypothesis {
	things, by := c.ofCode(detectors.CodeRateBelow)
	var sick []signals.Entity
	for _, nic := range things {
		if !c.excused(nic.Host, c.opts.BootGrace) {
			sick = append(sick, nic)
		}
	}
	out := c.wide(&sickAlike{"rate_downtrained", "a rate below that of their peers", signals.NICRate, sick, by})
	for _, nic := range sick {
		if x := by[nic][0]; !coveredBy(out, nic) {
			h := c.about(NICDegraded, "rate_downtrained", nic, x.Since)
			h.Evidence = slices.Concat([]Evidence{c.sayCard(x)}, c.legs(nic, x.Since), c.support(nic))
			c.harmless(&h, nic)
			out = append(out, h)
		}
	}
	return out
}

// sayCard says against which cards a rate was compared.
func (c *Case) sayCard(x *detectors.Finding) Evidence {
	e := c.say(x, true)
	e.Text = strings.Replace(e.Text, "of "+count(x.Peers, "peer"), "of "+count(x.Peers, "peer")+" with the same card", 1)
	return e
}

// support is what else is unusual about a NIC: counters, and how much slower
// the communicators are that use it.
func (c *Case) support(nic signals.Entity) []Evidence {
	var out []Evidence
	for _, x := range c.On(nic) {
		switch x.Code {
		case detectors.CodeBitErrors, detectors.CodePacketLoss, detectors.CodeRetransmissions, detectors.CodeTransmitWait,
			detectors.CodePCIeStall, detectors.CodePauseTx, detectors.CodePauseRx:
			out = append(out, c.say(x, false))
		case detectors.CodeLinkDowned:
			out = append(out, tell(x.Signal, x.Entity, false, "%s: link went down %s in the last hour", nic, times(x.Count)))
		}
	}
	out = append(out, c.wireWaits(nic)...)
	if ids, effect := c.SlowGroups(nic); len(ids) > 0 {
		out = append(out, tell(signals.CollExecTime, nic, false, "%s", slowUsers(len(ids), effect)))
	}
	return out
}

// wireWaits is that the network steps of the GPU beside a NIC wait for the wire
// as on no other link of their communicator.
func (c *Case) wireWaits(nic signals.Entity) []Evidence {
	gpu, ok := c.GPUOf(nic)
	if !ok {
		return nil
	}
	var out []Evidence
	for _, x := range c.On(gpu) {
		if x.Code == detectors.CodeWireWait {
			out = append(out, tell(x.Signal, x.Entity, false, "%s: its network steps wait on the wire towards rank %s for %.2g s a second, on no other of %s more than %.2g",
				gpu, x.Entity.Peer, x.Value, count(x.Peers, "link"), x.Expected))
		}
	}
	return out
}

// bitErrors judges ports whose symbol, receive, icrc or integrity errors rise
// for a while. A burst after a neighbour's reboot is over before that.
func (c *Case) bitErrors(o *Options) []Hypothesis {
	things, by := c.ofCode(detectors.CodeBitErrors)
	var sick []signals.Entity
	for _, nic := range things {
		if !c.excused(nic.Host, o.BootGrace) && c.Now.Sub(earliest([]signals.Entity{nic}, by)) >= o.ErrorsHold {
			sick = append(sick, nic)
		}
	}
	out := c.wide(&sickAlike{"bit_errors", "bit errors", signals.NICSymbolErrors, sick, by})
	for i := range out {
		if h := &out[i]; h.Class == NICDegraded {
			h.Severity = c.errorSeverity(o, h)
		}
	}
	for _, nic := range sick {
		if coveredBy(out, nic) {
			continue
		}
		since := earliest([]signals.Entity{nic}, by)
		h := c.about(NICDegraded, "bit_errors", nic, since)
		h.Severity = c.errorSeverity(o, &h)
		h.Next = "clean or replace optics and cable at both ends" + c.bothEnds(nic) + cordonAdvice
		for _, x := range by[nic] {
			h.Evidence = append(h.Evidence, c.say(x, true))
		}
		h.Evidence = append(h.Evidence, without(c.support(nic), signals.NICSymbolErrors, signals.NICRxErrors, signals.NICICRC, signals.NICLinkIntegrity)...)
		c.harmless(&h, nic)
		out = append(out, h)
	}
	return out
}

// errorSeverity is a warning that becomes critical for jobs with time.
func (c *Case) errorSeverity(o *Options, h *Hypothesis) Severity {
	if c.Now.Sub(h.StartedAt) >= o.ErrorsCritical && len(h.Jobs) > 0 {
		return Critical
	}
	return Warning
}

// bothEnds names the cable, as far as it is known.
func (c *Case) bothEnds(nic signals.Entity) string {
	p := c.Port(nic)
	if p == nil || p.Leaf == "" {
		return ""
	}
	text := " (" + nic.Host + " " + nic.Device + " and " + p.Leaf
	if p.LeafPort != "" {
		text += " port " + p.LeafPort
	}
	return text + ")"
}

// without drops evidence of some signals, which was given before.
func without(list []Evidence, ids ...signals.ID) []Evidence {
	var out []Evidence
	for _, e := range list {
		drop := false
		for _, id := range ids {
			drop = drop || e.Signal == id
		}
		if !drop {
			out = append(out, e)
		}
	}
	return out
}

// wholeStage is a hypothesis about a leaf, or a rail whose leaf is unknown.
func (c *Case) wholeStage(s stage, nics []signals.Entity, reason string, since time.Time) Hypothesis {
	class := LeafDegraded
	if s.leaf == "" {
		class, reason = RailDegraded, "no_topology"
	}
	h := newHypothesis(class, reason)
	h.StartedAt = since
	h.Scope = s.scope()
	h.Suspects, h.TieSet = []Suspect{s.suspect()}, 1
	h.Confidence = High
	if s.leaf == "" {
		h.Confidence = Medium
	}
	h.Covers = append(h.Covers, c.members(s)...)
	h.Needs = []signals.ID{signals.NICState}
	c.harmAll(&h, nics)
	return h
}

func earliest(things []signals.Entity, by map[signals.Entity][]*detectors.Finding) time.Time {
	var t time.Time
	for _, e := range things {
		for _, x := range by[e] {
			t = onset(t, x.Since)
		}
	}
	return t
}

func coveredBy(hs []Hypothesis, e signals.Entity) bool {
	for i := range hs {
		if hs[i].covers(e) {
			return true
		}
	}
	return false
}
