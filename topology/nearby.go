package topology

import (
	"fmt"
	"maps"
	"slices"

	"github.com/collwatch/collwatch/topology/parse"
)

// affinity takes over which NIC is next to which GPU, from the most trusted dump
// of each host.
func (m *merger) affinity() {
	done := map[string]string{} // host to source
	for i := range m.sources {
		s := &m.sources[i]
		partial := map[string]bool{}
		for _, n := range s.facts.Near {
			if by := done[n.Host]; by != "" && by != s.name {
				continue
			}
			if have := len(m.o.GPUs[n.Host]); have > 0 && n.Of != have {
				// It numbers GPUs by what a container saw.
				if !partial[n.Host] {
					partial[n.Host] = true
					m.differ(Disagreement{About: "affinity", Host: n.Host, Text: fmt.Sprintf("%s shows %d GPUs where the series show %d; it is not used", s.name, n.Of, have)})
				}
				continue
			}
			dev := m.device(n.Host, n.NIC, "")
			if m.nics[keyOf(n.Host, dev, "")] == nil && len(m.onHost[n.Host]) > 0 {
				m.differ(Disagreement{About: "affinity", Host: n.Host, Device: n.NIC, Text: s.name + " has an adapter that the series do not show"})
				continue
			}
			if n.Assumed && parse.PathRank(n.Path) > parse.PathRank("PXB") {
				continue // all are equally far: no better than the order of devices
			}
			done[n.Host] = s.name
			m.o.Affinity = append(m.o.Affinity, Affinity{Host: n.Host, GPU: n.GPU, NIC: dev, Assumed: n.Assumed, Source: s.name})
		}
	}
}

// graphs reports hosts whose channels take a longer way to the NIC than those
// of most others.
func (m *merger) graphs() {
	worst := map[string]parse.Graph{}
	source := map[string]*sourceFacts{}
	for i := range m.sources {
		for _, g := range m.sources[i].facts.Graphs {
			if g.TypeInter == "" || g.Pattern != "ring" {
				continue
			}
			if old, ok := worst[g.Host]; !ok || parse.PathRank(g.TypeInter) > parse.PathRank(old.TypeInter) {
				worst[g.Host], source[g.Host] = g, &m.sources[i]
			}
		}
	}
	count := map[string]int{}
	for _, g := range worst {
		count[g.TypeInter]++
	}
	for _, host := range slices.SortedFunc(maps.Keys(worst), natural) {
		g := worst[host]
		better := 0
		for class, n := range count {
			if parse.PathRank(class) < parse.PathRank(g.TypeInter) {
				better += n
			}
		}
		if 2*better > len(worst) {
			m.differ(Disagreement{About: "path", Host: host, Claims: []Claim{source[host].claim(g.TypeInter, false)}, Text: fmt.Sprintf("%d of %d hosts reach their NICs by a shorter way", better, len(worst))})
		}
	}
}
