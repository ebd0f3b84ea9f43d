package diagnosis

import (
	"slices"
	"time"

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
// card of their host went down: it is that card's, told under its name.
func (f *linkFamily) otherNames(c *Case, ports []portCase) []portCase {
	fell := map[string][]time.Time{}
	for i := range ports {
		if p := &ports[i]; !c.strange(p.nic) {
			fell[p.nic.Host] = append(fell[p.nic.Host], p.since)
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
