package detectors

import (
	"slices"

	"github.com/collwatch/collwatch/internal/waitsfor"
	"github.com/collwatch/collwatch/signals"
)

// sequences keeps the last sequence numbers per communicator, kind of operation
// and rank, which the collwatch exporter and some dialects of the Inspector
// export, and the operation counts of RAS.
type sequences struct {
	rows map[signals.EntityID]sequence
}

type sequence struct {
	id    signals.ID
	value float64
	stamp int64
}

// seqGraph is the answer of the graph over two looks: counts that differ for an
// instant are normal, ones that do not move are not.
type seqGraph struct {
	before waitsfor.Result
	looked int64
	times  int
}

func newSequences() sequences { return sequences{rows: map[signals.EntityID]sequence{}} }

func (s *sequences) renumber(to []signals.EntityID, _ int) {
	moved := make(map[signals.EntityID]sequence, len(s.rows))
	for id, row := range s.rows {
		if int(id) < len(to) && to[id] != Gone {
			moved[to[id]] = row
		}
	}
	s.rows = moved
}

// read takes the new rows of a tick.
func (s *sequences) read(t *Tick) {
	for _, id := range []signals.ID{signals.CollSequence, signals.RASCount} {
		f := t.Frame(id)
		for i := range f.Len() {
			s.rows[f.Entity[i]] = sequence{id, f.Value[i], f.Stamp[i]}
		}
	}
	for id, row := range s.rows {
		if t.Time.UnixMilli()-row.stamp > freshness.Milliseconds() {
			delete(s.rows, id)
		}
	}
}

// judge builds the waits-for graph of a standing job.
func (s *sequences) judge(t *Tick, job string, g *seqGraph, out *JobProgress) {
	positions, who, newest := s.positions(t, job)
	if len(positions) == 0 {
		return
	}
	out.Graph = true
	now := waitsfor.Analyse(positions)
	switch {
	case !slices.Equal(now.Roots, g.before.Roots) || !slices.Equal(now.Cycle, g.before.Cycle):
		g.times, g.looked = 1, newest
	case newest > g.looked:
		g.times, g.looked = g.times+1, newest
	}
	g.before = now
	if g.times < 2 {
		return
	}
	for _, rank := range now.Roots {
		out.Behind = append(out.Behind, who[rank])
	}
	for _, m := range now.Mismatches {
		for _, rank := range m.Ranks {
			out.Mismatch = append(out.Mismatch, who[rank])
		}
	}
	out.Cycle = len(now.Cycle) > 0 && len(now.Roots) == 0
}

// positions turns the rows of a job into positions. Ranks are numbered in the
// order of their GPUs; who maps the numbers back.
func (s *sequences) positions(t *Tick, job string) (out []waitsfor.Position, who []signals.Entity, newest int64) {
	index := map[signals.Entity]int{}
	type key struct {
		rank  int
		group string
	}
	at, single := map[key]int{}, map[int]bool{}
	ids := make([]signals.EntityID, 0, len(s.rows))
	for id := range s.rows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		e, row := t.Entities.Of(id), s.rows[id]
		if e.Job != job || e.Comm == "" || pointToPoint(e.Op) {
			continue
		}
		newest = max(newest, row.stamp)
		thing := e.Thing()
		rank, ok := index[thing]
		if !ok {
			rank = len(who)
			index[thing] = rank
			who = append(who, thing)
		}
		k := key{rank, e.Comm + " " + e.Op}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, waitsfor.Position{Rank: rank, Group: k.group, Enqueued: -1, Completed: -1})
		}
		p, n := &out[i], int64(row.value)
		switch e.Detail {
		case "completed":
			p.Completed = n
		case "enqueued":
			p.Enqueued = n
		default: // one count: how far the rank has got
			p.Enqueued, single[i] = n, true
		}
	}
	pend(out, single)
	return out, who, newest
}

// pend fills in what each rank is stuck in. Where only one count is exported,
// a rank that is ahead of another of its group is stuck in its last operation.
func pend(positions []waitsfor.Position, single map[int]bool) {
	least := map[string]int64{}
	for _, p := range positions {
		if m, ok := least[p.Group]; !ok || p.Enqueued < m {
			least[p.Group] = p.Enqueued
		}
	}
	for i := range positions {
		p := &positions[i]
		switch {
		case single[i] && p.Enqueued > least[p.Group]:
			p.Pending = []waitsfor.Op{{Seq: p.Enqueued}}
		case p.Completed >= 0 && p.Enqueued > p.Completed:
			p.Pending = []waitsfor.Op{{Seq: p.Completed + 1}}
		}
	}
}
