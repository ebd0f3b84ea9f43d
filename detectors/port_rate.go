package detectors

import (
	"math"

	"github.com/collwatch/collwatch/signals"
)

// portRate compares the negotiated rate of a port with ports that have the same
// card model, and with its own past. Cards of different models are never
// compared; a card that has one rate in all hosts (a storage card, an older
// generation) has nothing to answer for.
type portRate struct {
	rate, state *column // of the tick
	ports       table[rateMemory]
	peers       ratePeers // of the tick
}

type rateMemory struct {
	best   float64 // the highest rate seen
	streak streak
}

// rateBelow is the part of the peers' rate under which a port is degraded: lanes
// and speeds are lost by halves, so anything between 0.5 and 1 separates them.
const rateBelow = 0.8

// rateSamples is in how many samples a rate must be low: one may be read while
// the link trains, or misread.
const rateSamples = 2

func newPortRate() *portRate {
	return &portRate{
		peers: ratePeers{lists[string, float64]{}, lists[[3]string, float64]{}, lists[[2]string, float64]{}},
	}
}

func (d *portRate) Name() string { return "port_rate" }

// Observe implements [Detector].
func (d *portRate) Observe(t *Tick, r *Report) {
	d.rate, d.state = t.column(signals.NICRate), t.column(signals.NICState)
	ids := d.rate.sorted()
	if len(ids) == 0 {
		return
	}
	d.group(t, ids)
	for _, id := range ids {
		d.judge(t, r, id)
	}
}

// ratePeers are the rates of ports by card model, by model, device and port, and by
// model and host, sorted.
type ratePeers struct {
	model lists[string, float64]
	name  lists[[3]string, float64]
	host  lists[[2]string, float64]
}

// usable says whether a port is up: the rate of a port without a link means
// nothing.
func (d *portRate) usable(id signals.EntityID) bool {
	if v, ok := d.rate.get(id); !ok || v <= 0 {
		return false
	}
	v, ok := d.state.get(id)
	return !ok || v == stateActive
}

func (d *portRate) group(t *Tick, ids []signals.EntityID) {
	p := &d.peers
	p.model.reset()
	p.name.reset()
	p.host.reset()
	for _, id := range ids {
		if !d.usable(id) {
			continue
		}
		v, _ := d.rate.get(id)
		e := t.Entities.Of(id)
		model := t.model(id)
		p.name.add([3]string{model, e.Device, e.Port}, v)
		p.host.add([2]string{model, e.Host}, v)
		if model != "" {
			p.model.add(model, v)
		}
	}
	sortLists(p.model)
	sortLists(p.name)
	sortLists(p.host)
}

func (d *portRate) judge(t *Tick, r *Report, id signals.EntityID) {
	if !d.usable(id) {
		return
	}
	v, _ := d.rate.get(id)
	m := d.ports.put(id)
	e := t.Entities.Of(id)
	expected, n, low := d.compare(e, t.model(id), v, max(m.best, v))
	if m.best < v {
		m.best = v
	}
	stamp := d.rate.row(id).stamp
	stands := m.streak.hold(low, stamp, v, expected)
	if !stands || m.streak.windows < rateSamples {
		return
	}
	f := Finding{
		Detector: d.Name(), Pattern: PeerOutlier, Signal: signals.NICRate, Entity: e, Direction: signals.Down,
		Value: m.streak.value, Expected: m.streak.against, Score: math.NaN(), Peers: n, Windows: int(m.streak.windows),
		Since: unixMilli(m.streak.since), Code: CodeRateBelow,
	}
	if j := t.JobOf(e); j != nil {
		f.Job = j.ID
	}
	r.Findings = append(r.Findings, f)
}

// compare says whether v is below what the same card does elsewhere; best is the
// highest rate the port itself had. With too few peers its own past decides.
func (d *portRate) compare(e signals.Entity, model string, v, best float64) (expected float64, n int, low bool) {
	fell := v < rateBelow*best
	// A host all of whose cards have one rate is of another generation.
	if all := d.peers.host[[2]string{model, e.Host}]; !fell && len(all) >= 2 && all[len(all)-1] <= 1.02*v {
		return v, len(all) - 1, false
	}
	same := d.peers.name[[3]string{model, e.Device, e.Port}]
	if len(same) >= 4 {
		mid := same[len(same)/2]
		few := max(1.5, 0.1*float64(len(same)))
		return mid, len(same) - 1, v < rateBelow*mid && (fell || shareAt(same, v)*float64(len(same)) <= few)
	}
	all := d.peers.model[model]
	if len(all) >= 4 {
		mid := all[len(all)/2]
		return mid, len(all) - 1, v < rateBelow*mid && (fell || shareAt(all, v)*float64(len(all)) <= 1)
	}
	return best, 0, fell
}

// shareAt is the share of a sorted list that lies within 2 % of v.
func shareAt(list []float64, v float64) float64 {
	n := 0
	for _, x := range list {
		if math.Abs(x-v) <= 0.02*v {
			n++
		}
	}
	return float64(n) / float64(len(list))
}

// Renumber implements [Renumberer].
func (d *portRate) Renumber(to []signals.EntityID, _ int) { d.ports.renumber(to) }
