package flightrec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// in is an operation of a group that has not ended.
func in(group, op string, seq int64) Entry {
	return Entry{Group: group, Op: op, Seq: seq, State: "scheduled", Signature: op}
}

// transferIn is a send or receive that has not ended, after collective seq.
func transferIn(group, op string, seq, p2p int64) Entry {
	return Entry{Group: group, Op: op, Seq: seq, P2PSeq: p2p, P2P: true, State: "scheduled"}
}

// dump is of a rank with groups and entries.
func dump(rank int, groups []Group, entries ...Entry) *Dump {
	return &Dump{Rank: rank, Groups: groups, Entries: entries}
}

// of is a group with the counters of one rank.
func of(name string, enqueued, completed int64, ranks ...int) Group {
	return Group{Name: name, Ranks: ranks, Enqueued: enqueued, Completed: completed}
}

func TestWhoIsNotNamed(t *testing.T) {
	tp := func(rank int, enqueued, completed int64) Group {
		if rank < 2 {
			return of("tp", enqueued, completed, 0, 1)
		}
		return of("tp", enqueued, completed, 2, 3)
	}
	pp := func(rank int) Group { return of("pp", -1, -1, rank%2, rank%2+2) }
	for name, tc := range map[string]struct {
		dumps []*Dump
		want  func(*testing.T, *Report)
	}{
		"parts of a split have one name": {
			[]*Dump{
				dump(0, []Group{tp(0, 9, 8)}, in("tp", "all_reduce", 9)), dump(1, []Group{tp(1, 9, 8)}, in("tp", "all_reduce", 9)),
				dump(2, []Group{tp(2, 4, 4)}), dump(3, []Group{tp(3, 4, 4)}),
			},
			func(t *testing.T, r *Report) {
				require.Empty(t, r.Roots, "ranks 2 and 3 are no members of the group in which 0 and 1 wait")
				require.True(t, r.Alike)
			},
		},
		"who waits to receive is not late by himself": {
			[]*Dump{
				dump(0, []Group{tp(0, 9, 9), pp(0)}),
				dump(1, []Group{tp(1, 9, 9), pp(1)}),
				dump(2, []Group{tp(2, 4, 4), pp(2)}, transferIn("pp", "recv 1<-0", 0, 7)),
				dump(3, []Group{tp(3, 5, 4), pp(3)}, in("tp", "all_reduce", 5)),
			},
			func(t *testing.T, r *Report) {
				require.Empty(t, r.Roots)
				require.Equal(t, []int{2}, r.Masked)
				require.Equal(t, map[int][]int{2: {0}}, r.Peers)
			},
		},
		"nor who is in a transfer that both have begun": {
			[]*Dump{
				dump(0, []Group{tp(0, 9, 9), pp(0)}, transferIn("pp", "send 0->1", 0, 7)),
				dump(1, []Group{tp(1, 9, 9), pp(1)}),
				dump(2, []Group{tp(2, 4, 4), pp(2)}, transferIn("pp", "recv 1<-0", 0, 7)),
				dump(3, []Group{tp(3, 5, 4), pp(3)}, in("tp", "all_reduce", 5)),
			},
			func(t *testing.T, r *Report) {
				require.Empty(t, r.Roots)
				require.Equal(t, []int{2}, r.Masked)
				require.Empty(t, r.Peers)
			},
		},
		"who waits with a rank without a dump is not late by himself": {
			[]*Dump{
				dump(2, []Group{tp(2, 4, 4), of("dp", 3, 2, 0, 2)}, in("dp", "all_reduce", 3)),
				dump(3, []Group{tp(3, 5, 4)}, in("tp", "all_reduce", 5)),
			},
			func(t *testing.T, r *Report) {
				require.Empty(t, r.Roots)
				require.Equal(t, []int{2}, r.Masked)
				require.Equal(t, []int{0}, r.Absent)
			},
		},
		"the only dump names nobody and is not all": {
			[]*Dump{dump(2, []Group{tp(2, 5, 4)}, in("tp", "all_reduce", 5))},
			func(t *testing.T, r *Report) {
				require.Empty(t, r.Roots)
				require.False(t, r.Alike)
			},
		},
		"counters of a group with sends are those of the sends": {
			[]*Dump{
				// Rank 2 has finished operation 501, and its last call was a send.
				dump(2, []Group{of("w", 10, 10, 2, 3)}),
				dump(3, []Group{of("w", 501, 500, 2, 3)}, in("w", "all_reduce", 501), transferIn("w", "send 1->0", 500, 9)),
			},
			func(t *testing.T, r *Report) { require.Empty(t, r.Roots) },
		},
		"parts of coalesced calls stay scheduled for ever": {
			[]*Dump{
				dump(0, []Group{of("w", 9, 9, 0, 1)}, in("w", "all_gather", 5), in("w", "reduce_scatter", 5)),
				dump(1, []Group{of("w", 9, 9, 0, 1)}),
			},
			func(t *testing.T, r *Report) {
				require.Empty(t, r.NotExited)
				require.Empty(t, r.Mismatches)
				require.False(t, r.Alike)
			},
		},
		"a coalesced call is one operation": {
			[]*Dump{
				dump(0, []Group{of("w", 9, 8, 0, 1)}, in("w", "all_gather", 9), in("w", "reduce_scatter", 9)),
				dump(1, []Group{of("w", 9, 8, 0, 1)}, in("w", "all_gather", 9), in("w", "reduce_scatter", 9)),
			},
			func(t *testing.T, r *Report) {
				require.Empty(t, r.Mismatches)
				require.True(t, r.Alike)
			},
		},
		"coalesced sends end with their call": {
			[]*Dump{
				dump(2, []Group{tp(2, 4, 4), pp(2)}, transferIn("pp", "recv 1<-0", 0, 7), Entry{Group: "pp", Op: "coalesced", P2P: true, P2PSeq: 7, State: "completed"}),
				dump(3, []Group{tp(3, 5, 4)}, in("tp", "all_reduce", 5)),
			},
			func(t *testing.T, r *Report) { require.Equal(t, []int{2}, r.Roots) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Analyse(tc.dumps)
			require.NoError(t, err)
			tc.want(t, r)
		})
	}
}

