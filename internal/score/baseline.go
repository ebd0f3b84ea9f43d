package score

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
)

// Alarm is what a simple rule says at one tick: somebody is to blame.
type Alarm struct {
	At   time.Time
	Name sim.Component
}

// baseline is a rule that people use today, on the same frames as the daemon.
type baseline struct {
	name string
	// hold is the number of ticks in a row that a suspicion must last, every
	// how many of them pass between two evaluations.
	hold, every int
	judge       func(b *baseline, s *signals.Snapshot) map[signals.Entity]bool
	board       *board
	since       map[signals.Entity]int
	said        map[signals.Entity]bool
	hit         map[signals.Entity]bool
	// past are the values of some hours, one a minute, for rules about the past.
	past map[signals.Entity][]float64
	// ranked are the values of a day and of an hour, for medians.
	ranked map[signals.Entity]*[2]ranked
	tick   int
}

type held struct {
	v  float64
	at time.Time
}

// board holds the newest values: a dashboard shows them between two dumps.
type board struct {
	generation uint64
	last       map[signals.ID]map[signals.EntityID]held
}

// boardSignals are what the rules look at.
func boardSignals() []signals.ID { return append(minderSignals(), signals.CollBusBandwidth) }

// update takes what is new at a tick.
func (b *board) update(s *signals.Snapshot) {
	if b.generation != s.Generation {
		b.generation, b.last = s.Generation, map[signals.ID]map[signals.EntityID]held{}
	}
	for _, id := range boardSignals() {
		if b.last[id] == nil {
			b.last[id] = map[signals.EntityID]held{}
		}
		f := s.Frame(id)
		for i := range f.Len() {
			if !math.IsNaN(f.Value[i]) {
				b.last[id][f.Entity[i]] = held{f.Value[i], s.Time}
			}
		}
	}
}

// shown are the values of a signal that are at most lookback old.
func (b *baseline) shown(s *signals.Snapshot, id signals.ID) map[signals.Entity]float64 {
	out := make(map[signals.Entity]float64, len(b.board.last[id]))
	for e, h := range b.board.last[id] {
		if s.Time.Sub(h.at) > lookback {
			delete(b.board.last[id], e)
			continue
		}
		out[s.Entities.Of(e)] = h.v
	}
	return out
}

// lookback is that of a Prometheus query.
const lookback = 5 * time.Minute

func (b *baseline) observe(s *signals.Snapshot) []Alarm {
	var out []Alarm
	if b.tick++; b.tick%max(1, b.every) == 0 {
		b.hit = b.judge(b, s)
	}
	for e := range b.since {
		if !b.hit[e] {
			delete(b.since, e)
			delete(b.said, e)
		}
	}
	for e := range b.hit {
		b.since[e]++
		if b.since[e] >= b.hold && !b.said[e] {
			b.said[e] = true
			out = append(out, Alarm{s.Time, sim.Component{Kind: "gpu", Node: e.Host, Device: e.Device}})
		}
	}
	slices.SortFunc(out, func(x, y Alarm) int {
		return cmp.Or(strings.Compare(x.Name.Node, y.Name.Node), strings.Compare(x.Name.Device, y.Name.Device))
	})
	return out
}

