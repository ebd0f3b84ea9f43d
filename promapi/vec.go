package promapi

import "sync/atomic"

const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
)

// vec is a list that only grows. One goroutine at a time appends; any number
// read what was appended before, without a lock.
type vec[T any] struct {
	n      atomic.Uint32
	chunks atomic.Pointer[[]*[chunkSize]T]
}

func (v *vec[T]) len() int { return int(v.n.Load()) }

// at returns element i, which must have been appended.
func (v *vec[T]) at(i uint32) T {
	return (*v.chunks.Load())[i>>chunkBits][i&(chunkSize-1)]
}

// push appends x and returns its index.
func (v *vec[T]) push(x T) uint32 {
	i := v.n.Load()
	var chunks []*[chunkSize]T
	if p := v.chunks.Load(); p != nil {
		chunks = *p
	}
	if int(i>>chunkBits) == len(chunks) {
		// Readers may hold the old directory, so it is never written to.
		grown := make([]*[chunkSize]T, len(chunks)+1)
		copy(grown, chunks)
		grown[len(chunks)] = new([chunkSize]T)
		chunks = grown
		v.chunks.Store(&chunks)
	}
	chunks[i>>chunkBits][i&(chunkSize-1)] = x
	v.n.Store(i + 1)
	return i
}
