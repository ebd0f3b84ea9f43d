package diagnosis

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// A network device that nothing connects with a card ("ens3f0np0", "eth0", "ib3",
// a leg of a bond) has a carrier and nothing else. On a host whose cards are known
// it is another name of one of them, whose link is watched under its own name, or
// it is a port that carries no collectives. Neither is a second fault, nor may it
// explain what a job suffers.

// strange says that nothing connects a device with a card, on a host whose cards
// are known.
func (c *Case) strange(nic signals.Entity) bool {
	return c.Port(nic) == nil && slices.ContainsFunc(c.Fabric.Ports(nic.Host), func(p *topology.Port) bool { return p.Compute })
}

// otherNames leaves out strange devices whose carrier was lost as the link of a
// card of their host went down, or as its rate fell: it is that card's, or a leg of
// the bond that the card is, and told under its name.
func (f *linkFamily) otherNames(c *Case, ports []portCase) []portCase {
	fell := map[string][]time.Time{}
	for i := range ports {
		if p := &ports[i]; !c.strange(p.nic) {
			fell[p.nic.Host] = append(fell[p.nic.Host], p.since)
		}
	}
	for _, x := range c.Code(detectors.CodeRateBelow) {
		if nic := c.thing(x.Entity); !c.strange(nic) {
			fell[nic.Host] = append(fell[nic.Host], x.Since)
		}
	}
	for nic, at := range f.others {
		if c.Now.Sub(at) > 2*f.opts.FlapMemory {
			delete(f.others, nic)
		}
	}
	return slices.DeleteFunc(ports, func(p portCase) bool {
		if !c.strange(p.nic) {
			return false
		}
		if slices.ContainsFunc(fell[p.nic.Host], func(t time.Time) bool { return p.since.Sub(t).Abs() <= burst }) {
			f.others[p.nic] = p.since
		}
		at, ok := f.others[p.nic]
		return ok && !p.since.After(at)
	})
}

// strangeHold is for how long a notice about a strange device waits for what the
// cards of its host show, which may be scraped once a minute and is believed from
// the second sample on.
const strangeHold = 2*burst + 30*time.Second

// legs are strange devices of a card's host whose carrier was lost as the card's
// rate fell: of two legs of a bond one is left.
func (c *Case) legs(card signals.Entity, fell time.Time) []Evidence {
	var out []Evidence
	for _, x := range c.OnHost(card.Host) {
		if nic := c.thing(x.Entity); x.Code == detectors.CodeLinkDowned && nic.Kind == signals.KindNIC && c.strange(nic) && x.Since.Sub(fell).Abs() <= burst {
			out = append(out, tell(signals.NICCarrierDown, nic, true, "%s lost its carrier at %s, as the rate of %s fell: it is a leg of it, as it seems", nic, x.Since.UTC().Format("15:04:05 UTC"), card.Device))
		}
	}
	return out
}

// unplaced takes the jobs off a hypothesis about a strange device.
func (c *Case) unplaced(h *Hypothesis, nic signals.Entity) {
	if !c.strange(nic) {
		return
	}
	h.Job, h.Jobs, h.JobEnded, h.Scope = "", nil, false, "host:"+nic.Host
	if h.Severity > Warning {
		h.Severity, h.Immediate = Warning, false
	}
	h.Evidence = append(h.Evidence, tell(signals.NICCarrierDown, nic, false, "nothing connects %s with one of the cards that carry collectives, and no link of theirs went down with it", nic))
}
