package signals

import (
	"github.com/collwatch/collwatch/internal/dense"
	"github.com/collwatch/collwatch/promapi"
)

// What is kept per series lies in slices indexed by promapi.Ref; what is kept
// per row of a frame lies in slots. A slot is one entity of one signal, fed by
// one series or more (a GPU with two jobs, two dialects, several fine sizes).

const (
	unseen  int16 = -1 // nobody looked at the label set yet
	ignored int16 = -2 // no rule wants it
)

// series is the state of one label set of one source.
type series struct {
	lastT int64   // newest sample seen, Unix ms
	lastV float64 // its raw value
	aux   int64   // dumped: the dump last taken; repaired: index of the repair
	seen  int64   // time of the tick that last returned it, Unix ms
	dip   dip     // counters: the last fall

	slot  int32 // -1: bound, but leads nowhere
	owner int32 // job on a GPU, -1 none
	host  int32 // whose boot resets the counter, -1 none
	pair  int32 // dialect at a target, -1 none
	dump  int32 // file of window means, -1 none
	rec   int32 // record of its join, -1 none

	bytes  float32 // size of its messages
	epoch  uint32  // identity epoch of the binding
	rule   int16
	record bool // rec counts records of relations
}

// slot is one entity of one signal.
type slot struct {
	lastT   int64
	lastV   float64
	changed int64
	// As of the tick before the one that has its row:
	wasV       float64
	wasChanged int64
	wasBytes   float32
	known      bool
	grouped    bool  // known to groups
	blank      bool  // its newest row tells nothing
	betterT    int64 // newest sample of the best dialect
	entity     EntityID
	row        int32
	tick       uint32
	bytes      float32 // the size that speaks for the class
	signal     ID
	rank       uint8 // of the row in this tick
	better     uint8 // of the best dialect heard of
	dialect    uint8
}

// hash needs no secret: both numbers are given by us.
func (s *slot) hash() uint64 { return slotHash(s.signal, s.entity) }

func slotHash(id ID, e EntityID) uint64 { return dense.Mix(uint64(id)<<32 | uint64(e)) }

// findSlot returns the number of the slot of a signal and an entity.
func (r *Reader) findSlot(id ID, e EntityID) (int32, bool) {
	i, ok := r.slotIndex.Find(slotHash(id, e), func(i uint32) bool { return r.slots[i].signal == id && r.slots[i].entity == e })
	return int32(i), ok
}

// addSlot takes a slot that is not there yet and returns its number.
func (r *Reader) addSlot(s slot) int32 {
	i := uint32(len(r.slots))
	r.slots = append(r.slots, s)
	r.slotIndex.Add(s.hash(), i, func(i uint32) uint64 { return r.slots[i].hash() })
	return int32(i)
}

// source is one querier with what is kept of its label sets.
type source struct {
	name  string
	epoch uint64
	in    *promapi.Interner
	q     promapi.Querier
	state []series
}

// at returns the state of ref, making room for it.
func (s *source) at(ref promapi.Ref) *series {
	for int(ref) >= len(s.state) {
		s.grow(int(ref) + 1)
	}
	return &s.state[ref]
}

func (s *source) grow(n int) {
	if c := s.in.Len(); c > n {
		n = c
	}
	if n > cap(s.state) {
		s.state = append(make([]series, 0, n+n/16), s.state...)
	}
	for len(s.state) < n {
		s.state = append(s.state, series{rule: unseen, slot: -1, owner: -1, host: -1, pair: -1, dump: -1, rec: -1})
	}
}

// owner is one job on one GPU (or host, where no GPU is known). The best
// dialect that speaks for it silences the others.
type owner struct {
	job    int32
	host   string
	device string
	best   uint8
	bestT  int64
	lastT  int64 // newest performance sample taken
	gone   bool  // its series turned out to be about another GPU
}

type ownerKey struct{ job, host, device string }

// pair is a dialect at a target.
type pair struct {
	dialect int
	target  int32
	lastT   int64 // newest sample of any of its series
	host    string
	steady  bool
}

type pairKey struct {
	dialect int
	target  int32
}

type labelSet = promapi.Labels

func refOf(i int) promapi.Ref { return promapi.Ref(i) }
