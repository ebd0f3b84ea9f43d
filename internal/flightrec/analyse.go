package flightrec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/internal/waitsfor"
)

// Report is what the dumps of all ranks of a job say.
type Report struct {
	waitsfor.Result
	// Ranks are those with a dump; Absent are members of groups without one.
	Ranks, Absent []int
	// Desc describes Group, Op is the operation Seq there.
	Desc, Op string
	// Peers are, by rank, those for whom it may wait in a send or receive: they
	// have no dump, or one without the other side unfinished. Whether such a
	// peer did not begin or has finished cannot be told, so it is no suspect,
	// and neither is who may wait for it.
	Peers map[int][]int
}

// job is all dumps, ready to be compared.
type job struct {
	dumps map[int]*Dump
	// groups by key, those of one member left out.
	groups map[string]Group
	// mixed are groups in which some rank sends or receives.
	mixed     map[string]bool
	positions []waitsfor.Position
}

// Analyse finds for whom a job waits. Each dump needs its rank. Ranks without a
// dump cannot be judged; they are listed, since a rank that could not write its
// dump may be the one.
func Analyse(dumps []*Dump) (*Report, error) {
	j, err := join(dumps)
	if err != nil {
		return nil, err
	}
	r := &Report{Peers: j.peers()}
	absent := map[int]bool{}
	for _, g := range j.groups {
		for _, rank := range g.Ranks {
			if j.dumps[rank] == nil {
				absent[rank] = true
			}
		}
	}
	for rank := range absent {
		r.Absent = append(r.Absent, rank)
	}
	slices.Sort(r.Absent)
	held := j.held(r.Peers)
	for rank := range j.dumps {
		r.Ranks = append(r.Ranks, rank)
		if held[rank] {
			j.positions = append(j.positions, waitsfor.Position{Rank: rank, Enqueued: -1, Completed: -1, Blocked: true})
		}
	}
	slices.Sort(r.Ranks)
	r.Result = waitsfor.Analyse(j.positions)
	r.NotExited = slices.DeleteFunc(r.NotExited, func(rank int) bool { return held[rank] })
	// Only with everybody's dump is "all" true.
	r.Alike = r.Alike && len(r.Absent) == 0 && len(held) == 0
	r.describe(j)
	return r, nil
}

// join checks that the dumps are of one job, and compares them by group.
func join(dumps []*Dump) (*job, error) {
	j := &job{dumps: map[int]*Dump{}, groups: map[string]Group{}, mixed: map[string]bool{}}
	type member struct {
		group string
		rank  int
	}
	keys := map[member]string{}
	for _, d := range dumps {
		if d.Rank < 0 {
			return nil, errors.New("a dump has no rank: name the file after its rank, such as dump_3")
		}
		if j.dumps[d.Rank] != nil {
			return nil, fmt.Errorf("two dumps of rank %d: give the dumps of one hang only", d.Rank)
		}
		j.dumps[d.Rank] = d
		for _, g := range d.Groups {
			if len(g.Ranks) < 2 {
				continue
			}
			key := g.key()
			if _, ok := j.groups[key]; !ok {
				j.groups[key] = g
				for _, rank := range g.Ranks {
					m := member{g.Name, rank}
					if other, ok := keys[m]; ok && other != key {
						return nil, fmt.Errorf("group %s has other members in the dump of rank %d than in another one: the dumps are not all of one job", g.Name, d.Rank)
					}
					keys[m] = key
				}
			}
		}
	}
	for _, d := range dumps {
		for _, e := range d.Entries {
			if e.P2P {
				j.mixed[e.Group] = true
			}
		}
	}
	for _, d := range dumps {
		for _, g := range d.Groups {
			if len(g.Ranks) > 1 {
				j.positions = append(j.positions, d.position(g, j.mixed[g.Name]))
			}
		}
	}
	return j, nil
}

// peers finds the sends and receives whose other side is not open.
func (j *job) peers() map[int][]int {
	open := map[int]map[transfer]bool{}
	for rank, d := range j.dumps {
		open[rank] = d.transfers()
	}
	out := map[int][]int{}
	for rank, transfers := range open {
		for t := range transfers {
			other := transfer{t.group, rank, !t.send}
			if !open[t.peer][other] && !slices.Contains(out[rank], t.peer) {
				out[rank] = append(out[rank], t.peer)
			}
		}
		slices.Sort(out[rank])
	}
	return out
}

// held are the ranks that may wait for somebody who cannot be judged: for a
// peer of a send, or for a member of a group without a dump. A rank whose
// unfinished operations the others have finished is held by nobody.
func (j *job) held(peers map[int][]int) map[int]bool {
	out := map[int]bool{}
	for rank := range peers {
		out[rank] = true
	}
	done := map[string][]int64{}
	for i := range j.positions {
		p := &j.positions[i]
		done[p.Group] = append(done[p.Group], p.Completed)
		if len(p.Pending) > 0 && slices.ContainsFunc(j.groups[p.Group].Ranks, func(rank int) bool { return j.dumps[rank] == nil }) {
			out[p.Rank] = true
		}
	}
	for i := range j.positions {
		p := &j.positions[i]
		if len(p.Pending) == 0 || !needsAll(p.Pending[0].Signature) {
			continue
		}
		finished := 0
		for _, seq := range done[p.Group] {
			if seq >= p.Pending[0].Seq {
				finished++
			}
		}
		if 2*finished >= len(j.groups[p.Group].Ranks)-1 && finished > 0 {
			delete(out, p.Rank)
		}
	}
	return out
}

// needsAll says that nobody can finish an operation before all have taken part.
// The root of a broadcast can, and all but the root of a reduce.
func needsAll(signature string) bool {
	op, _, _ := strings.Cut(signature, " ")
	for _, part := range []string{"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"} {
		if strings.Contains(op, part) {
			return true
		}
	}
	return false
}

// describe looks up the words for the operation that the report is about, and
// writes the names of groups for their keys.
func (r *Report) describe(j *job) {
	if len(r.Roots) == 0 && len(r.NotExited) > 0 {
		for i := range j.positions {
			if p := &j.positions[i]; p.Rank == r.NotExited[0] && len(p.Pending) > 0 && j.finished(p) {
				r.Group, r.Seq = p.Group, p.Pending[0].Seq
				break
			}
		}
	}
	for _, rank := range r.Ranks {
		for _, g := range j.dumps[rank].Groups {
			if g.key() != r.Group {
				continue
			}
			if r.Desc == "" {
				r.Desc = g.Desc
			}
			for _, e := range j.dumps[rank].Entries {
				if e.Group == g.Name && e.Seq == r.Seq && !e.P2P && r.Op == "" {
					r.Op = e.Op
				}
			}
		}
	}
	r.Group = keyName(r.Group)
	for i := range r.Mismatches {
		r.Mismatches[i].Group = keyName(r.Mismatches[i].Group)
	}
}

// finished says that another member has finished what p is stuck in.
func (j *job) finished(p *waitsfor.Position) bool {
	return slices.ContainsFunc(j.positions, func(q waitsfor.Position) bool { return q.Group == p.Group && q.Completed >= p.Pending[0].Seq })
}
