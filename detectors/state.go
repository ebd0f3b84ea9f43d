package detectors

import "github.com/collwatch/collwatch/signals"

// States is state per entity in one slice, so that the steady state of a tick
// neither hashes nor allocates. T should be at most 64 bytes: a cluster of
// 1024 GPUs has 30 000 series and more.
//
// The zero T means "never seen".
type States[T any] struct{ list []T }

// At returns the state of an entity, growing the slice as needed. The pointer
// is valid until the next call with a larger number.
func (s *States[T]) At(id signals.EntityID) *T {
	if int(id) >= len(s.list) {
		grown := make([]T, int(id)+1+int(id)/4)
		copy(grown, s.list)
		s.list = grown
	}
	return &s.list[id]
}

// Peek returns the state of an entity, or nil if it is beyond the slice.
func (s *States[T]) Peek(id signals.EntityID) *T {
	if int(id) >= len(s.list) {
		return nil
	}
	return &s.list[id]
}

// Len is the number of entities with room for state.
func (s *States[T]) Len() int { return len(s.list) }

// Renumber moves each state to the new number of its entity, see
// [Renumberer].
func (s *States[T]) Renumber(to []signals.EntityID, count int) {
	moved := make([]T, count)
	for i := range s.list {
		if i < len(to) && to[i] != Gone {
			moved[to[i]] = s.list[i]
		}
	}
	s.list = moved
}
