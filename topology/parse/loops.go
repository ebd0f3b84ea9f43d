package parse

import (
	"slices"
	"strings"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// loops takes switches that are above themselves out of a tree: none of the
// links among them can be trusted.
func (s *sink) loops() {
	g := simple.NewDirectedGraph()
	ids := map[string]int64{}
	var names []string
	id := func(name string) int64 {
		n, ok := ids[name]
		if !ok {
			n = int64(len(names))
			ids[name] = n
			names = append(names, name)
			g.AddNode(simple.Node(n))
		}
		return n
	}
	own := map[string]bool{}
	for _, t := range s.facts.Trunks {
		a, b := id(t.Switch), id(t.Peer)
		if a == b {
			own[t.Switch] = true
			continue
		}
		g.SetEdge(simple.Edge{F: simple.Node(a), T: simple.Node(b)})
	}
	ring := map[string]int{}
	var members [][]string
	for _, scc := range topo.TarjanSCC(g) {
		if len(scc) == 1 && !own[names[scc[0].ID()]] {
			continue
		}
		var m []string
		for _, n := range scc {
			ring[names[n.ID()]] = len(members) + 1
			m = append(m, names[n.ID()])
		}
		slices.Sort(m)
		members = append(members, m)
	}
	told := make([]bool, len(members)+1)
	for _, t := range s.facts.Trunks { // in the order of lines
		if i := ring[t.Switch]; i > 0 && i == ring[t.Peer] && !told[i] {
			told[i] = true
			s.fail(t.Line, "loop among %s: the links among them are left out", shorten(strings.Join(members[i-1], ", ")))
		}
	}
	if len(ring) == 0 {
		return
	}
	s.facts.Trunks = slices.DeleteFunc(s.facts.Trunks, func(t Trunk) bool {
		return ring[t.Switch] != 0 && ring[t.Switch] == ring[t.Peer]
	})
}
