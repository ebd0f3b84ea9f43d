package diagnosis

import "time"

// Options configures a Diagnoser. A zero field means its default.
type Options struct {
	// Interval is the time between ticks, 15 s.
	Interval time.Duration
	// BootGrace is how long after a boot nothing is concluded about a host's
	// links, counters and progress, 10 min; LinkBootGrace the same for links
	// alone, 30 min, the time that 802.1X authentication may take.
	BootGrace, LinkBootGrace time.Duration
	// FlapWindow is the time in which three link events are critical, 10 min;
	// FlapDown the time down in sum that is critical too, 30 s: NCCL gives an
	// InfiniBand connection up after 4.096 µs × 2^20 × 7 = 30 s.
	FlapWindow, FlapDown time.Duration
	// FlapMemory is how long a link event is remembered, 1 h.
	FlapMemory time.Duration
	// SwitchRestart is the time in which a switch that lost all its ports may
	// come back without being called degraded, 5 min.
	SwitchRestart time.Duration
	// ErrorsHold and ErrorsCritical are the times for which bit errors must
	// last to be a warning (3 min) and to be critical (10 min).
	ErrorsHold, ErrorsCritical time.Duration
	// JobMemory is how long an ended job may still be named as harmed, 15 min.
	JobMemory time.Duration
	// MinMembers and Majority are what a larger component needs before it is
	// blamed instead of its members: at least MinMembers (3) sick members that
	// are more than Majority (0.5) of all.
	MinMembers int
	Majority   float64
	// CordonShare is the share of all hosts that may be suspect at once before
	// the recommendation to take hosts out is withheld, 0.1 (and more than 3).
	CordonShare float64
	// ShapeMemory is how long the bandwidth of past jobs is remembered for
	// comparison, 7 days.
	ShapeMemory time.Duration
	// Xid overrides the class of single Xid codes.
	Xid map[int]XidClass
	// Families are more families, judged after the built-in ones.
	Families []Family
}

func (o Options) withDefaults() Options {
	duration := func(p *time.Duration, d time.Duration) {
		if *p <= 0 {
			*p = d
		}
	}
	duration(&o.Interval, 15*time.Second)
	duration(&o.BootGrace, 10*time.Minute)
	duration(&o.LinkBootGrace, 30*time.Minute)
	duration(&o.FlapWindow, 10*time.Minute)
	duration(&o.FlapDown, 30*time.Second)
	duration(&o.FlapMemory, time.Hour)
	duration(&o.SwitchRestart, 5*time.Minute)
	duration(&o.ErrorsHold, 3*time.Minute)
	duration(&o.ErrorsCritical, 10*time.Minute)
	duration(&o.JobMemory, 15*time.Minute)
	duration(&o.ShapeMemory, 7*24*time.Hour)
	if o.MinMembers <= 0 {
		o.MinMembers = 3
	}
	if o.Majority <= 0 {
		o.Majority = 0.5
	}
	if o.CordonShare <= 0 {
		o.CordonShare = 0.1
	}
	return o
}
