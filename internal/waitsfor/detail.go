package waitsfor

import (
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/simple"
)

// leaves counts the edges that lead out of a set of nodes: a cycle that waits
// for somebody outside it is a victim.
func leaves(g *simple.DirectedGraph, part []graph.Node) int {
	in := map[int64]bool{}
	for _, n := range part {
		in[n.ID()] = true
	}
	out := 0
	for _, n := range part {
		for to := g.From(n.ID()); to.Next(); {
			if !in[to.Node().ID()] {
				out++
			}
		}
	}
	return out
}

// anyBlocked says that a member of a set waits for somebody unknown: a cycle
// with such a member need not be the reason of anything.
func anyBlocked(part []graph.Node, blocked map[int64]bool) bool {
	return slices.ContainsFunc(part, func(n graph.Node) bool { return blocked[n.ID()] })
}

// wavefront is the group in which the waiting for a root began, and the first
// operation that a root lacks there. Groups whose operations have no time are
// ordered by how much waiting there is.
func wavefront(byGroup map[string][]*Position, groups []string, votes map[string]int, roots []int) (string, int64) {
	best, seq, since := "", int64(0), int64(0)
	for _, name := range groups {
		lacked, at, missing := int64(0), int64(0), false
		for _, p := range byGroup[name] {
			if !slices.Contains(roots, p.Rank) {
				continue
			}
			if op, ok := lacks(p, byGroup[name]); ok {
				if !missing || p.Enqueued+1 < lacked {
					lacked = p.Enqueued + 1
				}
				if !missing || op.At < at {
					at = op.At
				}
				missing = true
			}
		}
		if missing && (best == "" || at < since || (at == since && votes[name] > votes[best])) {
			best, seq, since = name, lacked, at
		}
	}
	return best, seq
}

// lacks returns the oldest operation in which another member is stuck and that
// p has not enqueued.
func lacks(p *Position, members []*Position) (Op, bool) {
	var oldest Op
	found := false
	for _, q := range members {
		if op, ok := q.first(); ok && q != p && op.Seq > p.Enqueued && (!found || op.At < oldest.At) {
			oldest, found = op, true
		}
	}
	return oldest, found
}

// mismatches compares what the members of a group enqueued at the same
// position.
func mismatches(name string, members []*Position) []Mismatch {
	bySeq := map[int64]map[string][]int{}
	for _, p := range members {
		for _, op := range p.Pending {
			if op.Signature == "" {
				continue
			}
			if bySeq[op.Seq] == nil {
				bySeq[op.Seq] = map[string][]int{}
			}
			bySeq[op.Seq][op.Signature] = append(bySeq[op.Seq][op.Signature], p.Rank)
		}
	}
	first := int64(-1)
	for seq, signatures := range bySeq {
		if len(signatures) > 1 && (first < 0 || seq < first) {
			first = seq // what follows a mismatch is its consequence
		}
	}
	if first < 0 {
		return nil
	}
	m := Mismatch{Group: name, Seq: first, Signatures: bySeq[first]}
	most, total := 0, 0
	for _, ranks := range m.Signatures {
		slices.Sort(ranks)
		most, total = max(most, len(ranks)), total+len(ranks)
	}
	if 2*most > total {
		for _, ranks := range m.Signatures {
			if len(ranks) < most {
				m.Ranks = append(m.Ranks, ranks...)
			}
		}
		slices.Sort(m.Ranks)
	}
	return []Mismatch{m}
}

// stuckInFinished lists the members that have not finished an operation which
// others of their group have, in groups where they are at most a share of all:
// if they are more, the others are merely ahead.
func stuckInFinished(byGroup map[string][]*Position, groups []string, share float64) []int {
	var out []int
	for _, name := range groups {
		done := int64(-1)
		for _, p := range byGroup[name] {
			done = max(done, p.Completed)
		}
		var behind []int
		for _, p := range byGroup[name] {
			if op, ok := p.first(); ok && op.Seq <= done {
				behind = append(behind, p.Rank)
			}
		}
		if float64(len(behind)) <= share*float64(len(byGroup[name])) {
			out = append(out, behind...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// union merges sorted ranks of a and b without those of except.
func union(a, b, except []int) []int {
	out := slices.Concat(a, b)
	slices.Sort(out)
	out = slices.Compact(out)
	out = slices.DeleteFunc(out, func(r int) bool { return slices.Contains(except, r) })
	if len(out) == 0 {
		return nil
	}
	return out
}

func pending(positions []Position) bool {
	for i := range positions {
		if len(positions[i].Pending) > 0 {
			return true
		}
	}
	return false
}
