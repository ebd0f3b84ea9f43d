package diagnosis

import (
	"math"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// A port that carries nothing while its neighbours carry the job can be as sick
// as it likes: it is worth a ticket, and no job suffers from it. Taken for harm,
// it would explain away whatever else is wrong with the job at the same time.

const (
	// unusedShare is the part of the traffic of the busiest port of its host
	// below which a port is not one that carries collectives; subnet managers and
	// probes are kilobytes a second.
	unusedShare = 0.01
	// unusedFloor is the traffic of the busiest port, in B/s, below which nothing
	// is said: in a stall all ports are quiet.
	unusedFloor = 1e8
	// unusedKept is how long a port that was seen unused is so while nothing new
	// is known: a scrape may be slower than the ticks.
	unusedKept = 2 * time.Minute
)

// unused says that a NIC carries nothing while another of its host is busy.
func (c *Case) unused(nic signals.Entity) bool {
	rates := c.rates(nic.Host)
	own, known := rates[nic]
	busiest := 0.0
	for _, v := range rates {
		busiest = max(busiest, v)
	}
	if !known || busiest < unusedFloor {
		at, ok := c.memory.unused[nic]
		return ok && c.Now.Sub(at) <= unusedKept
	}
	if own >= unusedShare*busiest {
		delete(c.memory.unused, nic)
		return false
	}
	c.memory.unused[nic] = c.Now
	return true
}

// rates is what the NICs of a host send and receive now, in B/s. Hosts are read
// together and once: few of many ask, or many.
func (c *Case) rates(host string) map[signals.Entity]float64 {
	if c.nicRates == nil {
		c.nicRates = map[string]map[signals.Entity]float64{}
		for _, id := range []signals.ID{signals.NICTx, signals.NICRx} {
			f := c.Snapshot.Frame(id)
			for i := range f.Len() {
				if math.IsNaN(f.Value[i]) {
					continue
				}
				nic := c.thing(c.Snapshot.Entities.Of(f.Entity[i]))
				if c.nicRates[nic.Host] == nil {
					c.nicRates[nic.Host] = map[signals.Entity]float64{}
				}
				c.nicRates[nic.Host][nic] += f.Value[i]
			}
		}
	}
	return c.nicRates[host]
}

// harmless takes the jobs off a hypothesis about a port that none of them uses.
// A port that lost its traffic by a flap is no spare one.
func (c *Case) harmless(h *Hypothesis, nic signals.Entity) {
	if c.Has(nic, detectors.CodeLinkDowned) != nil || !c.unused(nic) {
		return
	}
	h.Job, h.Jobs, h.JobEnded, h.Scope = "", nil, false, "host:"+nic.Host
	h.Severity = min(h.Severity, Warning)
	h.Evidence = append(h.Evidence, tell(signals.NICTx, nic, false, "%s carries nothing while other ports of its host are busy: no job uses it", nic))
}
