package flightrec

import (
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/internal/waitsfor"
)

// Report is what the dumps of all ranks of a job say.
type Report struct {
	waitsfor.Result
	// Ranks are those with a dump; Absent are members of groups without one.
	Ranks, Absent []int
	// Older are ranks whose dumps seem to be of an earlier run of the job: they
	// count as absent.
	Older []int
	// Desc describes Group, Op is the operation Seq there.
	Desc, Op string
	// Peers are, by rank, those for whom it may wait in a send or receive: they
	// have no dump, or one without the other side unfinished. Whether such a
	// peer did not begin or has finished cannot be told, so it is no suspect,
	// and neither is who may wait for it.
	Peers map[int][]int
}

// Analyse finds for whom a job waits. Each dump needs its rank. Ranks without a
// dump cannot be judged; they are listed, since a rank that could not write its
// dump may be the one.
func Analyse(dumps []*Dump) (*Report, error) {
	r, older, err := analyse(dumps)
	if err != nil || len(older) == 0 {
		return r, err
	}
	rest := slices.DeleteFunc(slices.Clone(dumps), func(d *Dump) bool { return slices.Contains(older, d.Rank) })
	// One look is enough: what is left is of one time, or names somebody else.
	if r, _, err = analyse(rest); err != nil {
		return nil, err
	}
	r.Older = older
	return r, nil
}

// analyse also returns the roots that must not be named because their dumps are
// older than the hang.
func analyse(dumps []*Dump) (*Report, []int, error) {
	j, err := join(dumps)
	if err != nil {
		return nil, nil, err
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
	held := j.held()
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
	r.Alike = r.Alike && len(r.Absent) == 0 && len(r.Peers) == 0
	r.describe(j)
	return r, j.older(r), nil
}

// earlier is by how much the last operation of a dump has to be older than what
// others wait in, so that the dump is taken for one of an earlier run that was
// not overwritten. A rank that hangs entered its last operation with the others;
// between that and the next, all of them, a checkpoint or an evaluation fits.
const earlier = time.Hour

func (j *job) older(r *Report) []int {
	var out []int
	for _, root := range r.Roots {
		newest := int64(0)
		for i := range j.dumps[root].Entries {
			newest = max(newest, nanos(j.dumps[root].Entries[i].Created))
		}
		since := int64(0)
		for i := range j.positions {
			p := &j.positions[i]
			if len(p.Pending) > 0 && slices.Contains(r.WaitedBy[root], p.Rank) && (since == 0 || p.Pending[0].At < since) {
				since = p.Pending[0].At
			}
		}
		if newest > 0 && since-newest > int64(earlier) {
			out = append(out, root)
		}
	}
	return out
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

// held are the ranks that have something unfinished: they may wait there for
// somebody who has no dump, who has entered it but is stuck before it in the
// order of his stream, or for the network. When a job stands because of one rank,
// everything that it has enqueued itself has ended, since the others have entered
// that too. A rank whose unfinished operations the others have finished is held
// by nobody.
func (j *job) held() map[int]bool {
	out := map[int]bool{}
	for rank, d := range j.dumps {
		out[rank] = slices.ContainsFunc(d.unfinished(), func(e Entry) bool { return e.P2P })
	}
	done := map[string][]int64{}
	for i := range j.positions {
		p := &j.positions[i]
		done[p.Group] = append(done[p.Group], p.Completed)
		out[p.Rank] = out[p.Rank] || len(p.Pending) > 0
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
	g := j.groups[r.Group]
	r.Group, r.Desc = g.Name, g.Desc
	for _, rank := range g.Ranks {
		if d := j.dumps[rank]; d != nil && r.Op == "" {
			r.Op = d.opName(g.Name, r.Seq)
		}
	}
	for i := range r.Mismatches {
		r.Mismatches[i].Group = j.groups[r.Mismatches[i].Group].Name
	}
}

func (d *Dump) opName(group string, seq int64) string {
	for i := range d.Entries {
		if e := &d.Entries[i]; e.Group == group && e.Seq == seq && !e.P2P {
			return e.Op
		}
	}
	return ""
}

// finished says that another member has finished what p is stuck in.
func (j *job) finished(p *waitsfor.Position) bool {
	return slices.ContainsFunc(j.positions, func(q waitsfor.Position) bool { return q.Group == p.Group && q.Completed >= p.Pending[0].Seq })
}
