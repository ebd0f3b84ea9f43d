package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// portState watches whether NIC ports are active. A port that was never seen
// active is not provisioned and says nothing (dual-port cards have a second
// port that is down for ever). Downtime is summed over a while, because seconds
// without a link, not the number of events, decide whether a job survives.
type portState struct {
	ports table[portMemory]
	// down are the ports that are down now, to be kept; recalled those that were
	// before a restart, with the time in Unix ms, until they are seen again.
	down     []keptPort
	recalled map[portName]int64
	until    time.Time // when those are forgotten, zero before the first tick
}

// portMemory is the past of one port.
type portMemory struct {
	active  bool  // was seen active
	down    bool  // is not active now
	since   int64 // Unix ms of the change
	value   float64
	seen    uint16       // samples that show it down in a row
	periods []downPeriod // newest last
}

// downPeriod is one time without a link, in Unix ms.
type downPeriod struct{ from, to int64 }

const (
	portMemoryFor  = time.Hour
	portWindow     = 10 * time.Minute
	periodsKept    = 16
	stateActive    = 4
	physLinkUp     = 5
	leastDownPause = 5 * time.Second // one scrape down counts as this much at least
)

func newPortState() *portState {
	return &portState{}
}

func (d *portState) Name() string { return "port_state" }

// Observe implements [Detector].
func (d *portState) Observe(t *Tick, r *Report) {
	state := t.column(signals.NICState)
	d.forget(t.Time)
	if f := t.Frames[signals.NICState]; f.Len() > 0 {
		for i, id := range f.Entity {
			worst := f.Value[i]
			if f.Min != nil {
				worst = f.Min[i]
			}
			d.observe(t, id, f.Value[i], worst, f.Stamp[i])
		}
	} else if f := t.Frames[signals.NICPhysState]; f.Len() > 0 && state.rows.len() == 0 {
		for i, id := range f.Entity {
			v := f.Value[i]
			if v == physLinkUp {
				v = stateActive
			}
			d.observe(t, id, v, v, f.Stamp[i])
		}
	}
	d.report(t, r)
}

// observe takes one sample; worst is the lowest state since the one before.
func (d *portState) observe(t *Tick, id signals.EntityID, v, worst float64, stamp int64) {
	if math.IsNaN(v) {
		return
	}
	p := d.ports.at(id)
	if p == nil {
		p = d.ports.put(id)
		d.takeUp(t.Entities.Of(id), p, v, stamp)
	}
	was := p.active
	switch {
	case v == stateActive && p.down:
		p.down = false
		p.periods = append(p.periods, downPeriod{p.since, stamp})
	case v == stateActive && was && worst < stateActive && worst > 0:
		p.periods = append(p.periods, downPeriod{stamp - leastDownPause.Milliseconds(), stamp})
	case v != stateActive && was && !p.down:
		p.down, p.since = true, stamp
	}
	p.active = p.active || v == stateActive
	p.value = v
	if p.seen = saturate(p.seen); !p.down {
		p.seen = 0
	}
	if len(p.periods) > periodsKept {
		p.periods = slices.Delete(p.periods, 0, len(p.periods)-periodsKept)
	}
}

func (d *portState) report(t *Tick, r *Report) {
	var ids []signals.EntityID
	d.down = nil
	for i := range d.ports.list {
		p := &d.ports.list[i].v
		for len(p.periods) > 0 && t.Time.UnixMilli()-p.periods[0].to > portMemoryFor.Milliseconds() {
			p.periods = p.periods[1:]
		}
		if p.down || len(p.periods) > 0 {
			ids = append(ids, d.ports.list[i].id)
		}
	}
	slices.Sort(ids)
	var up map[string]bool
	if len(ids) > 0 {
		up = d.hostsUp(t)
	}
	for _, id := range ids {
		p := d.ports.at(id)
		e := t.Entities.Of(id)
		base := Finding{Detector: d.Name(), Signal: signals.NICState, Entity: e, Direction: signals.Down, Score: math.NaN(), Expected: math.NaN()}
		if j := t.JobOf(e); j != nil {
			base.Job = j.ID
		}
		if p.down {
			if up[e.Host] {
				d.down = append(d.down, keptPort{nameOfPort(e), unixMilli(p.since)})
			}
			f := base
			f.Pattern, f.Code, f.Value, f.Expected, f.Windows = Fact, CodePortNotActive, p.value, stateActive, int(p.seen)
			f.Since = unixMilli(p.since)
			f.Count = t.Time.Sub(f.Since).Seconds()
			r.Findings = append(r.Findings, f)
		}
		f := base
		f.Pattern, f.Code = Event, CodePortDowntime
		f.Value, f.Count, f.Since = p.downtime(t.Time.UnixMilli())
		r.Findings = append(r.Findings, f)
	}
}

// downtime is the seconds without a link in the last 10 min, the number of
// times in the last hour, and the beginning of the newest.
func (p *portMemory) downtime(now int64) (seconds, times float64, since time.Time) {
	from := now - portWindow.Milliseconds()
	all := p.periods
	if p.down {
		all = append(slices.Clone(all), downPeriod{p.since, now})
	}
	for _, q := range all {
		if q.to > from {
			seconds += float64(q.to-max(q.from, from)) / 1000
		}
		since = unixMilli(q.from)
	}
	return seconds, float64(len(all)), since
}

// Renumber implements [Renumberer].
func (d *portState) Renumber(to []signals.EntityID, _ int) { d.ports.renumber(to) }
