package flightrec

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// toyOp is an operation of a toy job. A send has two members, the sender first.
type toyOp struct {
	group   string
	members []int
	p2p     bool
	seq     int64 // of collectives and of transfers apart, as the recorder counts
}

// toyJob runs programs: a rank enqueues its operations in order, some of them
// ahead of what has ended, and an operation ends when all members have enqueued
// it and everything before it on each of them has ended.
type toyJob struct {
	groups   map[string][][]int // members of the groups of one name
	program  [][]*toyOp         // by rank
	enqueued []int
	ended    map[*toyOp]bool
	stuck    *toyOp // never ends, as if the network were gone
}

// newToyJob is tensor × pipeline × data parallel: in each step transfers along
// the pipeline, a collective of the stage, and one over the replicas.
func newToyJob(t *rapid.T) *toyJob {
	tp, pp, dp := rapid.IntRange(1, 3).Draw(t, "tp"), rapid.IntRange(1, 3).Draw(t, "pp"), rapid.IntRange(1, 2).Draw(t, "dp")
	world := tp * pp * dp
	at := func(d, p, x int) int { return (d*pp+p)*tp + x }
	j := &toyJob{groups: map[string][][]int{}, program: make([][]*toyOp, world), enqueued: make([]int, world), ended: map[*toyOp]bool{}}
	// One name for all parts of a split, or a name for each; the pipeline may use
	// the group of everybody.
	split, shared := rapid.Bool().Draw(t, "split"), rapid.Bool().Draw(t, "shared")
	all := make([]int, world)
	for r := range all {
		all[r] = r
	}
	j.groups["0"] = [][]int{all}
	name := func(kind string, n int, members []int) string {
		if !split {
			kind = fmt.Sprint(kind, n)
		}
		j.groups[kind] = append(j.groups[kind], members)
		return kind
	}
	type part struct {
		name    string
		members []int
	}
	var stages, replicas [][]part
	pipes := map[int]string{}
	for d := range dp {
		for x := range tp {
			var members []int
			for p := range pp {
				members = append(members, at(d, p, x))
			}
			pipe := "0"
			if !shared {
				pipe = name("pp", d*tp+x, members)
			}
			for _, r := range members {
				pipes[r] = pipe
			}
		}
	}
	for p := range pp {
		var stage, replica []part
		for d := range dp {
			var members []int
			for x := range tp {
				members = append(members, at(d, p, x))
			}
			stage = append(stage, part{name("tp", d*pp+p, members), members})
		}
		for x := range tp {
			var members []int
			for d := range dp {
				members = append(members, at(d, p, x))
			}
			replica = append(replica, part{name("dp", p*tp+x, members), members})
		}
		stages, replicas = append(stages, stage), append(replicas, replica)
	}
	seq := map[string]int64{}
	add := func(group string, members []int, p2p bool) {
		if len(members) < 2 {
			return
		}
		key := fmt.Sprint(group, members, p2p)
		if p2p {
			key = fmt.Sprint(group, "p2p")
		}
		seq[key]++
		op := &toyOp{group, members, p2p, seq[key]}
		for _, r := range members {
			j.program[r] = append(j.program[r], op)
		}
	}
	for range rapid.IntRange(1, 4).Draw(t, "steps") {
		for p := range pp {
			for d := range dp {
				for x := 0; p > 0 && x < tp; x++ {
					add(pipes[at(d, p, x)], []int{at(d, p-1, x), at(d, p, x)}, true)
				}
				add(stages[p][d].name, stages[p][d].members, false)
			}
		}
		for p := range pp {
			for _, g := range replicas[p] {
				add(g.name, g.members, false)
			}
		}
		add("0", all, false)
	}
	return j
}

// run lets the job go until nothing moves, with a rank that enqueues no more than
// so many operations.
func (j *toyJob) run(hung, last, ahead int) {
	for moved := true; moved; {
		moved = false
		for r, program := range j.program {
			open := 0
			for _, op := range program[:j.enqueued[r]] {
				if !j.ended[op] {
					open++
				}
			}
			if j.enqueued[r] < len(program) && open <= ahead && (r != hung || j.enqueued[r] < last) {
				j.enqueued[r]++
				moved = true
			}
			for _, op := range program[:j.enqueued[r]] {
				if !j.ended[op] && j.mayEnd(op) {
					j.ended[op], moved = true, true
				}
			}
		}
	}
}

