package detectors

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/signals"
)

// A table is a map whatever is put, dropped and renumbered, and its rows keep the
// order in which they were first seen.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var tab table[int]
		want, order := map[signals.EntityID]int{}, []signals.EntityID{}
		id := rapid.Map(rapid.IntRange(0, 40), func(i int) signals.EntityID { return signals.EntityID(i) })
		keep := func(kept func(signals.EntityID) bool) {
			var left []signals.EntityID
			for _, id := range order {
				if kept(id) {
					left = append(left, id)
				} else {
					delete(want, id)
				}
			}
			order = left
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				k, v := id.Draw(rt, "id"), rapid.Int().Draw(rt, "value")
				if _, ok := want[k]; !ok {
					order = append(order, k)
					require.Zero(rt, *tab.put(k))
				}
				want[k] = v
				*tab.put(k) = v
			},
			"drop": func(rt *rapid.T) {
				limit := rapid.Int().Draw(rt, "limit")
				tab.drop(func(id signals.EntityID, v *int) bool {
					require.Equal(rt, want[id], *v)
					return *v < limit
				})
				keep(func(id signals.EntityID) bool { return want[id] >= limit })
			},
			"renumber": func(rt *rapid.T) {
				to := rapid.Permutation(numbers(rapid.IntRange(0, 41).Draw(rt, "known"))).Draw(rt, "to")
				for i := range to {
					if rapid.Bool().Draw(rt, "gone") {
						to[i] = Gone
					}
				}
				tab.renumber(to)
				keep(func(id signals.EntityID) bool { return int(id) < len(to) && to[id] != Gone })
				moved := map[signals.EntityID]int{}
				for i, id := range order {
					moved[to[id]] = want[id]
					order[i] = to[id]
				}
				want = moved
			},
			"": func(rt *rapid.T) {
				require.Equal(rt, len(want), tab.len())
				for i, e := range tab.list {
					require.Equal(rt, order[i], e.id)
				}
				for i := range signals.EntityID(50) {
					v, ok := tab.get(i)
					w, known := want[i]
					require.Equal(rt, known, ok)
					require.Equal(rt, w, v)
				}
			},
		})
	})
}

func numbers(n int) []signals.EntityID {
	out := make([]signals.EntityID, n)
	for i := range out {
		out[i] = signals.EntityID(i)
	}
	return out
}

// All detectors see the same newest values: of this tick, of ticks before while they
// are fresh, and after a renumbering.
func TestColumnIsKeptForAllDetectors(t *testing.T) {
	tick, entities := newTick(), signals.NewEntities()
	a, b := entities.Intern(gpu("h", "GPU0")), entities.Intern(gpu("h", "GPU1"))
	at := func(second int, id signals.EntityID, v float64) {
		s := snapshotOf(unixMilli(int64(second)*1000), entities)
		s.Frames[signals.GPUTemp] = &signals.Frame{Entity: []signals.EntityID{id}, Value: []float64{v}, Stamp: []int64{int64(second) * 1000}}
		tick.begin(s)
	}
	at(100, b, 50)
	c := tick.column(signals.GPUTemp)
	require.Same(t, c, tick.column(signals.GPUTemp))
	require.Equal(t, []signals.EntityID{b}, c.sorted())
	at(130, a, 60) // nobody asks at this tick
	at(160, a, 61)
	require.Equal(t, []signals.EntityID{a, b}, c.sorted())
	v, ok := c.get(b)
	require.True(t, ok)
	require.InDelta(t, 50, v, 0)
	at(201, a, 62)
	_, ok = c.get(b)
	require.False(t, ok, "older than %s", columnAge)
	require.InDelta(t, 50, c.row(b).value, 0)
	tick.renumber([]signals.EntityID{1, 0})
	require.InDelta(t, 62, c.row(b).value, 0)
	at(1300, b, 63)
	require.Equal(t, 1, c.rows.len(), "long gone")
}
