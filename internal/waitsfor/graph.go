package waitsfor

import (
	"slices"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// Op is one unfinished operation.
type Op struct {
	// Seq is the position in the communicator.
	Seq int64
	// Signature is what has to be equal on all members: operation, type, and
	// size where that has to be equal. Empty is unknown.
	Signature string
	// At orders operations of different communicators in time, such as Unix
	// ns of their creation; 0 unknown.
	At int64
}

// Position is where one rank is in one communicator.
type Position struct {
	Rank  int
	Group string
	// Enqueued is the number of the last operation enqueued, Completed that of
	// the last one finished; -1 unknown.
	Enqueued, Completed int64
	// Pending are the unfinished operations, in any order.
	Pending []Op
	// For are ranks it waits for in operations without a number, Send and Recv.
	For []int
	// Blocked says that it waits for somebody who is not known: such a rank is
	// no root, whoever waits for it.
	Blocked bool
}

// Mismatch is an operation that members of a group see differently.
type Mismatch struct {
	Group string
	Seq   int64
	// Signatures has the ranks by what they enqueued.
	Signatures map[string][]int
	// Ranks are those that differ from the majority; nil without one.
	Ranks []int
}

// Result is what the positions say. All lists are sorted.
type Result struct {
	// Roots are the ranks that others wait for and that wait for nobody.
	Roots []int
	// WaitedBy maps each root to the ranks that wait for it.
	WaitedBy map[int][]int
	// Masked are candidates behind the roots: ranks that others wait for and
	// that wait themselves, or that are stuck in an operation which at least
	// half of their group has finished. Whether they failed too, or would have,
	// cannot be told: they are listed and never named.
	Masked []int
	// Waiting are all ranks that wait for another.
	Waiting []int
	// Group is where the waiting for a root began (where that is not known,
	// where most of it is), Seq the first operation there that a root has not
	// enqueued.
	Group string
	Seq   int64

	Mismatches []Mismatch
	// NotExited are ranks that have not finished an operation which most
	// members of the group have; set only if nobody is missing.
	NotExited []int
	// Cycle is a set of ranks that wait for each other, so that nobody is
	// missing and the order of the operations is wrong.
	Cycle []int
	// Alike says that all members of all groups enqueued the same operations
	// and none of them progresses.
	Alike bool
}

// Analyse builds the graph. Rank q is missing for rank r if the oldest
// unfinished operation of r in a group with q is s and the last operation that
// q enqueued there is below s. A member without a position, or with an unknown
// one, is waited for by nobody.
func Analyse(positions []Position) Result {
	g := simple.NewDirectedGraph()
	byGroup := map[string][]*Position{}
	for i := range positions {
		p := &positions[i]
		byGroup[p.Group] = append(byGroup[p.Group], p)
		if g.Node(int64(p.Rank)) == nil {
			g.AddNode(simple.Node(p.Rank))
		}
	}
	groups := make([]string, 0, len(byGroup))
	for name := range byGroup {
		groups = append(groups, name)
	}
	slices.Sort(groups)
	votes := map[string]int{}
	for _, name := range groups {
		votes[name] = edges(g, byGroup[name])
	}
	r := classify(g, blocked(positions))
	r.Group, r.Seq = wavefront(byGroup, groups, votes, r.Roots)
	for _, name := range groups {
		r.Mismatches = append(r.Mismatches, mismatches(name, byGroup[name])...)
	}
	if len(r.Roots) > 0 {
		r.Masked = union(r.Masked, stuckInFinished(byGroup, groups, 0.5), r.Roots)
	}
	if len(r.Roots) == 0 && len(r.Cycle) == 0 {
		r.NotExited = stuckInFinished(byGroup, groups, 0.49)
		r.Alike = len(r.Masked) == 0 && len(r.NotExited) == 0 && len(r.Mismatches) == 0 && pending(positions)
	}
	return r
}

// first is the oldest unfinished operation, the one the rank is stuck in. Later
// ones say nothing: how far a rank has run ahead with enqueueing differs.
func (p *Position) first() (Op, bool) {
	if len(p.Pending) == 0 {
		return Op{}, false
	}
	first := p.Pending[0]
	for _, op := range p.Pending[1:] {
		if op.Seq < first.Seq {
			first = op
		}
	}
	return first, true
}

// edges adds the edges of one group and returns how many there are.
func edges(g *simple.DirectedGraph, members []*Position) int {
	n := 0
	for _, r := range members {
		first, ok := r.first()
		for _, q := range r.For {
			if q != r.Rank && !g.HasEdgeFromTo(int64(r.Rank), int64(q)) {
				g.SetEdge(simple.Edge{F: simple.Node(r.Rank), T: simple.Node(q)})
				n++
			}
		}
		for _, q := range members {
			if ok && q.Rank != r.Rank && first.Seq > q.Enqueued && q.Enqueued >= 0 {
				g.SetEdge(simple.Edge{F: simple.Node(r.Rank), T: simple.Node(q.Rank)})
				n++
			}
		}
	}
	return n
}

// blocked lists the ranks that wait for somebody unknown.
func blocked(positions []Position) map[int64]bool {
	out := map[int64]bool{}
	for i := range positions {
		if positions[i].Blocked {
			out[int64(positions[i].Rank)] = true
		}
	}
	return out
}

// classify reads roots, masked ranks and cycles off the graph.
func classify(g *simple.DirectedGraph, blocked map[int64]bool) Result {
	r := Result{WaitedBy: map[int][]int{}}
	nodes := g.Nodes()
	for nodes.Next() {
		id := nodes.Node().ID()
		in, out := g.To(id).Len(), g.From(id).Len()
		if out > 0 || blocked[id] {
			r.Waiting = append(r.Waiting, int(id))
		}
		switch {
		case in > 0 && out == 0 && !blocked[id]:
			r.Roots = append(r.Roots, int(id))
			for to := g.To(id); to.Next(); {
				r.WaitedBy[int(id)] = append(r.WaitedBy[int(id)], int(to.Node().ID()))
			}
			slices.Sort(r.WaitedBy[int(id)])
		case in > 0:
			r.Masked = append(r.Masked, int(id))
		}
	}
	for _, part := range topo.TarjanSCC(g) {
		if len(part) > 1 && leaves(g, part) == 0 && !anyBlocked(part, blocked) {
			for _, n := range part {
				r.Cycle = append(r.Cycle, int(n.ID()))
			}
		}
	}
	slices.Sort(r.Roots)
	slices.Sort(r.Masked)
	slices.Sort(r.Waiting)
	slices.Sort(r.Cycle)
	return r
}
