package custom

import (
	"math"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// learnTime is the time constant of the usual level, as in detectors.
const learnTime = 30 * time.Minute

// settled is how many values make a level, and slow is how much less is learned
// of what differs from it.
const (
	settled = 20
	slow    = 0.05
)

// series is what is known of one of them. What is usual belongs to one job: a
// host has another data loader in the next one.
type series struct {
	job   string
	value float64
	stamp int64 // ms, 0 never

	chart *detectors.Chart
	level float64 // ln of the usual value
	n     int     // values learned
	odd   int64   // ms, since when it differs from its level in the bad way, 0 not
	past  bool    // differs from its own past

	among    float64 // median of its group
	peers    int     // others in it
	run      int     // ticks in a row away from them
	oddPeers int64   // ms, since when, 0 not
	peer     bool    // differs from its peers
}

func (s *series) take(v float64, stamp int64, job string) {
	if s.stamp != 0 && s.job != job {
		*s = series{}
	}
	s.value, s.stamp, s.job = v, stamp, job
}

// follow compares the value with the series' own past. A value of zero or below
// has no logarithm and is compared with peers only.
func (s *series) follow(w *Watch, def *Signal, frozen bool) {
	if !(s.value > 0) || math.IsInf(s.value, 1) {
		s.past, s.odd = false, 0
		return
	}
	if s.chart == nil {
		s.chart = detectors.NewChart(w.opts.Limits.EWMA, w.opts.Interval)
	}
	x := math.Log(s.value)
	unusual := s.chart.Observe(time.UnixMilli(s.stamp), s.value)
	effect := math.Expm1(math.Abs(x - s.level))
	bad := s.n > 0 && (x > s.level) == (def.Direction == signals.Up) && effect >= w.opts.Limits.Effect/2
	switch {
	case !bad:
		s.odd = 0
	case s.odd == 0:
		s.odd = s.stamp
	}
	// It comes at the limit and goes at half of it.
	s.past = bad && unusual && (s.past || effect >= w.opts.Limits.Effect)
	if unusual || frozen {
		return
	}
	s.n++
	weight := max(1/float64(s.n), 1-math.Exp(-w.opts.Interval.Seconds()/learnTime.Seconds()))
	if bad && s.n > settled {
		weight *= slow // a fault must not become usual before the chart has seen it
	}
	s.level += weight * (x - s.level)
}

// usual is the level.
func (s *series) usual() float64 { return math.Exp(s.level) }
