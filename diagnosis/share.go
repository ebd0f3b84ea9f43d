package diagnosis

import (
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// shareFamily judges NICs by the bytes they carry: traffic that is not the
// job's, and ports that the job no longer uses after their link had been down.
type shareFamily struct {
	opts *Options
	// fell is when the link of a port was last seen to go down. It outlives
	// the finding, because the port stays unused for as long as the job runs.
	fell map[signals.Entity]time.Time
}

func newShareFamily(o *Options) Family {
	f := &shareFamily{opts: o, fell: map[signals.Entity]time.Time{}}
	return Family{Name: "share", Judge: f.judge, Memory: f}
}

const fellMemory = 24 * time.Hour

func (f *shareFamily) judge(c *Case) []Hypothesis {
	for _, code := range []string{detectors.CodePortDowntime, detectors.CodeLinkDowned, detectors.CodePortNotActive} {
		for _, x := range c.Code(code) {
			if nic := c.thing(x.Entity); x.Since.After(f.fell[nic]) {
				f.fell[nic] = x.Since
			}
		}
	}
	for nic, t := range f.fell {
		if c.Now.Sub(t) > fellMemory {
			delete(f.fell, nic)
		}
	}
	return append(f.unused(c), f.foreign(c)...)
}

// unused judges ports near zero for good after a flap, while sister ports carry.
func (f *shareFamily) unused(c *Case) []Hypothesis {
	things, by := c.ofCode(detectors.CodeTrafficGone)
	var out []Hypothesis
	for _, nic := range things {
		since := earliest([]signals.Entity{nic}, by)
		fell, ok := f.fell[nic]
		if !ok || since.Before(fell.Add(-2*time.Minute)) || since.After(fell.Add(10*time.Minute)) {
			continue // idle for another reason
		}
		if c.Has(nic, detectors.CodePortNotActive) != nil || c.Has(nic, detectors.CodeRateBelow) != nil || c.excused(nic.Host, f.opts.BootGrace) {
			continue
		}
		h := c.about(NICUnusedAfterFlap, "traffic_moved", nic, fell)
		h.Needs = []signals.ID{signals.NICTx, signals.NICState}
		for _, x := range by[nic] {
			h.Evidence = append(h.Evidence, c.say(x, true))
		}
		h.Evidence = append(h.Evidence, tell(signals.NICState, nic, true, "%s: port is active at its full rate again since its link went down at %s", nic, fell.UTC().Format(time.TimeOnly)))
		h.Confidence = Medium
		if sister := f.sister(c, nic); sister != nil {
			h.Confidence = High
			h.Evidence = append(h.Evidence, c.say(sister, false))
		}
		if ids, effect := c.SlowGroups(nic); len(ids) > 0 {
			h.Evidence = append(h.Evidence, tell(signals.CollExecTime, nic, false, "%s of its rail up to %s %% slower", count(len(ids), "communicator"), figure(effect*100)))
		}
		out = append(out, h)
	}
	return out
}

// sister returns the port of the same host that carries more than its share.
func (f *shareFamily) sister(c *Case, nic signals.Entity) *detectors.Finding {
	for _, x := range c.OnHost(nic.Host) {
		if x.Code == detectors.CodeTrafficAbove && c.thing(x.Entity) != nic {
			return x
		}
	}
	return nil
}

// foreign judges one NIC whose bytes rise while the communicators that use it
// get slower: the bytes are not theirs.
func (f *shareFamily) foreign(c *Case) []Hypothesis {
	things, by := c.ofCode(detectors.CodeTrafficAbove)
	var out []Hypothesis
	for _, nic := range things {
		slow, effect := c.SlowGroups(nic)
		if len(slow) == 0 || c.otherwiseSick(nic) || f.gone(c, nic.Host) || len(things) > 4 && float64(len(hostsOf(things))) > 0.25*float64(c.Hosts()) {
			continue
		}
		h := c.about(NICContention, "foreign_traffic", nic, earliest([]signals.Entity{nic}, by))
		h.Needs = []signals.ID{signals.NICTx}
		for _, x := range by[nic] {
			h.Evidence = append(h.Evidence, c.say(x, true))
		}
		h.Evidence = append(h.Evidence, tell(signals.CollExecTime, nic, true, "%s while its bytes rise", slowUsers(len(slow), effect)))
		if x := c.Has(nic, detectors.CodeTransmitWait); x != nil {
			h.Evidence = append(h.Evidence, c.say(x, false))
		}
		h.Groups = slow
		out = append(out, h)
	}
	return out
}

// gone says whether a port of the host is unused: then its sister carries the
// job's own bytes.
func (f *shareFamily) gone(c *Case, host string) bool {
	for _, x := range c.OnHost(host) {
		if x.Code == detectors.CodeTrafficGone || x.Code == detectors.CodePortNotActive {
			return true
		}
	}
	return false
}

// otherwiseSick says whether a NIC has a fact that explains slowness better.
func (c *Case) otherwiseSick(nic signals.Entity) bool {
	for _, code := range []string{detectors.CodeRateBelow, detectors.CodeBitErrors, detectors.CodePacketLoss, detectors.CodePortNotActive, detectors.CodePauseTx} {
		if c.Has(nic, code) != nil {
			return true
		}
	}
	return c.excused(nic.Host, c.opts.BootGrace)
}
