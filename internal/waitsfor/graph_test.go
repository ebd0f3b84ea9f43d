package waitsfor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// at is a rank that has enqueued and completed so much in a group.
func at(rank int, group string, enqueued, completed int64) Position {
	p := Position{Rank: rank, Group: group, Enqueued: enqueued, Completed: completed}
	for s := completed + 1; s <= enqueued; s++ {
		p.Pending = append(p.Pending, Op{Seq: s, Signature: "all_reduce"})
	}
	return p
}

func TestAnalyse(t *testing.T) {
	differs := at(2, "w", 5, 4)
	differs.Pending[0].Signature = "all_gather"
	for name, tc := range map[string]struct {
		positions []Position
		want      Result
	}{
		"nobody hangs": {
			[]Position{at(0, "w", 4, 4), at(1, "w", 4, 4)}, Result{},
		},
		"one did not enter": {
			[]Position{at(0, "w", 5, 4), at(1, "w", 4, 4), at(2, "w", 6, 4)},
			Result{Roots: []int{1}, WaitedBy: map[int][]int{1: {0, 2}}, Waiting: []int{0, 2}, Group: "w", Seq: 5},
		},
		"run ahead by different lengths": {
			[]Position{at(0, "w", 9, 4), at(1, "w", 5, 4), at(2, "w", 6, 4)}, Result{Alike: true},
		},
		"blame follows the chain": {
			[]Position{at(0, "a", 5, 4), at(1, "a", 4, 4), at(1, "b", 8, 7), at(2, "b", 7, 7)},
			Result{Roots: []int{2}, WaitedBy: map[int][]int{2: {1}}, Waiting: []int{0, 1}, Masked: []int{1}, Group: "b", Seq: 8},
		},
		"wrong order in two groups": {
			[]Position{at(0, "a", 1, 0), at(1, "a", 0, 0), at(1, "b", 1, 0), at(0, "b", 0, 0)},
			Result{Waiting: []int{0, 1}, Masked: []int{0, 1}, Cycle: []int{0, 1}},
		},
		"different operations": {
			[]Position{at(0, "w", 5, 4), at(1, "w", 5, 4), differs},
			Result{Mismatches: []Mismatch{{Group: "w", Seq: 5, Signatures: map[string][]int{"all_reduce": {0, 1}, "all_gather": {2}}, Ranks: []int{2}}}},
		},
		"one did not leave": {
			[]Position{at(0, "w", 5, 5), at(1, "w", 5, 4), at(2, "w", 5, 5)}, Result{NotExited: []int{1}},
		},
		"all entered and none leaves": {
			[]Position{at(0, "w", 5, 4), at(1, "w", 5, 4), at(2, "w", 5, 4)}, Result{Alike: true},
		},
		"the missing one waits for somebody else": {
			[]Position{at(0, "w", 5, 4), at(1, "w", 4, 4), {Rank: 1, Group: "p2p", Enqueued: -1, Completed: -1, Blocked: true}},
			Result{Waiting: []int{0, 1}, Masked: []int{1}},
		},
		"blame follows a receive": {
			[]Position{at(0, "w", 5, 4), at(1, "w", 4, 4), {Rank: 1, Group: "p2p", Enqueued: -1, Completed: -1, For: []int{2}}, {Rank: 2, Group: "p2p", Enqueued: -1, Completed: -1}},
			Result{Roots: []int{2}, WaitedBy: map[int][]int{2: {1}}, Waiting: []int{0, 1}, Masked: []int{1}},
		},
		"a cycle with a rank that also waits for somebody unknown": {
			[]Position{at(0, "a", 1, 0), at(1, "a", 0, 0), at(1, "b", 1, 0), at(0, "b", 0, 0), {Rank: 1, Group: "c", Enqueued: -1, Completed: -1, Blocked: true}},
			Result{Waiting: []int{0, 1}, Masked: []int{0, 1}},
		},
		"a rank of unknown position is nobody's excuse": {
			[]Position{at(0, "w", 5, 4), {Rank: 1, Group: "w", Enqueued: -1, Completed: -1}}, Result{Alike: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want.WaitedBy == nil {
				tc.want.WaitedBy = map[int][]int{}
			}
			require.Equal(t, tc.want, Analyse(tc.positions))
		})
	}
}

// Whatever the positions are: roots wait for nobody, somebody waits for each,
// and the order of the input does not matter.
func TestRootsWaitForNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ps []Position
		for rank := range rapid.IntRange(2, 8).Draw(t, "ranks") {
			for _, group := range []string{"a", "b"} {
				done := rapid.Int64Range(0, 3).Draw(t, "done")
				ps = append(ps, at(rank, group, done+rapid.Int64Range(0, 3).Draw(t, "more"), done))
			}
		}
		r := Analyse(ps)
		for _, root := range r.Roots {
			require.NotContains(t, r.Waiting, root)
			require.NotEmpty(t, r.WaitedBy[root])
			require.NotContains(t, r.Masked, root)
		}
		shuffled := rapid.Permutation(ps).Draw(t, "order")
		require.Equal(t, r, Analyse(shuffled))
	})
}
