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

type refTable struct {
	epoch uint64
	used  int       // under the lock of the cache
	slots []refSlot // open addressing by key
	// byRef[r] is one writing of Ref r. Servers give series in the same order
	// each time, so the next Ref is a good guess, and checking it touches
	// memory in a row rather than at random.
	byRef []refSlot
}

// refSlot is written once: the key first, then the Ref.
type refSlot struct {
	key rawKey
	ref atomic.Uint32 // Ref+1, 0 is free
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
	c.table.Store(newRefTable(in.Epoch(), minRefSlots))
	return c
}

func newRefTable(epoch uint64, n int) *refTable {
	return &refTable{epoch: epoch, slots: make([]refSlot, n), byRef: make([]refSlot, n/2)}
}

func (c *refCache) key(raw []byte) rawKey {
	return rawKey{maphash.Bytes(c.seedA, raw), maphash.Bytes(c.seedB, raw)}
}

// get returns the Ref of the label set written as k, which may be guess.
func (t *refTable) get(k rawKey, guess Ref) (Ref, bool) {
	if int(guess) < len(t.byRef) {
		if s := &t.byRef[guess]; s.ref.Load() != 0 && s.key == k {
			return guess, true
		}
	}
	mask := uint64(len(t.slots) - 1)
	for i := k.a & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		ref := s.ref.Load()
		if ref == 0 {
			return 0, false
		}
		if s.key == k {
			return Ref(ref - 1), true
		}
	}
}

// add interns ls, which was written as k, and remembers that.
func (c *refCache) add(k rawKey, ls Labels) Ref {
	ref, epoch := c.in.intern(ls)
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.table.Load()
	switch {
	case t.epoch != epoch, t.used > rawPerRef*c.in.Len()+rawSlack:
		t = newRefTable(epoch, minRefSlots)
		c.table.Store(t)
	case t.used >= len(t.slots)/2:
		t = t.grown()
		c.table.Store(t)
	}
	t.put(k, ref)
	return ref
}

func (t *refTable) put(k rawKey, ref Ref) {
	if int(ref) < len(t.byRef) && t.byRef[ref].ref.Load() == 0 {
		t.byRef[ref].key = k
		t.byRef[ref].ref.Store(uint32(ref) + 1)
	}
	mask := uint64(len(t.slots) - 1)
	for i := k.a & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		switch {
		case s.ref.Load() == 0:
			s.key = k
			s.ref.Store(uint32(ref) + 1)
			t.used++
			return
		case s.key == k:
			return // another request was faster
		}
	}
}

func (t *refTable) grown() *refTable {
	g := newRefTable(t.epoch, 2*len(t.slots))
	for i := range t.slots {
		if ref := t.slots[i].ref.Load(); ref != 0 {
			g.put(t.slots[i].key, Ref(ref-1))
		}
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
		t = newRefTable(epoch, minRefSlots)
		c.table.Store(t)
	}
	return t
}