func TestWordsForARankThatDidNotLeave(t *testing.T) {
	r, err := Analyse([]*Dump{
		dump(0, []Group{of("w", 9, 9, 0, 1, 2)}),
		dump(1, []Group{of("w", 9, 8, 0, 1, 2)}, in("w", "all_reduce", 9)),
		dump(2, []Group{of("w", 9, 9, 0, 1, 2)}),
	})
	require.NoError(t, err)
	require.Equal(t, []int{1}, r.NotExited)
	require.Equal(t, "w", r.Group)
	require.EqualValues(t, 9, r.Seq)
	require.Equal(t, "all_reduce", r.Op)
}

func TestDumpsOfTwoJobsAreRefused(t *testing.T) {
	_, err := Analyse([]*Dump{dump(0, []Group{of("7", 9, 9, 0, 1, 2)}), dump(1, []Group{of("7", 4, 4, 1, 3)})})
	require.ErrorContains(t, err, "group 7")
	require.ErrorContains(t, err, "not all of one job")
}

func TestADumpOfAnEarlierRunNamesNobody(t *testing.T) {
	hang := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(e Entry, when time.Time) Entry { e.Created = when; return e }
	for name, tc := range map[string]struct {
		newest time.Time
		roots  []int
		older  []int
	}{
		"the rank hung in a checkpoint":  {hang.Add(-30 * time.Minute), []int{2}, nil},
		"its dump was not overwritten":   {hang.Add(-5 * time.Hour), nil, []int{2}},
		"nothing is known about its age": {time.Time{}, []int{2}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			last := at(in("w", "all_reduce", 4), tc.newest)
			last.State = "completed"
			r, err := Analyse([]*Dump{
				dump(0, []Group{of("w", 5, 4, 0, 1, 2)}, at(in("w", "all_reduce", 5), hang)),
				dump(1, []Group{of("w", 5, 4, 0, 1, 2)}, at(in("w", "all_reduce", 5), hang)),
				dump(2, []Group{of("w", 4, 4, 0, 1, 2)}, last),
			})
			require.NoError(t, err)
			require.Equal(t, tc.roots, r.Roots)
			require.Equal(t, tc.older, r.Older)
		})
	}
}
