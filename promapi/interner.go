package promapi

import (
	"hash/maphash"
	"sort"
	"strings"
	"sync"
)

// Label is one name and value of a series.
type Label struct{ Name, Value string }

// Labels is a label set sorted by name. It is never changed after it was
// interned.
type Labels []Label

// Get returns the value of name, or "" if there is none.
func (ls Labels) Get(name string) string {
	for i := range ls {
		if ls[i].Name == name {
			return ls[i].Value
		}
	}
	return ""
}

// Has says whether name is present, even with an empty value.
func (ls Labels) Has(name string) bool {
	for i := range ls {
		if ls[i].Name == name {
			return true
		}
	}
	return false
}

// String renders the set as a PromQL selector, for messages only.
func (ls Labels) String() string {
	var b strings.Builder
	b.WriteString(ls.Get("__name__"))
	b.WriteByte('{')
	sep := ""
	for _, l := range ls {
		if l.Name == "__name__" {
			continue
		}
		b.WriteString(sep)
		sep = ","
		b.WriteString(l.Name)
		b.WriteString(`="`)
		b.WriteString(escaper.Replace(l.Value))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// Ref is the dense number of an interned label set, valid within one epoch of
// its Interner.
type Ref uint32

// Interner gives each label set a small number, so that consumers keep what
// they derived from a label set in a plain slice indexed by Ref.
//
// Jobs come and go, so label sets that nobody uses any more have to be
// forgotten. That happens all at once: Renew drops everything and raises the
// epoch, and consumers that cached by Ref start again when they see another
// epoch.
type Interner struct {
	seed maphash.Seed

	mu     sync.RWMutex
	epoch  uint64
	sets   []Labels
	byHash map[uint64][]Ref
	text   map[string]string
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner {
	in := &Interner{seed: maphash.MakeSeed()}
	in.reset()
	return in
}

func (in *Interner) reset() {
	in.sets = nil
	in.byHash = make(map[uint64][]Ref)
	in.text = make(map[string]string)
}

// Intern returns the Ref of ls, which need not be sorted. It keeps copies of
// the strings, so callers may reuse their buffers.
func (in *Interner) Intern(ls Labels) Ref {
	if !sort.SliceIsSorted(ls, func(i, j int) bool { return ls[i].Name < ls[j].Name }) {
		ls = append(Labels(nil), ls...)
		sort.Slice(ls, func(i, j int) bool { return ls[i].Name < ls[j].Name })
	}
	h := in.hash(ls)
	in.mu.RLock()
	ref, ok := in.find(h, ls)
	in.mu.RUnlock()
	if ok {
		return ref
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if ref, ok := in.find(h, ls); ok {
		return ref
	}
	own := make(Labels, len(ls))
	for i, l := range ls {
		own[i] = Label{Name: in.str(l.Name), Value: in.str(l.Value)}
	}
	ref = Ref(len(in.sets))
	in.sets = append(in.sets, own)
	in.byHash[h] = append(in.byHash[h], ref)
	return ref
}

func (in *Interner) hash(ls Labels) uint64 {
	var h maphash.Hash
	h.SetSeed(in.seed)
	for _, l := range ls {
		_, _ = h.WriteString(l.Name)
		_ = h.WriteByte(0xff)
		_, _ = h.WriteString(l.Value)
		_ = h.WriteByte(0xff)
	}
	return h.Sum64()
}

func (in *Interner) find(h uint64, ls Labels) (Ref, bool) {
next:
	for _, ref := range in.byHash[h] {
		set := in.sets[ref]
		if len(set) != len(ls) {
			continue
		}
		for i := range set {
			if set[i] != ls[i] {
				continue next
			}
		}
		return ref, true
	}
	return 0, false
}

func (in *Interner) str(s string) string {
	if own, ok := in.text[s]; ok {
		return own
	}
	own := strings.Clone(s)
	in.text[own] = own
	return own
}

// Labels returns the label set of ref. The caller must not change it.
func (in *Interner) Labels(ref Ref) Labels {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.sets[ref]
}

// Len is the number of label sets; all Refs are below it.
func (in *Interner) Len() int {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return len(in.sets)
}

// Epoch changes when all Refs become invalid.
func (in *Interner) Epoch() uint64 {
	in.mu.RLock()
	defer in.mu.RUnlock()
	return in.epoch
}

// Renew forgets all label sets and starts a new epoch. It must not run while
// Results with Refs of the old epoch are in use.
func (in *Interner) Renew() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.epoch++
	in.reset()
}
