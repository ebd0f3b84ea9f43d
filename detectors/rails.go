package detectors

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// rails knows what the compute NICs of each host could carry and do carry.
// Cards of another model than the busiest one are left out: they are for
// storage or for management.
type rails struct {
	ports lists[string, railPort] // by host
	hosts map[string]hostRails
	read  time.Time // when hosts was made
}

type railPort struct {
	device, model string
	rate, tx      float64 // B/s
}

type hostRails struct {
	there, used int     // NICs that are up, and that carry a tenth of the busiest
	rate, tx    float64 // B/s: of one NIC, and sent by all
	device      string  // the busiest
}

// railUse is the same for a job: what its usual host has.
type railUse struct {
	hostRails
	// limit is what a communicator can reach with its members on a host, B/s.
	limit float64
	gpus  int
}

// railsEvery is how often hosts are looked at anew.
const railsEvery = time.Minute

// railUsed is the part of the traffic of the busiest NIC from which on another
// one counts as used.
const railUsed = 0.1

func newRails() *rails {
	return &rails{ports: lists[string, railPort]{}, hosts: map[string]hostRails{}}
}

func (d *rails) update(t *Tick) {
	rates, states, sent := t.column(signals.NICRate), t.column(signals.NICState), t.column(signals.NICTx)
	if t.Time.Sub(d.read) < railsEvery {
		return
	}
	d.read = t.Time
	d.ports.reset()
	for _, id := range sent.sorted() {
		rate, ok := rates.get(id)
		if v, known := states.get(id); !ok || rate <= 0 || known && v != stateActive {
			continue
		}
		e := t.Entities.Of(id)
		d.ports.add(e.Host, railPort{e.Device, t.model(id), rate, sent.row(id).value})
	}
	clear(d.hosts)
	for host, list := range d.ports {
		if len(list) == 0 {
			continue
		}
		busiest := slices.MaxFunc(list, func(a, b railPort) int { return cmp.Compare(a.tx, b.tx) })
		h := hostRails{rate: busiest.rate, device: busiest.device}
		for _, p := range list {
			if p.model != busiest.model || p.rate < busiest.rate/2 {
				continue
			}
			h.there++
			h.tx += p.tx
			if p.tx >= railUsed*busiest.tx && p.tx > 0 {
				h.used++
			}
		}
		d.hosts[host] = h
	}
}

// of is the usual host of a job: the median of each figure, so that one odd
// host decides nothing. Without NIC series all of it is zero.
func (d *rails) of(job *signals.Job, perHost int) railUse {
	var there, used, rate, tx []float64
	u := railUse{}
	for _, name := range job.Hosts {
		if h, ok := d.hosts[name]; ok {
			there, used = append(there, float64(h.there)), append(used, float64(h.used))
			rate, tx = append(rate, h.rate), append(tx, h.tx)
			u.device = h.device
		}
	}
	if 2*len(rate) <= len(job.Hosts) {
		return u
	}
	u.there, u.used, u.rate, u.tx = int(Median(there)), int(Median(used)), Median(rate), Median(tx)
	u.gpus = int(math.Ceil(float64(len(job.GPUs)) / float64(len(job.Hosts))))
	// A member drives the NICs next to it: one, or more where there are more
	// NICs than GPUs.
	each := max(1, u.there/max(1, u.gpus))
	u.limit = u.rate * float64(min(u.there, max(1, perHost)*each))
	return u
}
