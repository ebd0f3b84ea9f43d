package promapi

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// rawKey identifies a label set by the bytes in which a server writes it. Two
// hashes with independent random seeds make 128 bits: among a million series
// two collide with a probability of 1e-27, and nobody who does not know the
// seeds can make them.
type rawKey struct{ a, b uint64 }

// refCache maps label sets as written by a server to Refs, so that a series
// seen before costs a hash and no parsing. Looking up takes no lock.
type refCache struct {
	in           *Interner
	seedA, seedB maphash.Seed

	table atomic.Pointer[refTable]
	mu    sync.Mutex // held while writing
}

// refTable is an open-addressing table over a list of entries. A larger table
// replaces it when it fills up; the entries stay where they are.
type refTable struct {
	epoch uint64
	// slots holds numbers of entries plus one, by key; 0 is free. A slot is
	// written after its entry.
	slots   []atomic.Uint32
	entries *vec[refEntry]
}

// refEntry is one writing of a label set. Servers give series in the same order
// each time, so the entry after the last one is a good guess, and checking it
// touches memory in a row rather than at random.
type refEntry struct {
	key rawKey
	ref Ref
}

const (
	minRefSlots = 1024
	// rawPerRef bounds the different writings of one label set: a proxy that
	// writes labels in random order must not fill the memory.
	rawPerRef = 4
	rawSlack  = 1 << 16
)

func newRefCache(in *Interner) *refCache {
	c := &refCache{in: in, seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed()}
	c.table.Store(newRefTable(in.Epoch()))
	return c
}

func newRefTable(epoch uint64) *refTable {
	return &refTable{epoch: epoch, slots: make([]atomic.Uint32, minRefSlots), entries: &vec[refEntry]{}}
}

func (c *refCache) key(raw []byte) rawKey {
	return rawKey{maphash.Bytes(c.seedA, raw), maphash.Bytes(c.seedB, raw)}
}

// get returns the Ref of the label set written as k, and the number of its entry,
// which may be guess.
func (t *refTable) get(k rawKey, guess uint32) (ref Ref, entry uint32, ok bool) {
	if int(guess) < t.entries.len() {
		if e := t.entries.at(guess); e.key == k {
			return e.ref, guess, true
		}
	}
	mask := uint64(len(t.slots) - 1)
	for at := k.a & mask; ; at = (at + 1) & mask {
		s := t.slots[at].Load()
		if s == 0 {
			return 0, 0, false
		}
		if e := t.entries.at(s - 1); e.key == k {
			return e.ref, s - 1, true
		}
	}
}

// add interns ls, which was written as k, and remembers that. It returns the number
// of the entry as well.
func (c *refCache) add(k rawKey, ls Labels) (Ref, uint32) {
	ref, epoch := c.in.intern(ls)
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.table.Load()
	switch used := t.entries.len(); {
	case t.epoch != epoch, used > rawPerRef*c.in.Len()+rawSlack:
		t = newRefTable(epoch)
		c.table.Store(t)
	case used >= len(t.slots)/2:
		t = t.grown()
		c.table.Store(t)
	}
	if _, entry, ok := t.get(k, 0); ok {
		return ref, entry // another request was faster
	}
	entry := t.entries.push(refEntry{k, ref})
	t.put(k, entry)
	return ref, entry
}

// put leads from k to an entry.
func (t *refTable) put(k rawKey, entry uint32) {
	mask := uint64(len(t.slots) - 1)
	at := k.a & mask
	for t.slots[at].Load() != 0 {
		at = (at + 1) & mask
	}
	t.slots[at].Store(entry + 1)
}

func (t *refTable) grown() *refTable {
	g := &refTable{epoch: t.epoch, slots: make([]atomic.Uint32, 2*len(t.slots)), entries: t.entries}
	for i := range uint32(t.entries.len()) {
		g.put(t.entries.at(i).key, i)
	}
	return g
}

// current returns the table of the present epoch.
func (c *refCache) current() *refTable {
	t := c.table.Load()
	epoch := c.in.Epoch()
	if t.epoch == epoch {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t = c.table.Load(); t.epoch != epoch {
		t = newRefTable(epoch)
		c.table.Store(t)
	}
	return t
}
