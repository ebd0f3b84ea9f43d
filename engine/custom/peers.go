package custom

import (
	"math"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// group is the key of what may be compared: one signal of things of one kind in
// one job. A NIC is compared with those of its name: they have its role.
type group struct {
	detail string
	kind   signals.Kind
	device string
	job    string
}

func groupOf(e signals.Entity, job string) group {
	g := group{detail: e.Detail, kind: e.Kind, job: job}
	if e.Kind == signals.KindNIC {
		g.device = e.Device
	}
	return g
}

// members are those of a group at one tick.
type members struct {
	ids     []signals.EntityID
	values  []float64
	scratch []float64
	shifted int // that differ from their own past
}

func (m *members) reset() {
	m.ids, m.values, m.shifted = m.ids[:0], m.values[:0], 0
}

func (m *members) add(id signals.EntityID, s *series) {
	m.ids, m.values = append(m.ids, id), append(m.values, s.value)
	if s.past {
		m.shifted++
	}
}

// common says that most of the group moved: that is no one's own.
func (m *members) common() bool { return len(m.ids) > 1 && 2*m.shifted > len(m.ids) }

// judge compares each member with the median of all.
func (m *members) judge(w *Watch, def *Signal) {
	others := len(m.ids) - 1
	if others < minPeers {
		for _, id := range m.ids {
			s := w.series.Peek(id)
			s.peer, s.run, s.oddPeers, s.peers = false, 0, 0, 0
		}
		return
	}
	mid := detectors.Median(m.values)
	m.scratch = m.scratch[:0]
	for _, v := range m.values {
		m.scratch = append(m.scratch, math.Abs(v-mid))
	}
	sigma := 1.4826 * detectors.Median(m.scratch) // of a normal distribution
	for _, id := range m.ids {
		s := w.series.Peek(id)
		s.among, s.peers = mid, others
		away := (s.value - mid) * float64(def.Direction)
		// A near-constant group would make every difference a large one.
		score := away / max(sigma, 0.02*max(math.Abs(mid), math.Abs(s.value)), math.SmallestNonzeroFloat64)
		effect := away / max(math.Abs(mid), math.SmallestNonzeroFloat64)
		limit := 1.0
		if s.peer {
			limit = 0.5 // it comes at the limit and goes at half of it
		}
		if away <= 0 || score < limit*w.opts.Limits.PeerScore || effect < limit*w.opts.Limits.PeerEffect {
			s.peer, s.run, s.oddPeers = false, 0, 0
			continue
		}
		if s.oddPeers == 0 {
			s.oddPeers = s.stamp
		}
		s.run++
		s.peer = s.peer || s.run >= runToJudge
	}
}
