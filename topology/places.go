package topology

import (
	"fmt"
	"maps"
	"slices"

	"github.com/collwatch/collwatch/topology/parse"
)

// place puts hosts on racks, NVLink domains, pods and leaves: the most trusted
// source counts, host by host.
func (m *merger) place() {
	m.o.Leaves = map[string][]string{}
	for _, level := range []string{parse.Leaf, parse.Rack, parse.Domain, parse.Pod} {
		won := map[string]Claim{}
		var said []map[string]string // by source
		var who []*sourceFacts
		for i := range m.sources {
			s := &m.sources[i]
			all := namesOf(s.facts.Places, level)
			if len(all) == 0 {
				continue
			}
			one := map[string]string{}
			for host, names := range all {
				if level == parse.Leaf {
					for i, n := range names {
						names[i] = m.names.of(n, "")
					}
				}
				if len(names) == 1 {
					one[host] = names[0]
				} else if level == parse.Leaf && len(m.o.Leaves[host]) == 0 {
					m.o.Leaves[host] = names // a host may hang on several leaves; on one rack only
				} else if level != parse.Leaf {
					m.differ(Disagreement{About: level, Host: host, Claims: []Claim{s.claim(names[0], false), s.claim(names[1], false)}, Text: "neither is used"})
				}
			}
			for host, name := range one {
				trust := s.claim(name, false)
				if _, ok := won[host]; !ok && (level != parse.Leaf || len(m.o.Leaves[host]) == 0) {
					won[host] = trust
				}
			}
			said, who = append(said, one), append(who, s)
		}
		m.comparePlaces(level, won, said, who)
		set := make(map[string]string, len(won))
		for host, c := range won {
			set[host] = c.Value
		}
		switch level {
		case parse.Leaf:
			m.o.Leaf = set
		case parse.Rack:
			m.o.Rack = set
		case parse.Domain:
			m.o.Domain = set
		case parse.Pod:
			m.o.Pod = set
		}
	}
	m.leavesAgainstCables()
}

// namesOf collects what a source says of hosts on one level, each name once.
func namesOf(list []parse.Place, level string) map[string][]string {
	out := map[string][]string{}
	for i := range list {
		if p := &list[i]; p.Level == level && !slices.Contains(out[p.Host], p.Name) && len(out[p.Host]) < 64 {
			out[p.Host] = append(out[p.Host], p.Name)
		}
	}
	return out
}

// comparePlaces reports hosts that a less trusted source puts elsewhere.
func (m *merger) comparePlaces(level string, won map[string]Claim, said []map[string]string, who []*sourceFacts) {
	value := make(map[string]string, len(won))
	for host, c := range won {
		value[host] = c.Value
	}
	for i := range said {
		mp := newMapping(value, said[i])
		for _, host := range slices.Sorted(maps.Keys(said[i])) {
			c, ok := won[host]
			if ok && c.Source != who[i].name && mp.differs(c.Value, said[i][host]) {
				m.differ(Disagreement{About: level, Host: host, Claims: []Claim{c, who[i].claim(said[i][host], false)}})
			}
		}
	}
}

// leavesAgainstCables compares the leaf that a host has as a whole with those of
// its cables, where both have the same names.
func (m *merger) leavesAgainstCables() {
	byHost := map[string]map[string]Claim{}
	known := map[string]bool{}
	for _, n := range m.nics {
		if n.Leaf == "" || len(n.Claims) == 0 {
			continue
		}
		if byHost[n.Host] == nil {
			byHost[n.Host] = map[string]Claim{}
		}
		byHost[n.Host][n.Leaf] = n.Claims[0]
		known[n.Leaf] = true
	}
	differ, total := []string{}, 0
	for _, host := range slices.Sorted(maps.Keys(m.o.Leaf)) {
		leaf := m.o.Leaf[host]
		if !known[leaf] || len(byHost[host]) == 0 {
			continue
		}
		total++
		if _, ok := byHost[host][leaf]; !ok {
			differ = append(differ, host)
		}
	}
	if len(differ) >= minVariant && 5*len(differ) > total {
		m.differ(Disagreement{About: "plan", Text: fmt.Sprintf("%d of %d hosts have no cable to the leaf that they are said to hang on: other names or an old file", len(differ), total)})
		return
	}
	for _, host := range differ {
		cables := slices.SortedFunc(maps.Keys(byHost[host]), natural)
		m.differ(Disagreement{About: "leaf", Host: host, Claims: []Claim{byHost[host][cables[0]]}, Text: "as a whole it is said to hang on " + m.o.Leaf[host]})
	}
}