func (j *toyJob) mayEnd(op *toyOp) bool {
	if op == j.stuck {
		return false
	}
	for _, r := range op.members {
		found := false
		for _, before := range j.program[r][:j.enqueued[r]] {
			if before == op {
				found = true
				break
			}
			if !j.ended[before] {
				return false
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// dump is what the recorder of a rank holds; old says that it also keeps what has
// ended.
func (j *toyJob) dump(rank int, old bool) *Dump {
	d := &Dump{Rank: rank}
	for name, parts := range j.groups {
		for _, members := range parts {
			for _, r := range members {
				if r == rank {
					d.Groups = append(d.Groups, Group{Name: name, Ranks: members, Enqueued: 0, Completed: 0})
				}
			}
		}
	}
	last := map[string]int64{} // collectives
	for _, op := range j.program[rank][:j.enqueued[rank]] {
		for i := range d.Groups {
			if g := &d.Groups[i]; g.Name == op.group {
				g.Enqueued = op.seq
				if j.ended[op] {
					g.Completed = op.seq
				}
			}
		}
		e := Entry{Group: op.group, Op: "all_reduce", Signature: "all_reduce", State: "scheduled", Seq: op.seq}
		if op.p2p {
			e = Entry{Group: op.group, P2P: true, State: "scheduled", Seq: last[op.group], P2PSeq: op.seq}
			for _, g := range d.Groups {
				if g.Name == op.group {
					e.Op = transferName(g.Ranks, op.members, rank)
				}
			}
		} else {
			last[op.group] = op.seq
		}
		if j.ended[op] {
			e.State, e.Retired = "completed", true
		}
		if old || !j.ended[op] {
			d.Entries = append(d.Entries, e)
		}
	}
	return d
}

func transferName(ranks, members []int, rank int) string {
	in := func(r int) (at int) {
		for i, x := range ranks {
			if x == r {
				at = i
			}
		}
		return at
	}
	if members[0] == rank {
		return fmt.Sprintf("send %d->%d", in(rank), in(members[1]))
	}
	return fmt.Sprintf("recv %d<-%d", in(rank), in(members[0]))
}

// Nobody but the rank that hangs is ever named, whatever of the dumps is there.
func TestOnlyTheRankThatHangsIsNamed(t *testing.T) {
	named := 0
	rapid.Check(t, func(t *rapid.T) {
		j := newToyJob(t)
		hung := rapid.IntRange(0, len(j.program)-1).Draw(t, "hung")
		if len(j.program[hung]) == 0 {
			return
		}
		j.run(hung, rapid.IntRange(0, len(j.program[hung])-1).Draw(t, "last"), rapid.IntRange(0, 3).Draw(t, "ahead"))
		old := rapid.Bool().Draw(t, "old")
		var dumps []*Dump
		for rank := range j.program {
			if rapid.IntRange(0, 9).Draw(t, "absent") > 0 {
				dumps = append(dumps, j.dump(rank, old))
			}
		}
		if len(dumps) == 0 {
			return
		}
		r, err := Analyse(dumps)
		require.NoError(t, err)
		require.Subset(t, []int{hung}, r.Roots)
		require.Empty(t, r.Mismatches)
		require.Empty(t, r.Cycle)
		require.Empty(t, r.NotExited)
		named += len(r.Roots)
	})
	require.Positive(t, named)
	t.Logf("named in %d runs", named)
}

// Where all have entered and nothing moves, nobody is late.
func TestNobodyIsNamedForTheNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := newToyJob(t)
		rank := rapid.IntRange(0, len(j.program)-1).Draw(t, "rank")
		if len(j.program[rank]) == 0 {
			return
		}
		j.stuck = rapid.SampledFrom(j.program[rank]).Draw(t, "stuck")
		j.run(-1, 0, rapid.IntRange(0, 3).Draw(t, "ahead"))
		old := rapid.Bool().Draw(t, "old")
		var dumps []*Dump
		for rank := range j.program {
			dumps = append(dumps, j.dump(rank, old))
		}
		r, err := Analyse(dumps)
		require.NoError(t, err)
		require.Empty(t, r.Roots)
		require.Empty(t, r.NotExited)
	})
}
