package detectors

import (
	"cmp"
	"slices"
)

// lists are values by key, filled anew at each tick in the memory of the one before.
type lists[K comparable, V any] map[K][]V

// reset empties all lists, and forgets those that stayed empty since the last time.
func (l lists[K, V]) reset() {
	for k, list := range l {
		if len(list) == 0 {
			delete(l, k)
			continue
		}
		l[k] = list[:0]
	}
}

// add appends v to the list of k.
func (l lists[K, V]) add(k K, v V) { l[k] = append(l[k], v) }

// sortLists sorts each list.
func sortLists[K comparable, V cmp.Ordered](l lists[K, V]) {
	for _, list := range l {
		slices.Sort(list)
	}
}