// baselines are the rules in public use: NVIDIA's resiliency extension calls a
// rank a straggler below 0.75 of the reference; a modified z-score of 3.5 is
// the usual limit for outliers; thresholds on counters are those of public rule
// files; and dashboards are read as "the lowest bandwidth is guilty".
func baselines() []*baseline {
	board := &board{last: map[signals.ID]map[signals.EntityID]held{}}
	list := []*baseline{
		{name: "lowest bandwidth is guilty (below 0.8 of its peers)", hold: 3, every: 2, judge: func(b *baseline, s *signals.Snapshot) map[signals.Entity]bool {
			return groups(b, s, signals.CollBusBandwidth, lowest)
		}},
		{name: "peer MAD 3.5 on bandwidth", hold: 3, every: 2, judge: func(b *baseline, s *signals.Snapshot) map[signals.Entity]bool {
			return groups(b, s, signals.CollBusBandwidth, outliers)
		}},
		{name: "ratio 0.75 on tensor activity", hold: 3, every: 2, judge: func(b *baseline, s *signals.Snapshot) map[signals.Entity]bool {
			return ratio(b, s, signals.GPUTensorActive, 0.75)
		}},
		{name: "static thresholds", hold: 2, judge: static},
		{name: "DBSCAN on bandwidth, tolerance 3", hold: 3, every: 2, judge: func(b *baseline, s *signals.Snapshot) map[signals.Entity]bool {
			return groups(b, s, signals.CollBusBandwidth, distant)
		}},
		{name: "Grafana, adaptive, on bandwidth", hold: 20, every: pastEvery, judge: adaptive},
		{name: "Grafana, robust, on bandwidth", hold: 20, every: pastEvery, judge: robust},
		{name: "Minder without its autoencoder", hold: 16, every: 2, judge: minder},
	}
	for _, b := range list {
		b.board, b.since, b.said = board, map[signals.Entity]int{}, map[signals.Entity]bool{}
		b.past, b.ranked = map[signals.Entity][]float64{}, map[signals.Entity]*[2]ranked{}
	}
	return list
}

type member struct {
	thing signals.Entity
	v     float64
}

// groups judges the members of each communicator shape against one another.
func groups(b *baseline, s *signals.Snapshot, id signals.ID, judge func([]member, map[signals.Entity]bool)) map[signals.Entity]bool {
	by := map[signals.Entity][]member{}
	for full, v := range b.shown(s, id) {
		key := full
		key.Host, key.Device, key.Rank, key.Peer, key.Detail = "", "", 0, "", ""
		by[key] = append(by[key], member{full.Thing(), v})
	}
	hit := map[signals.Entity]bool{}
	for _, ms := range by {
		if len(ms) >= 4 {
			judge(ms, hit)
		}
	}
	return hit
}

func middle(ms []member) float64 {
	v := make([]float64, len(ms))
	for i := range ms {
		v[i] = ms[i].v
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func lowest(ms []member, hit map[signals.Entity]bool) {
	m, low := middle(ms), slices.MinFunc(ms, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.v, b.v), strings.Compare(a.thing.Host, b.thing.Host), strings.Compare(a.thing.Device, b.thing.Device))
	})
	if low.v < 0.8*m {
		hit[low.thing] = true
	}
}

func outliers(ms []member, hit map[signals.Entity]bool) {
	m := middle(ms)
	dev := make([]member, len(ms))
	for i := range ms {
		dev[i].v = math.Abs(ms[i].v - m)
	}
	mad := middle(dev)
	if mad == 0 {
		return
	}
	for _, x := range ms {
		if 0.6745*(m-x.v)/mad > 3.5 {
			hit[x.thing] = true
		}
	}
}

func ratio(b *baseline, s *signals.Snapshot, id signals.ID, limit float64) map[signals.Entity]bool {
	var all []member
	for e, v := range b.shown(s, id) {
		all = append(all, member{e.Thing(), v})
	}
	if len(all) < 4 {
		return nil
	}
	m := middle(all)
	hit := map[signals.Entity]bool{}
	for _, x := range all {
		if x.v < limit*m {
			hit[x.thing] = true
		}
	}
	return hit
}

// static are thresholds of public rule files: any link loss, symbol errors above
// 10 a second, more than 85 degrees, less than 30 % of tensor activity's usual.
func static(_ *baseline, s *signals.Snapshot) map[signals.Entity]bool {
	hit := map[signals.Entity]bool{}
	for _, r := range []struct {
		id  signals.ID
		bad func(float64) bool
	}{
		{signals.NICState, func(v float64) bool { return v != 4 }},
		{signals.NICLinkDowned, func(v float64) bool { return v > 0 }},
		{signals.NICSymbolErrors, func(v float64) bool { return v > 10 }},
		{signals.GPUTemp, func(v float64) bool { return v > 85 }},
		{signals.GPUXid, func(v float64) bool { return v > 0 }},
		{signals.HostCPUPressure, func(v float64) bool { return v > 0.3 }},
	} {
		f := s.Frame(r.id)
		for i := range f.Len() {
			if r.bad(f.Value[i]) {
				hit[s.Entities.Of(f.Entity[i]).Thing()] = true
			}
		}
	}
	return hit
}
