package promapi

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/collwatch/collwatch/internal/dense"
)

// Ref is the dense number of an interned label set, valid within one epoch of
// its Interner.
type Ref uint32

// Interner gives each label set a small number, so that consumers keep what
// they derived from a label set in a plain slice indexed by Ref. Reading takes
// no lock.
//
// Exporters give all metrics of one thing the same labels, so what a set has
// beside its metric's name is kept once: of 40 metrics of a GPU with 12 labels
// each takes about 20 bytes, the index included.
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
	tails   vec[[]pair]
	symbols vec[string]

	// Below here only under the lock of the Interner.
	bySymbol map[string]uint32
	bySet    dense.Index
	byTail   dense.Index
	block    []pair // rest of the block that new tails are cut from
	scratch  []pair
}

type pair struct{ name, value uint32 } // indices of symbols

// set is a label set: the symbol of the metric's name plus one, 0 if there is no
// name, and the number of what else there is.
type set struct{ metric, tail uint32 }

func (s set) hash() uint64 { return dense.Mix(uint64(s.metric)<<32 | uint64(s.tail)) }

// metricName is the label that holds the name of the metric.
const metricName = "__name__"

// NewInterner returns an empty Interner.
func NewInterner() *Interner {
	in := &Interner{}
	in.cur.Store(newEpoch(0))
	return in
}

func newEpoch(number uint64) *epoch {
	return &epoch{number: number, bySymbol: make(map[string]uint32)}
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
	var want set
	e.scratch = e.scratch[:0]
	for _, l := range ls {
		if l.Name == metricName && want.metric == 0 {
			want.metric = e.symbol(l.Value) + 1
			continue
		}
		e.scratch = append(e.scratch, pair{e.symbol(l.Name), e.symbol(l.Value)})
	}
	want.tail = e.tail(e.scratch)
	if i, ok := e.bySet.Find(want.hash(), func(i uint32) bool { return e.sets.at(i) == want }); ok {
		return Ref(i)
	}
	i := e.sets.push(want)
	e.bySet.Add(want.hash(), i, func(i uint32) uint64 { return e.sets.at(i).hash() })
	return Ref(i)
}

// tail returns the number of ps among the label sets without their metric.
func (e *epoch) tail(ps []pair) uint32 {
	h := hashPairs(ps)
	if i, ok := e.byTail.Find(h, func(i uint32) bool { return slices.Equal(e.tails.at(i), ps) }); ok {
		return i
	}
	i := e.tails.push(e.keep(ps))
	e.byTail.Add(h, i, func(i uint32) uint64 { return hashPairs(e.tails.at(i)) })
	return i
}

// hashPairs needs no secret: the numbers it sees are given by us, in the order of
// arrival, so nobody outside can aim at collisions of any worth.
func hashPairs(ps []pair) uint64 {
	h := uint64(len(ps))
	for _, p := range ps {
		h = dense.Mix(h ^ uint64(p.name)<<32 ^ uint64(p.value))
	}
	return h
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
	s := e.sets.at(uint32(ref))
	ps := e.tails.at(s.tail)
	ls := make(Labels, 0, len(ps)+1)
	named := s.metric == 0
	for _, p := range ps {
		name := e.symbols.at(p.name)
		if !named && name > metricName {
			ls, named = append(ls, Label{Name: metricName, Value: e.symbols.at(s.metric - 1)}), true
		}
		ls = append(ls, Label{Name: name, Value: e.symbols.at(p.value)})
	}
	if !named {
		ls = append(ls, Label{Name: metricName, Value: e.symbols.at(s.metric - 1)})
	}
	return ls
}

// Get returns the value of one label of ref, or "" if there is none.
func (in *Interner) Get(ref Ref, name string) string {
	e := in.cur.Load()
	s := e.sets.at(uint32(ref))
	if name == metricName {
		if s.metric == 0 {
			return ""
		}
		return e.symbols.at(s.metric - 1)
	}
	for _, p := range e.tails.at(s.tail) {
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
