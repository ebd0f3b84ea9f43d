package detectors

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/internal/waitsfor"
	"github.com/collwatch/collwatch/signals"
)

// sequences keeps what the ranks of a standing job have enqueued, begun and
// finished in each communicator: sequence numbers and operations in flight of
// the collwatch exporter, sequence numbers of some dialects of the Inspector.
// It reads nothing of jobs that go on.
type sequences struct {
	rows map[rowKey]sequence
	// newest is the newest sample of each host: one scrape has one time, and
	// what is older was not in flight any more.
	newest map[string]int64
}

type rowKey struct {
	signal signals.ID
	id     signals.EntityID
}

type sequence struct {
	value float64
	stamp int64
}

// seqGraph is the answer of the graph over two looks: counts that differ for an
// instant are normal, ones that do not move are not.
type seqGraph struct {
	before waitsfor.Result
	looked int64
	times  int
	first  map[signals.Entity]time.Time // when a rank was first seen behind
}

func newSequences() sequences {
	return sequences{rows: map[rowKey]sequence{}, newest: map[string]int64{}}
}

func (s *sequences) renumber(to []signals.EntityID, _ int) {
	moved := make(map[rowKey]sequence, len(s.rows))
	for k, row := range s.rows {
		if int(k.id) < len(to) && to[k.id] != Gone {
			moved[rowKey{k.signal, to[k.id]}] = row
		}
	}
	s.rows = moved
}

// sequenceSignals are the signals that the graph is made of, and the evidence
// beside it.
func sequenceSignals() [6]signals.ID {
	return [...]signals.ID{
		signals.CollSequence, signals.CollInflight, signals.CollInflightAge, signals.CollInflightPeer, signals.ProxySteps, signals.RASMissing,
	}
}

// read takes the new rows of a tick about jobs that stand.
func (s *sequences) read(t *Tick, stands map[string]bool) {
	if len(stands) == 0 {
		clear(s.rows)
		clear(s.newest)
		return
	}
	for _, id := range sequenceSignals() {
		f := t.Frame(id)
		for i := range f.Len() {
			e := t.Entities.Of(f.Entity[i])
			if !stands[e.Job] {
				continue
			}
			s.rows[rowKey{id, f.Entity[i]}] = sequence{f.Value[i], f.Stamp[i]}
			if id != signals.RASMissing { // which another host asked for
				s.newest[e.Host] = max(s.newest[e.Host], f.Stamp[i])
			}
		}
	}
	for k, row := range s.rows {
		if t.Time.UnixMilli()-row.stamp > freshness.Milliseconds() {
			delete(s.rows, k)
		}
	}
}

// look reads what the ranks of a job do.
func (s *sequences) look(t *Tick, job string) *positions {
	b := newPositions()
	for _, k := range s.sorted() {
		e, row := t.Entities.Of(k.id), s.rows[k]
		switch {
		case e.Job != job || e.Comm == "":
		case k.signal == signals.RASMissing:
			b.unreached(e, row, t.Time)
		default:
			b.add(k.signal, e, row, row.stamp == s.newest[e.Host])
		}
	}
	return b
}

// judge builds the waits-for graph of a standing job.
func (g *seqGraph) judge(at time.Time, b *positions, out *JobProgress) {
	positions := b.build()
	if len(positions) == 0 {
		return
	}
	out.Graph = true
	now := waitsfor.Analyse(positions)
	switch {
	case !slices.Equal(now.Roots, g.before.Roots) || !slices.Equal(now.Cycle, g.before.Cycle):
		g.times, g.looked = 1, b.newest
	case b.newest > g.looked:
		g.times, g.looked = g.times+1, b.newest
	}
	g.before = now
	if g.times < 2 {
		return
	}
	for _, rank := range now.Roots {
		who := b.who[rank]
		g.note(who, at)
		out.Behind = append(out.Behind, who)
		if g.first[who].After(out.BehindSince) {
			out.BehindSince = g.first[who]
		}
	}
	for _, m := range now.Mismatches {
		for _, rank := range m.Ranks {
			out.Mismatch = append(out.Mismatch, b.who[rank])
		}
	}
	out.Cycle = len(now.Cycle) > 0 && len(now.Roots) == 0
}

// note remembers when a rank was first seen behind.
func (g *seqGraph) note(who signals.Entity, at time.Time) {
	if g.first == nil {
		g.first = map[signals.Entity]time.Time{}
	}
	if g.first[who].IsZero() {
		g.first[who] = at
	}
}

// sorted lists the rows in a fixed order.
func (s *sequences) sorted() []rowKey {
	keys := make([]rowKey, 0, len(s.rows))
	for k := range s.rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		if a.id != b.id {
			return int(int64(a.id) - int64(b.id))
		}
		return int(a.signal) - int(b.signal)
	})
	return keys
}
