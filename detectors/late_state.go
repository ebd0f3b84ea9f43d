package detectors

import "math"

// lateState is the lateness of one member of a channel.
type lateState struct {
	since   int64   // ms, start of the first window of the run
	ratio   float32 // of the window closed last
	pair    float32 // of the last mean of two windows
	gap     float32 // s, median of the others minus own
	strong  uint16  // windows in a row at Ratio or below
	weak    uint16  // disjoint pairs in a row at SoftRatio or below
	single  uint16  // windows in a row at SoftRatio or below
	mild    uint16  // windows in a row at lateMild or below
	healthy uint16  // windows without lateness, ever
	clear   uint8
	victim  uint8 // windows in a row in which it waits itself
	named   bool
	root    bool // named, and waits for nobody
	// told says that the finding was reported. It is held back at first while
	// other GPUs of the host are on their way to the same: whether one GPU or
	// its host is late has to be settled before either is named.
	told bool
}

// window updates the runs of single windows. low says that the member stands
// apart from all others, late that it is at SoftRatio or below as well.
func (s *lateState) window(o *LatenessOptions, ch *channel, low, late bool) {
	if s.mild = saturate(s.mild); !low || s.ratio > lateMild {
		s.mild = 0
	}
	switch {
	case s.mild > 0 && s.since == 0:
		s.since = ch.began
	case s.mild == 0 && !s.named:
		s.since = 0
	}
	if !late {
		s.single, s.strong = 0, 0
		s.healthy = saturate(s.healthy)
		return
	}
	s.single = saturate(s.single)
	s.strong = saturate(s.strong)
	if float64(s.ratio) > o.Ratio {
		s.strong = 0
	}
}

// windows2 updates the run of disjoint means of two windows.
func (s *lateState) windows2(o *LatenessOptions, ratio float32, low bool) {
	s.pair = ratio
	if !low || float64(ratio) > o.SoftRatio {
		s.weak = 0
		return
	}
	s.weak = saturate(s.weak)
}

func saturate(n uint16) uint16 {
	if n == math.MaxUint16 {
		return n
	}
	return n + 1
}

// name decides whether the member may be called late, with hysteresis. needed
// is the run that lateMemory asks for.
func (s *lateState) name(o *LatenessOptions, needed int, pressed bool) {
	if s.named {
		cleared := float32(lateCleared)
		if pressed {
			cleared = lateMildCleared
		}
		if s.ratio <= cleared || s.pair <= cleared {
			s.clear = 0
		} else if s.clear++; s.clear >= 3 {
			s.named, s.root, s.told, s.since = false, false, false, 0
		}
		return
	}
	strong, weak := max(needed, o.Run), max((needed+1)/2, o.SoftRun)
	if s.sinceStart() {
		// Nobody has seen this job without lateness, so nobody knows how it
		// rotates: only a large and steady gap is believed early, others have to
		// outlast what an expert or a shard stays hot.
		weak = max(weak, lateStartRun/2)
		if s.ratio > lateStart {
			strong = max(strong, lateStartRun)
		}
	}
	pressing := pressed && !s.sinceStart() && (int(s.single) >= max(needed, latePressedRun) || int(s.mild) >= max(needed, lateMildRun))
	s.named = int(s.strong) >= strong || int(s.weak) >= weak || pressing
	s.clear = 0
}

// onTime is how many windows a member must have been on time for its lateness
// to have an onset: with fewer the job is too young for anybody to know how
// its lateness moves on.
const onTime = 8

// sinceStart says that the member was late from its first windows on.
func (s *lateState) sinceStart() bool { return s.healthy < onTime }
