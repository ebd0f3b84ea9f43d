package detectors

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/collwatch/collwatch/internal/waitsfor"
	"github.com/collwatch/collwatch/signals"
)

// positions turns the rows of one job into what the waits-for graph is made
// of. Ranks are numbered in the order in which they are met.
type positions struct {
	who    []signals.Entity
	index  map[signals.Entity]int
	comms  map[string]bool
	seats  map[seatKey]*seat
	order  []seatKey
	ranks  map[memberRank]int // communicator and rank in it -> number
	newest int64
	steps  []step
	ras    []Unreached
	// loose says that a process is known by its rank in one communicator only.
	loose bool
}

// step is a row of network steps that wait.
type step struct {
	from  signals.Entity
	count float64
}

// seatKey is one rank in one communicator.
type seatKey struct {
	rank int
	comm string
}

type memberRank struct {
	comm string
	rank int32 // plus one
}

// seat is what one rank does in one communicator.
type seat struct {
	ops map[string]*opSeat
	// inflight is the number of operations that have begun and not ended, -1
	// where nobody tells, as in light mode or once the communicator is closed.
	inflight float64
}

// opSeat is how far it is with one kind of operation.
type opSeat struct {
	enqueued, completed int64 // -1 unknown
	single              bool  // only one count is exported
	running             bool  // an operation of this kind has begun and not ended
	peer                int32 // of the oldest that has begun, plus one; 0 where it has none
	p2p                 bool
}

func newPositions() *positions {
	return &positions{
		index: map[signals.Entity]int{}, comms: map[string]bool{}, seats: map[seatKey]*seat{}, ranks: map[memberRank]int{},
	}
}

// add takes one row. now says that it is of the newest scrape of its host: an
// operation that was in flight before need not be any more.
func (b *positions) add(id signals.ID, e signals.Entity, row sequence, now bool) {
	if !now && id != signals.CollSequence {
		return
	}
	if id == signals.ProxySteps {
		if row.value > 0 {
			b.steps = append(b.steps, step{e, row.value})
		}
		return
	}
	b.newest = max(b.newest, row.stamp)
	b.comms[e.Comm] = true
	b.loose = b.loose || e.IsMember()
	seat := b.seat(e)
	begun := e.Detail == "running" || e.Detail == "partial"
	switch id {
	case signals.CollInflight:
		if seat.inflight < 0 {
			seat.inflight = 0
		}
		if begun {
			seat.inflight += row.value
		}
	case signals.CollInflightAge:
		if op := seat.op(e.Op); begun {
			op.running = true
			op.p2p = op.p2p || pointToPoint(e.Op)
		}
	case signals.CollInflightPeer:
		if op := seat.op(e.Op); begun {
			op.p2p, op.peer = true, int32(row.value)+1
		}
	default:
		op, n := seat.op(e.Op), int64(row.value)
		switch e.Detail {
		case "completed":
			op.completed = n
		case "enqueued":
			op.enqueued = n
		default: // one count: how far the rank has got
			op.enqueued, op.single = n, true
		}
	}
}

func (b *positions) seat(e signals.Entity) *seat {
	thing := e.Thing()
	rank, ok := b.index[thing]
	if !ok {
		rank = len(b.who)
		b.index[thing] = rank
		b.who = append(b.who, thing)
	}
	if e.Rank > 0 {
		b.ranks[memberRank{e.Comm, e.Rank}] = rank
	}
	k := seatKey{rank, e.Comm}
	s := b.seats[k]
	if s == nil {
		s = &seat{ops: map[string]*opSeat{}, inflight: -1}
		b.seats[k] = s
		b.order = append(b.order, k)
	}
	return s
}

func (s *seat) op(name string) *opSeat {
	op := s.ops[name]
	if op == nil {
		op = &opSeat{enqueued: -1, completed: -1}
		s.ops[name] = op
	}
	return op
}

// build returns the positions, none where they could lead astray: a process
// that has another name in each communicator may wait in one and be waited for
// in the other.
func (b *positions) build() []waitsfor.Position {
	if b.loose && len(b.comms) > 1 {
		return nil
	}
	var out []waitsfor.Position
	single := map[int]bool{}
	for _, k := range b.order {
		s := b.seats[k]
		begun := 0.0
		for _, name := range sortedKeys(s.ops) {
			op := s.ops[name]
			if op.running {
				begun++
			}
			if op.p2p {
				out = append(out, b.peerToPeer(k, op))
				continue
			}
			if pointToPoint(name) {
				continue
			}
			if op.single {
				single[len(out)] = true
			}
			out = append(out, op.position(k.rank, k.comm+" "+name, s.inflight >= 0))
		}
		if (begun > 0) != (s.inflight > 0) {
			// The rows contradict each other, or what has begun has no number.
			out = append(out, waitsfor.Position{Rank: k.rank, Group: k.comm, Enqueued: -1, Completed: -1, Blocked: true})
		}
	}
	pend(out, single)
	return out
}

