package flightrec

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/internal/waitsfor"
)

// Report is what the dumps of all ranks of a job say.
type Report struct {
	waitsfor.Result
	// Ranks are those with a dump; Absent are members of groups without one.
	Ranks, Absent []int
	// Desc describes Group, Op is what the first waiting rank waits in.
	Desc, Op string
}

// Analyse finds for whom a job waits. Each dump needs its rank. Ranks without a
// dump cannot be judged; they are listed, since a rank that could not write its
// dump may be the one.
func Analyse(dumps []*Dump) (*Report, error) {
	seen := map[int]bool{}
	var positions []waitsfor.Position
	members := map[int]bool{}
	for _, d := range dumps {
		if d.Rank < 0 {
			return nil, errors.New("a dump has no rank: name the file after its rank, such as dump_3")
		}
		if seen[d.Rank] {
			return nil, fmt.Errorf("two dumps of rank %d", d.Rank)
		}
		seen[d.Rank] = true
		for _, g := range d.Groups {
			for _, r := range g.Ranks {
				members[r] = true
			}
			if len(g.Ranks) > 1 {
				positions = append(positions, d.position(g))
			}
		}
	}
	r := &Report{Result: waitsfor.Analyse(positions)}
	for rank := range seen {
		r.Ranks = append(r.Ranks, rank)
	}
	for rank := range members {
		if !seen[rank] {
			r.Absent = append(r.Absent, rank)
		}
	}
	slices.Sort(r.Ranks)
	slices.Sort(r.Absent)
	r.describe(dumps)
	return r, nil
}

// position is where the rank of a dump is in a group. Sends and receives have
// numbers of their own that only two ranks share, and are left out.
func (d *Dump) position(g Group) waitsfor.Position {
	p := waitsfor.Position{Rank: d.Rank, Group: g.Name, Enqueued: g.Enqueued, Completed: g.Completed}
	for _, e := range d.Entries {
		if e.Group != g.Name || e.P2P || e.Seq < 0 {
			continue
		}
		if e.Seq > p.Enqueued && p.Enqueued >= 0 {
			p.Enqueued = e.Seq
		}
		if e.State != "completed" && !e.Retired {
			p.Pending = append(p.Pending, waitsfor.Op{Seq: e.Seq, Signature: e.Signature, At: nanos(e.Created)})
		}
	}
	return p
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// describe looks up the words for the group in which the roots are missing.
func (r *Report) describe(dumps []*Dump) {
	for _, d := range dumps {
		for _, g := range d.Groups {
			if g.Name == r.Group && r.Desc == "" {
				r.Desc = g.Desc
			}
		}
		for _, e := range d.Entries {
			if e.Group == r.Group && e.Seq == r.Seq && !e.P2P && r.Op == "" {
				r.Op = e.Op
			}
		}
	}
}
