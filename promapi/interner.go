package promapi

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Ref is the dense number of an interned label set, valid within one epoch of
// its Interner.
type Ref uint32

// Interner gives each label set a small number, so that consumers keep what
// they derived from a label set in a plain slice indexed by Ref. Reading takes
// no lock.
//
// A set of 12 labels takes about 130 bytes: names and values are kept once, and
// a set is a row of numbers.
//
// Jobs come and go, so label sets that nobody uses any more have to be
// forgotten. That happens all at once: Renew drops everything and raises the
// epoch, and consumers that cached by Ref start again when they see another
// epoch.
type Interner struct {
	mu  sync.Mutex // held while writing to the current epoch, or replacing it
	cur atomic.Pointer[epoch]
}

// epoch is the content of an Interner between two calls of Renew.
type epoch struct {
	number  uint64
	sets    vec[set]
	symbols vec[string]

	// Below here only under the lock of the Interner.
	bySymbol map[string]uint32
	slots    []uint32 // open addressing by hash of the set; Ref+1, 0 is free
	block    []pair   // rest of the block that new sets are cut from
	scratch  []pair
}

type pair struct{ name, value uint32 } // indices of symbols

type set struct {
	pairs []pair
	hash  uint64
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner {
	in := &Interner{}
	in.cur.Store(newEpoch(0))
	return in
}

func newEpoch(number uint64) *epoch {
	return &epoch{number: number, bySymbol: make(map[string]uint32), slots: make([]uint32, 1024)}
}

// Intern returns the Ref of ls, which need not be sorted. It keeps copies of
// the strings, so callers may reuse their buffers.
func (in *Interner) Intern(ls Labels) Ref {
	ref, _ := in.intern(ls)
	return ref
}

func (in *Interner) intern(ls Labels) (Ref, uint64) {
	if !slices.IsSortedFunc(ls, byName) {
		ls = slices.Clone(ls)
		slices.SortStableFunc(ls, byName)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	e := in.cur.Load()
	return e.intern(ls), e.number
}

func byName(a, b Label) int { return cmp.Compare(a.Name, b.Name) }

func (e *epoch) intern(ls Labels) Ref {
	e.scratch = e.scratch[:0]
	h := uint64(len(ls))
	for _, l := range ls {
		p := pair{e.symbol(l.Name), e.symbol(l.Value)}
		e.scratch = append(e.scratch, p)
		h = mix(h ^ uint64(p.name)<<32 ^ uint64(p.value))
	}
	mask := uint64(len(e.slots) - 1)
	i := h & mask
	for ; e.slots[i] != 0; i = (i + 1) & mask {
		s := e.sets.at(e.slots[i] - 1)
		if s.hash == h && slices.Equal(s.pairs, e.scratch) {
			return Ref(e.slots[i] - 1)
		}
	}
	ref := e.sets.push(set{pairs: e.keep(e.scratch), hash: h})
	e.slots[i] = ref + 1
	if int(ref) > len(e.slots)/2 {
		e.grow()
	}
	return Ref(ref)
}

// mix is the finaliser of splitmix64. The numbers it sees are given by us, in
// the order of arrival, so nobody outside can aim at collisions of any worth.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (e *epoch) grow() {
	slots := make([]uint32, 2*len(e.slots))
	mask := uint64(len(slots) - 1)
	for ref := range uint32(e.sets.len()) {
		i := e.sets.at(ref).hash & mask
		for slots[i] != 0 {
			i = (i + 1) & mask
		}
		slots[i] = ref + 1
	}
	e.slots = slots
}

func (e *epoch) symbol(s string) uint32 {
	if i, ok := e.bySymbol[s]; ok {
		return i
	}
	own := strings.Clone(s)
	i := e.symbols.push(own)
	e.bySymbol[own] = i
	return i
}

// keep copies ps into a block shared by many sets.
func (e *epoch) keep(ps []pair) []pair {
	if len(e.block) < len(ps) {
		e.block = make([]pair, max(4096, len(ps)))
	}
	own := e.block[:len(ps):len(ps)]
	e.block = e.block[len(ps):]
	copy(own, ps)
	return own
}

// Labels returns the label set of ref as a new slice that the caller owns. It
// is meant for the first look at a series; Get reads single labels without
// allocating.
func (in *Interner) Labels(ref Ref) Labels {
	e := in.cur.Load()
	ps := e.sets.at(uint32(ref)).pairs
	ls := make(Labels, len(ps))
	for i, p := range ps {
		ls[i] = Label{Name: e.symbols.at(p.name), Value: e.symbols.at(p.value)}
	}
	return ls
}

// Get returns the value of one label of ref, or "" if there is none.
func (in *Interner) Get(ref Ref, name string) string {
	e := in.cur.Load()
	for _, p := range e.sets.at(uint32(ref)).pairs {
		if e.symbols.at(p.name) == name {
			return e.symbols.at(p.value)
		}
	}
	return ""
}

// Len is the number of label sets; all Refs are below it.
func (in *Interner) Len() int { return in.cur.Load().sets.len() }

// Epoch changes when all Refs become invalid.
func (in *Interner) Epoch() uint64 { return in.cur.Load().number }

// Renew forgets all label sets and starts a new epoch. It must not run while
// Results with Refs of the old epoch are in use.
func (in *Interner) Renew() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.cur.Store(newEpoch(in.cur.Load().number + 1))
}
