package topology

import (
	"fmt"
	"slices"
)

// statement is what one source says about one NIC port.
type statement struct {
	source *sourceFacts
	leaf   string
	port   string
	plan   bool
}

// links gives each NIC its leaf: the most trusted measurement counts, a plan
// only where nothing was measured.
func (m *merger) links() {
	said := map[nicKey][]statement{}
	var order []nicKey
	m.o.Unplaced = map[string][]string{}
	unknown := 0
	for i := range m.sources {
		s := &m.sources[i]
		for j := range s.facts.Links {
			l := &s.facts.Links[j]
			leaf := m.names.of(l.Switch, l.SwitchGUID)
			if l.Down || leaf == "" {
				continue
			}
			k, ok := m.resolve(l)
			if !ok {
				if k.host == "" {
					unknown++
				} else if !slices.Contains(m.o.Unplaced[k.host], leaf) {
					m.o.Unplaced[k.host] = append(m.o.Unplaced[k.host], leaf)
				}
				continue
			}
			if said[k] == nil {
				order = append(order, k)
			}
			said[k] = append(said[k], statement{source: s, leaf: leaf, port: l.SwitchPort, plan: l.Plan})
		}
	}
	if unknown > 0 {
		m.differ(Disagreement{About: "unknown", Text: fmt.Sprintf("%d links lead to adapters that nothing names", unknown)})
	}
	leaves := map[string]bool{}
	for _, k := range order {
		n := m.nics[k]
		if n == nil {
			n = m.add(k, k.port)
		}
		m.settle(n, said[k])
		leaves[n.Leaf] = true
	}
	m.expect(order, leaves)
}

// settle chooses the statement that counts and keeps all.
func (m *merger) settle(n *ObservedNIC, said []statement) {
	best := slices.IndexFunc(said, func(s statement) bool { return !s.plan })
	best = max(best, 0)
	first := said[best]
	n.Leaf, n.LeafPort, n.Source = first.leaf, first.port, first.source.name
	n.Claims = []Claim{first.source.claim(first.leaf, first.plan)}
	for i, st := range said {
		if st.leaf == n.Leaf && n.LeafPort == "" {
			n.LeafPort = st.port
		}
		if i != best {
			n.Claims = append(n.Claims, st.source.claim(st.leaf, st.plan))
		}
	}
}

// expect takes the leaf of a plan or an older statement as the expected one,
// where it names a leaf that exists. A source that differs for many hosts has
// names or an order of its own: it accuses nobody, and that is said once.
func (m *merger) expect(order []nicKey, leaves map[string]bool) {
	type tally struct {
		hosts, differ map[string]bool
	}
	bySource := map[string]*tally{}
	of := func(name string) *tally {
		if bySource[name] == nil {
			bySource[name] = &tally{hosts: map[string]bool{}, differ: map[string]bool{}}
		}
		return bySource[name]
	}
	for _, k := range order {
		n := m.nics[k]
		for _, c := range n.Claims[1:] {
			t := of(c.Source)
			t.hosts[k.host] = true
			if c.Value != n.Leaf {
				t.differ[k.host] = true
			}
		}
	}
	few := func(t *tally) bool { return len(t.differ) < minVariant || 5*len(t.differ) <= len(t.hosts) }
	for _, k := range order {
		n := m.nics[k]
		for _, c := range n.Claims[1:] {
			if t := of(c.Source); c.Value == n.Leaf || !few(t) {
				continue
			}
			m.differ(Disagreement{About: "leaf", Host: n.Host, Device: n.Device, Claims: []Claim{n.Claims[0], c}})
			if n.Expected == "" && leaves[c.Value] {
				n.Expected = c.Value
			}
		}
	}
	for name, t := range bySource {
		if !few(t) {
			m.differ(Disagreement{About: "plan", Text: fmt.Sprintf("%s names other leaves for %d of %d hosts: other names or another wiring; it accuses nobody", name, len(t.differ), len(t.hosts))})
		}
	}
}
