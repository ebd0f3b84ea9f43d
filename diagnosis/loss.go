package diagnosis

import (
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// lossWindows is how many samples in a row must show loss: 45 s of scrapes.
const lossWindows = 3

// lossy judges packets that get lost. A receiver sees them out of sequence, a
// sender sees sequence errors, timeouts and sends again. One receiver alone is
// a sick NIC; several behind one switch are that switch; senders see it
// everywhere and are to blame only if they are alone.
func (c *Case) lossy() []Hypothesis {
	c.noteUnordered()
	receivers, byR := c.lasting(detectors.CodePacketLoss, signals.NICOutOfSequence)
	senders, byS := c.lasting(detectors.CodePacketLoss, signals.NICSeqErrors)
	out := c.retransmissions()
	switch hosts := hostsOf(receivers); {
	case len(receivers) == 0 && len(senders) == 0:
	case len(receivers) == 1 && (len(senders) == 0 || len(senders) > 1 || senders[0] == receivers[0]):
		out = append(out, c.oneLossy(receivers[0], byR))
	case len(receivers) == 1:
		out = append(out, c.pairLossy(receivers[0], senders[0], byR))
	case len(senders) == 1 && len(receivers) == 0:
		out = append(out, c.oneSender(senders[0], byS))
	case len(senders) == 1:
		out = append(out, c.oneLossy(senders[0], byS))
	case len(hosts) == 1:
		out = append(out, c.hostLossy(receivers, byR))
	case len(receivers) > 0:
		out = append(out, c.fabricLossy(receivers, senders, byR, byS))
	}
	return out
}

// lasting returns the NICs with a finding of a code and signal over enough
// samples, whose host is not excused.
func (c *Case) lasting(code string, id signals.ID) ([]signals.Entity, map[signals.Entity][]*detectors.Finding) {
	things, by := c.ofCode(code)
	var out []signals.Entity
	for _, nic := range things {
		var keep []*detectors.Finding
		for _, x := range by[nic] {
			if x.Signal == id && x.Windows >= lossWindows && !c.excused(nic.Host, c.opts.BootGrace) {
				keep = append(keep, x)
			}
		}
		by[nic] = keep
		if len(keep) > 0 {
			out = append(out, nic)
		}
	}
	return out, by
}

func (c *Case) oneLossy(nic signals.Entity, by map[signals.Entity][]*detectors.Finding) Hypothesis {
	h := c.about(NICDegraded, "packet_loss", nic, earliest([]signals.Entity{nic}, by))
	for _, x := range by[nic] {
		h.Evidence = append(h.Evidence, c.say(x, true))
	}
	h.Evidence = append(h.Evidence, without(c.support(nic), signals.NICOutOfSequence, signals.NICSeqErrors)...)
	return h
}

// pairLossy is one receiver and one other sender: the loss is on the path
// between them, and either end may be at fault.
func (c *Case) pairLossy(receiver, sender signals.Entity, by map[signals.Entity][]*detectors.Finding) Hypothesis {
	h := c.oneLossy(receiver, by)
	h.Candidates = []Suspect{c.NICSuspect(receiver), c.NICSuspect(sender)}
	h.Covers = []signals.Entity{receiver, sender}
	h.nobody(2)
	return h
}

// nobody turns a hypothesis about one of tied ends of a path into one that names
// none of them.
func (h *Hypothesis) nobody(tied int) {
	for i := range h.Candidates {
		h.Candidates[i].Score = 1 / float64(tied)
	}
	h.Suspects, h.TieSet, h.Confidence, h.Severity = nil, tied, Low, Warning
	h.Scope = "job"
	if h.Job == "" {
		h.Scope = "cluster"
	}
}

func (c *Case) hostLossy(nics []signals.Entity, by map[signals.Entity][]*detectors.Finding) Hypothesis {
	h := c.about(NICDegraded, "packet_loss", hostEntity(nics[0].Host), earliest(nics, by))
	for _, nic := range nics {
		h.Evidence = append(h.Evidence, c.say(by[nic][0], true))
	}
	return h
}

// fabricLossy is loss at several receivers: behind one switch, or everywhere.
func (c *Case) fabricLossy(receivers, senders []signals.Entity, byR, byS map[signals.Entity][]*detectors.Finding) Hypothesis {
	h := newHypothesis(RoCELoss, "drops_everywhere")
	h.StartedAt = onset(earliest(receivers, byR), earliest(senders, byS))
	h.Scope = "cluster"
	h.Confidence = Medium
	h.Needs = []signals.ID{signals.NICOutOfSequence}
	c.harmAll(&h, receivers)
	h.Covers = append(h.Covers, append(append([]signals.Entity{}, receivers...), senders...)...)
	if s, ok := c.commonStage(receivers); ok && s.leaf != "" {
		h.Reason = "drops_behind_switch"
		h.Scope = s.scope()
		h.Suspects, h.TieSet = []Suspect{s.suspect()}, 1
		h.Evidence = append(h.Evidence, tell(signals.NICOutOfSequence, signals.Entity{}, true, "all %d NICs that receive out of sequence are behind %s, on %s",
			len(receivers), s.leaf, count(h.AffectedHosts, "host")))
		for _, x := range c.Code(detectors.CodeSwitchDiscards) {
			if x.Entity.Device == s.leaf {
				h.Confidence = High
				h.Evidence = append(h.Evidence, c.say(x, true))
				break
			}
		}
	} else {
		h.Confidence = Low
		h.Evidence = append(h.Evidence, tell(signals.NICOutOfSequence, signals.Entity{}, true, "%d NICs on %s receive out of sequence, behind no common switch",
			len(receivers), count(h.AffectedHosts, "host")))
	}
	h.Evidence = append(h.Evidence, c.say(byR[receivers[0]][0], false))
	if len(senders) > 0 {
		h.Evidence = append(h.Evidence, tell(signals.NICSeqErrors, senders[0], false, "%d senders see sequence errors, such as %s", len(senders), c.say(byS[senders[0]][0], false).Text))
	}
	return h
}

// commonStage returns the stage that all NICs share, if they are on at least
// two hosts, and a majority of its hosts.
func (c *Case) commonStage(nics []signals.Entity) (stage, bool) {
	shared := map[stage]int{}
	for _, nic := range nics {
		for _, s := range c.stagesOf(nic) {
			shared[s]++
		}
	}
	hosts := len(hostsOf(nics))
	for s, n := range shared {
		all := len(hostsOf(c.inService(s)))
		if n == len(nics) && s.leaf != "" && hosts >= 2 && float64(hosts) > c.opts.Majority*float64(all) {
			return s, true
		}
	}
	return stage{}, false
}

// retransmissions judges the share of bytes sent again, which EFA exports: one
// device is sick, all devices are a congested zone.
func (c *Case) retransmissions() []Hypothesis {
	things, by := c.lasting(detectors.CodeRetransmissions, signals.NICRetransmitBytes)
	if len(things) == 0 {
		return nil
	}
	all := 0
	for _, x := range by[things[0]] {
		all = x.Peers + 1
	}
	since := earliest(things, by)
	hosts := hostsOf(things)
	if len(things) > 3 && len(hosts) >= 3 && float64(len(things)) > 0.25*float64(all) {
		return []Hypothesis{c.zone(things, by, since, all)}
	}
	perHost := map[string][]signals.Entity{}
	for _, nic := range things {
		perHost[nic.Host] = append(perHost[nic.Host], nic)
	}
	var out []Hypothesis
	for _, host := range sortedSet(hosts) {
		nics := perHost[host]
		if len(nics) > 2 {
			h := c.about(NICDegraded, "retransmissions", hostEntity(host), earliest(nics, by))
			h.Evidence = append(h.Evidence, tell(signals.NICRetransmitBytes, h.Covers[0], true, "%d devices of %s send bytes again, such as %s", len(nics), host, c.say(by[nics[0]][0], true).Text))
			out = append(out, h)
			continue
		}
		for _, nic := range nics {
			out = append(out, c.oneRetransmits(nic, by))
		}
	}
	return out
}

func (c *Case) oneRetransmits(nic signals.Entity, by map[signals.Entity][]*detectors.Finding) Hypothesis {
	h := c.about(NICDegraded, "retransmissions", nic, earliest([]signals.Entity{nic}, by))
	h.Needs = []signals.ID{signals.NICRetransmitBytes}
	h.Next = "replace the instance; port state says nothing on this fabric" + cordonAdvice
	h.Command = "rdma statistic show link DEVICE/1"
	for _, x := range by[nic] {
		h.Evidence = append(h.Evidence, c.say(x, true))
	}
	h.Evidence = append(h.Evidence, without(c.support(nic), signals.NICRetransmitBytes)...)
	silent := map[string]bool{}
	for _, x := range c.Code(detectors.CodeRemoteSilent) {
		if x.Entity.Host != nic.Host {
			silent[x.Entity.Host] = true
		}
	}
	if len(silent) > 0 {
		h.Evidence = append(h.Evidence, tell(signals.NICRemoteUnresponsive, nic, false, "%s see a remote that does not answer", count(len(silent), "other host")))
	}
	return h
}

func (c *Case) zone(things []signals.Entity, by map[signals.Entity][]*detectors.Finding, since time.Time, all int) Hypothesis {
	h := newHypothesis(FabricCongestion, "zone_wide")
	h.StartedAt, h.Scope, h.Confidence = since, "cluster", Medium
	h.Needs = []signals.ID{signals.NICRetransmitBytes}
	c.harmAll(&h, things)
	h.Evidence = append(h.Evidence, tell(signals.NICRetransmitBytes, signals.Entity{}, true, "%d of %d devices on %s send bytes again, such as %s",
		len(things), all, count(h.AffectedHosts, "host"), c.say(by[things[0]][0], false).Text))
	return h
}
