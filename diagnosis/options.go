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
	// FlapCritical is the number of link events in ten minutes that is
	// critical, 3; FlapDown the time down in sum that is critical too, 30 s:
	// NCCL gives an InfiniBand connection up after 4.096 µs × 2^20 × 7 = 30 s.
	FlapCritical int
	FlapDown     time.Duration
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
	// StallFact, StallMinority and StallAlike are how long a job must stand
	// before it is reported: with a fact about a member or per-rank counters, 1
	// min; with members in another state than the rest, 2 min; and with nothing
	// that tells members apart, 3 min.
	StallFact, StallMinority, StallAlike time.Duration
	// HostWindows is how many windows all GPUs of a host must be late before the
	// host is named without a fact about it, 6; a fact needs half of it.
	HostWindows int
	// ThrottleClock is how low a clock must be, as a share of the peers', to be
	// believed without the reasons field, 0.8; ThrottleCritical the share of
	// its speed that a job must lose for a throttle to be critical, 0.25.
	ThrottleClock, ThrottleCritical float64
	// Disabled are classes that are not concluded.
	Disabled map[Class]bool
	// Unread are hosts whose series nobody looks at here: they are neither well nor
	// sick, but count where shares of all hosts are meant.
	Unread map[string]bool
	// Shard is the part of the cluster that is judged here.
	Shard Shard
	// Xid overrides the class of single Xid codes.
	Xid map[int]XidClass
	// Families are more families, judged after the built-in ones.
	Families []Family
}

func (o Options) withDefaults() Options {
	orElse(&o.Interval, 15*time.Second)
	orElse(&o.BootGrace, 10*time.Minute)
	orElse(&o.LinkBootGrace, 30*time.Minute)
	orElse(&o.FlapDown, 30*time.Second)
	orElse(&o.FlapMemory, time.Hour)
	orElse(&o.SwitchRestart, 5*time.Minute)
	orElse(&o.ErrorsHold, 3*time.Minute)
	orElse(&o.ErrorsCritical, 10*time.Minute)
	orElse(&o.JobMemory, 15*time.Minute)
	orElse(&o.StallFact, stallFact)
	orElse(&o.StallMinority, stallMinority)
	orElse(&o.StallAlike, stallAlike)
	orElse(&o.MinMembers, 3)
	orElse(&o.Majority, 0.5)
	orElse(&o.CordonShare, 0.1)
	orElse(&o.FlapCritical, 3)
	orElse(&o.HostWindows, hostWindows)
	orElse(&o.ThrottleClock, clockWithout)
	orElse(&o.ThrottleCritical, criticalLoss)
	return o
}

func orElse[T int | float64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}
