package detectors

import "github.com/collwatch/collwatch/signals"

// table is state of those entities that have any. Unlike a map it hashes nothing, and
// rows lie in the order in which they were first seen, which is about the order in
// which frames name them: at 300,000 series, where no table fits the cache, a walk
// through a frame reads memory from one end to the other instead of here and there.
//
// The zero table is empty.
type table[T any] struct {
	list  []entry[T]
	place []int32 // by entity: its place in list plus one, 0 if it has none
}

type entry[T any] struct {
	id signals.EntityID
	v  T
}

// at returns the state of an entity, nil if it has none. The pointer is valid until the
// next call of put, drop or renumber.
func (t *table[T]) at(id signals.EntityID) *T {
	if int(id) < len(t.place) {
		if i := t.place[id]; i != 0 {
			return &t.list[i-1].v
		}
	}
	return nil
}

// get returns the state of an entity, the zero T if it has none.
func (t *table[T]) get(id signals.EntityID) (v T, ok bool) {
	if p := t.at(id); p != nil {
		return *p, true
	}
	return v, false
}

// put returns the state of an entity to be written, a zero T if it had none. The
// pointer is valid as long as that of at.
func (t *table[T]) put(id signals.EntityID) *T {
	if p := t.at(id); p != nil {
		return p
	}
	if int(id) >= len(t.place) {
		grown := make([]int32, int(id)+1+int(id)/8)
		copy(grown, t.place)
		t.place = grown
	}
	t.list = append(t.list, entry[T]{id: id})
	t.place[id] = int32(len(t.list))
	return &t.list[len(t.list)-1].v
}

// drop forgets the entities for which gone holds, and keeps the order of the others.
func (t *table[T]) drop(gone func(id signals.EntityID, v *T) bool) {
	kept := 0
	for i := range t.list {
		e := &t.list[i]
		if gone(e.id, &e.v) {
			t.place[e.id] = 0
			continue
		}
		if kept != i {
			t.list[kept] = *e
			t.place[e.id] = int32(kept + 1)
		}
		kept++
	}
	clear(t.list[kept:]) // what they point to is not kept alive
	t.list = t.list[:kept]
}

// len is the number of entities with state.
func (t *table[T]) len() int { return len(t.list) }

// renumber moves each state to the new number of its entity, see [Renumberer].
func (t *table[T]) renumber(to []signals.EntityID) {
	was := t.list
	t.list, t.place = make([]entry[T], 0, len(was)), nil
	for i := range was {
		if id := was[i].id; int(id) < len(to) && to[id] != Gone {
			*t.put(to[id]) = was[i].v
		}
	}
}
