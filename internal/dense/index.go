package dense

// Index leads from the hash of a value to its number. The values lie in a list of
// the caller's, which alone knows whether two are equal. The zero Index is empty.
// It is not safe for concurrent use while Add runs.
type Index struct {
	slots []uint32 // open addressing by hash; number+1, 0 is free
	n     int
}

// minSlots is the size of the smallest table, a power of two.
const minSlots = 64

// Find returns the number of the value with a hash for which is holds.
func (x *Index) Find(hash uint64, is func(i uint32) bool) (uint32, bool) {
	if x.n == 0 {
		return 0, false
	}
	mask := uint64(len(x.slots) - 1)
	for at := hash & mask; x.slots[at] != 0; at = (at + 1) & mask {
		if i := x.slots[at] - 1; is(i) {
			return i, true
		}
	}
	return 0, false
}

// Add notes that value i has a hash; i must not be there yet. hashOf gives the hash of a
// value added before, for when the table grows.
func (x *Index) Add(hash uint64, i uint32, hashOf func(i uint32) uint64) {
	if 2*(x.n+1) > len(x.slots) {
		old := x.slots
		x.slots = make([]uint32, max(minSlots, 2*len(old)))
		for _, s := range old {
			if s != 0 {
				x.put(hashOf(s-1), s)
			}
		}
	}
	x.put(hash, i+1)
	x.n++
}

func (x *Index) put(hash uint64, s uint32) {
	mask := uint64(len(x.slots) - 1)
	at := hash & mask
	for x.slots[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = s
}

// Len is the number of values.
func (x *Index) Len() int { return x.n }

// Mix spreads the bits of a number, so that its low ones may choose a slot: the
// finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, 2014). It has no secret: use it only where nobody outside chooses
// the numbers.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
