package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// switchPorts compares the load of a switch's uplinks with each other and
// counts its links to other switches.
type switchPorts struct {
	out, rate *column // of the tick
	uneven    map[signals.EntityID]streak
	wasUp     map[signals.EntityID]bool
	uplinks   map[string]*uplinkMemory
}

type uplinkMemory struct {
	ports     map[string]bool
	best, now int
	streak    streak
	last      int64
}

const (
	unevenRatio   = 1.8 // of the median of its siblings
	unevenWindows = 4
	uplinkGone    = 3 * time.Minute
)

func newSwitchPorts() *switchPorts {
	return &switchPorts{
		uneven: map[signals.EntityID]streak{}, wasUp: map[signals.EntityID]bool{}, uplinks: map[string]*uplinkMemory{},
	}
}

func (d *switchPorts) Name() string { return "switch_ports" }

// Observe implements [Detector].
func (d *switchPorts) Observe(t *Tick, r *Report) {
	d.out, d.rate = t.column(signals.SwitchPortTx), t.column(signals.SwitchPortRate)
	d.links(t, r)
	if t.Frames[signals.SwitchPortTx].Len() > 0 {
		d.loads(t)
	}
	d.report(t, r)
	d.down(t, r)
}

// loads compares each port with its siblings: uplinks with uplinks where links
// between switches are known, otherwise the busiest ports of a switch with all.
func (d *switchPorts) loads(t *Tick) {
	bySwitch := map[string][]signals.EntityID{}
	for _, id := range d.out.sorted() {
		e := t.Entities.Of(id)
		if m := d.uplinks[e.Device]; m != nil && len(m.ports) > 0 && !m.ports[e.Port] {
			continue
		}
		bySwitch[e.Device] = append(bySwitch[e.Device], id)
	}
	for _, ids := range bySwitch {
		values := make([]float64, 0, len(ids))
		for _, id := range ids {
			values = append(values, d.out.row(id).value)
		}
		for _, id := range ids {
			row := d.out.row(id)
			mid := medianWithout(values, row.value)
			full := true
			if rate, ok := d.rate.get(id); ok && rate > 0 {
				full = row.value >= 0.4*rate
			}
			s := d.uneven[id]
			s.hold(len(ids) >= 2 && full && row.value >= trafficBusy && row.value >= unevenRatio*mid, row.stamp, row.value, mid)
			keepStreak(d.uneven, id, s)
		}
	}
}

// links counts the links of each switch to others. A switch that reports none
// at all is not reporting.
func (d *switchPorts) links(t *Tick, r *Report) {
	f := t.Frames[signals.SwitchUplink]
	if f.Len() == 0 {
		return
	}
	now := map[string]map[string]bool{}
	for i, id := range f.Entity {
		e := t.Entities.Of(id)
		if f.Value[i] == 0 {
			continue
		}
		if now[e.Device] == nil {
			now[e.Device] = map[string]bool{}
		}
		now[e.Device][e.Port] = true
	}
	names := make([]string, 0, len(now))
	for name, ports := range now {
		m := d.uplinks[name]
		if m == nil {
			m = &uplinkMemory{}
			d.uplinks[name] = m
		}
		m.ports, m.now, m.best, m.last = ports, len(ports), max(m.best, len(ports)), t.Time.UnixMilli()
		m.streak.hold(m.now < m.best, t.Time.UnixMilli(), float64(m.now), float64(m.best))
		if m.streak.windows >= 2 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		m := d.uplinks[name]
		r.Findings = append(r.Findings, Finding{
			Detector: d.Name(), Pattern: Fact, Signal: signals.SwitchUplink, Entity: signals.Entity{Kind: signals.KindSwitchPort, Device: name},
			Direction: signals.Down, Value: float64(m.now), Expected: float64(m.best), Score: math.NaN(), Since: unixMilli(m.streak.since), Code: CodeUplinksLost,
		})
	}
}

func (d *switchPorts) report(t *Tick, r *Report) {
	var ids []signals.EntityID
	for id, s := range d.uneven {
		if _, ok := d.out.get(id); ok && s.windows >= unevenWindows {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		s, e := d.uneven[id], t.Entities.Of(id)
		peers := 0
		if m := d.uplinks[e.Device]; m != nil {
			peers = len(m.ports) - 1
		}
		r.Findings = append(r.Findings, Finding{
			Detector: d.Name(), Pattern: PeerOutlier, Signal: signals.SwitchPortTx, Entity: e, Direction: signals.Up, Value: s.value,
			Expected: s.against, Score: math.NaN(), Peers: max(peers, 1), Windows: int(s.windows), Since: unixMilli(s.since), Code: CodeUplinkUneven,
		})
	}
}

// down reports ports of a switch that were up and are not.
func (d *switchPorts) down(t *Tick, r *Report) {
	state := t.column(signals.SwitchPortState)
	for _, id := range state.sorted() {
		row := state.row(id)
		if row.value == stateActive {
			d.wasUp[id] = true
			continue
		}
		if d.wasUp[id] {
			r.Findings = append(r.Findings, Finding{
				Detector: d.Name(), Pattern: Fact, Signal: signals.SwitchPortState, Entity: t.Entities.Of(id), Direction: signals.Down,
				Value: row.value, Expected: stateActive, Score: math.NaN(), Since: unixMilli(row.stamp), Code: CodeSwitchPortDown,
			})
		}
	}
}

// Renumber implements [Renumberer].
func (d *switchPorts) Renumber(to []signals.EntityID, _ int) {
	d.uneven, d.wasUp = renumberMap(d.uneven, to), renumberMap(d.wasUp, to)
}