// position is where a rank is with one kind of operation. Where it is known what
// has begun, an operation that is queued behind others on the GPU has not been
// entered: whoever waits in it waits for this rank.
func (op *opSeat) position(rank int, group string, tracked bool) waitsfor.Position {
	p := waitsfor.Position{Rank: rank, Group: group, Enqueued: op.enqueued, Completed: op.completed}
	switch {
	case op.single:
	case !tracked:
		p.Blocked = op.completed < 0 // light mode: who knows what it waits for; else the communicator is closed
	case op.completed < 0 && op.enqueued < 0:
		p.Blocked = op.running
	case op.running:
		p.Enqueued = max(op.completed, 0) + 1
		p.Pending = []waitsfor.Op{{Seq: p.Enqueued}}
		// In CUDA graphs the numbers stand still.
		p.Blocked = op.enqueued < p.Enqueued
	default:
		p.Enqueued = max(op.completed, 0)
	}
	return p
}

// peerToPeer is a rank that waits in a Send or Recv: for its peer, if that is
// seen to be in none itself, else for somebody unknown.
func (b *positions) peerToPeer(k seatKey, op *opSeat) waitsfor.Position {
	p := waitsfor.Position{Rank: k.rank, Group: k.comm + " p2p", Enqueued: -1, Completed: -1}
	peer, known := b.ranks[memberRank{k.comm, op.peer}]
	if op.peer == 0 || !known || peer == k.rank {
		p.Blocked = true
		return p
	}
	there := b.seats[seatKey{peer, k.comm}]
	if there == nil || there.inflight < 0 {
		p.Blocked = true
		return p
	}
	for _, other := range there.ops {
		if other.p2p && other.running {
			p.Blocked = true
			return p
		}
	}
	p.For = []int{peer}
	return p
}

// waits says that a rank has begun an operation that has not ended.
func (b *positions) waits(thing signals.Entity) bool {
	rank, ok := b.index[thing]
	if !ok {
		return false
	}
	for k, s := range b.seats {
		if k.rank == rank && s.inflight > 0 {
			return true
		}
	}
	return false
}

// outside says that all of the given ranks have finished every operation they
// began: the job stands, and not in NCCL.
func (b *positions) outside(things []signals.Entity) bool {
	idle := map[int]bool{}
	for k, s := range b.seats {
		if s.inflight > 0 {
			return false
		}
		idle[k.rank] = idle[k.rank] || s.inflight == 0
	}
	for _, thing := range things {
		if rank, ok := b.index[thing]; !ok || !idle[rank] {
			return false
		}
	}
	return len(things) > 0
}

// pend fills in what each rank is stuck in where only one count is exported: a
// rank that is ahead of another of its group is stuck in its last operation.
func pend(positions []waitsfor.Position, single map[int]bool) {
	least := map[string]int64{}
	for _, p := range positions {
		if m, ok := least[p.Group]; !ok || p.Enqueued < m {
			least[p.Group] = p.Enqueued
		}
	}
	for i := range positions {
		if p := &positions[i]; single[i] && p.Enqueued > least[p.Group] {
			p.Pending = []waitsfor.Op{{Seq: p.Enqueued}}
		}
	}
}

// unreached notes a rank that RAS has just not reached.
func (b *positions) unreached(e signals.Entity, row sequence, now time.Time) {
	x := Unreached{e.Thing(), e.Detail}
	if row.value > 0 && now.UnixMilli()-row.stamp < columnAge.Milliseconds() && !slices.Contains(b.ras, x) {
		b.ras = append(b.ras, x)
	}
}

// stepsKept bounds the waits that are told.
const stepsKept = 64

// peerWaits lists the network steps that wait for a peer that is known, the
// most first.
func (b *positions) peerWaits() []PeerWait {
	var out []PeerWait
	for _, s := range b.steps {
		n, err := strconv.ParseInt(s.from.Peer, 10, 31)
		if err != nil {
			continue
		}
		if to, ok := b.ranks[memberRank{s.from.Comm, int32(n) + 1}]; ok {
			out = append(out, PeerWait{From: s.from.Thing(), To: b.who[to], Phase: s.from.Detail, Count: s.count})
		}
	}
	slices.SortStableFunc(out, func(a, b PeerWait) int { return cmp.Compare(b.Count, a.Count) })
	return out[:min(len(out), stepsKept)]
}
