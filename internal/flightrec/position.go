package flightrec

import (
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/internal/waitsfor"
)

// unfinished says that an operation is not known to have ended. A member of a
// coalesced call is recorded without events and stays "scheduled" for ever: the
// entry "coalesced" of the same number speaks for it.
func (d *Dump) unfinished() []Entry {
	type call struct {
		group string
		p2p   bool
		seq   int64
	}
	of := func(e *Entry) call {
		if e.P2P {
			return call{e.Group, true, e.P2PSeq}
		}
		return call{e.Group, false, e.Seq}
	}
	over := map[call]bool{}
	for i := range d.Entries {
		if e := &d.Entries[i]; e.Op == "coalesced" && e.ended() {
			over[of(e)] = true
		}
	}
	var out []Entry
	for i := range d.Entries {
		if e := &d.Entries[i]; !e.ended() && !over[of(e)] {
			out = append(out, *e)
		}
	}
	return out
}

func (e *Entry) ended() bool { return e.State == "completed" || e.Retired }

// position is where the rank of a dump is in a group. Sends and receives have
// numbers of their own and are left out. In a group that has both, mixed, the
// recorder's counters follow whichever came last and say nothing.
func (d *Dump) position(g Group, key string, mixed bool) waitsfor.Position {
	p := waitsfor.Position{Rank: d.Rank, Group: key, Enqueued: g.Enqueued, Completed: g.Completed}
	if mixed {
		p.Enqueued, p.Completed = -1, -1
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		// Sends carry the number of the last collective before them.
		if e.Group == g.Name && e.Seq > p.Enqueued && (mixed || p.Enqueued >= 0) {
			p.Enqueued = e.Seq
		}
	}
	ops := map[int64]*waitsfor.Op{}
	for _, e := range d.unfinished() {
		if e.Group != g.Name || e.P2P || e.Seq < 0 || e.Seq <= p.Completed {
			continue
		}
		op := ops[e.Seq]
		if op == nil {
			ops[e.Seq] = &waitsfor.Op{Seq: e.Seq, Signature: e.Signature, At: nanos(e.Created)}
			continue
		}
		op.Signature += " + " + e.Signature // coalesced: one number for many
	}
	for _, op := range ops {
		p.Pending = append(p.Pending, *op)
	}
	slices.SortFunc(p.Pending, func(a, b waitsfor.Op) int { return int(a.Seq - b.Seq) })
	return p
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// transfer is one side of sends or receives between two ranks in a group, whose
// name is enough: of one name, a rank is in one group only.
type transfer struct {
	group string
	peer  int
	send  bool
}

// transfers are the sends and receives of a dump that have not ended. Their
// names have ranks within the group: "send 0->3", "recv 3<-0".
func (d *Dump) transfers() map[transfer]bool {
	groups := map[string]Group{}
	for _, g := range d.Groups {
		groups[g.Name] = g
	}
	out := map[transfer]bool{}
	for _, e := range d.unfinished() {
		g, ok := groups[e.Group]
		if !e.P2P || !ok {
			continue
		}
		var me, peer int
		send := true
		if n, _ := fmt.Sscanf(e.Op, "send %d->%d", &me, &peer); n != 2 {
			send = false
			if n, _ := fmt.Sscanf(e.Op, "recv %d<-%d", &me, &peer); n != 2 {
				continue
			}
		}
		if peer >= 0 && peer < len(g.Ranks) {
			out[transfer{g.Name, g.Ranks[peer], send}] = true
		}
	}
	return out
}
