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
	// hold is the number of ticks in a row that a suspicion must last.
	hold  int
	judge func(s *signals.Snapshot) map[signals.Entity]bool
	since map[signals.Entity]int
	said  map[signals.Entity]bool
}

func (b *baseline) observe(s *signals.Snapshot) []Alarm {
	var out []Alarm
	hit := b.judge(s)
	if hit == nil {
		return nil // nothing new to judge
	}
	for e := range b.since {
		if !hit[e] {
			delete(b.since, e)
			delete(b.said, e)
		}
	}
	for e := range hit {
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
	list := []*baseline{
		{name: "lowest bandwidth is guilty (below 0.8 of its peers)", hold: 3, judge: func(s *signals.Snapshot) map[signals.Entity]bool {
			return groups(s, signals.CollBusBandwidth, lowest)
		}},
		{name: "peer MAD 3.5 on bandwidth", hold: 3, judge: func(s *signals.Snapshot) map[signals.Entity]bool {
			return groups(s, signals.CollBusBandwidth, outliers)
		}},
		{name: "ratio 0.75 on tensor activity", hold: 3, judge: func(s *signals.Snapshot) map[signals.Entity]bool {
			return ratio(s, signals.GPUTensorActive, 0.75)
		}},
		{name: "static thresholds", hold: 2, judge: static},
	}
	for _, b := range list {
		b.since, b.said = map[signals.Entity]int{}, map[signals.Entity]bool{}
	}
	return list
}

type member struct {
	thing signals.Entity
	v     float64
}

// groups judges the members of each communicator shape against one another.
func groups(s *signals.Snapshot, id signals.ID, judge func([]member, map[signals.Entity]bool)) map[signals.Entity]bool {
	f := s.Frame(id)
	if f.Len() == 0 {
		return nil
	}
	by := map[signals.Entity][]member{}
	for i, e := range f.Entity {
		full := s.Entities.Of(e)
		key := full
		key.Host, key.Device, key.Rank, key.Peer, key.Detail = "", "", 0, "", ""
		by[key] = append(by[key], member{full.Thing(), f.Value[i]})
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
		return cmp.Compare(a.v, b.v)
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

func ratio(s *signals.Snapshot, id signals.ID, limit float64) map[signals.Entity]bool {
	f := s.Frame(id)
	if f.Len() < 4 {
		return nil
	}
	all := make([]member, f.Len())
	for i, e := range f.Entity {
		all[i] = member{s.Entities.Of(e).Thing(), f.Value[i]}
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
func static(s *signals.Snapshot) map[signals.Entity]bool {
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
