package topology

import (
	"cmp"
	"slices"
)

// trunks joins the links between switches and turns them so that the switch
// nearer to hosts comes first.
func (m *merger) trunks() {
	seen := map[[3]string]bool{}
	ported := map[[2]string]bool{} // pairs of switches of which ports are known
	var out []Uplink
	for i := range m.sources {
		s := &m.sources[i]
		for j := range s.facts.Trunks {
			t := &s.facts.Trunks[j]
			u := Uplink{
				Switch: m.names.of(t.Switch, t.SwitchGUID), Port: t.Port, Peer: m.names.of(t.Peer, t.PeerGUID), PeerPort: t.PeerPort,
				Source: s.name, Hint: t.Hint,
			}
			switch {
			case t.Down || u.Switch == "" || u.Switch == u.Peer:
				continue
			case u.Port == "" && (ported[[2]string{u.Switch, u.Peer}] || ported[[2]string{u.Peer, u.Switch}]):
				continue // "below" adds nothing to known cables
			}
			a, b := [3]string{u.Switch, u.Port, ""}, [3]string{u.Peer, u.PeerPort, ""}
			if u.Port == "" {
				a = [3]string{u.Switch, "", u.Peer}
			}
			if u.PeerPort == "" {
				b = [3]string{u.Peer, "", u.Switch}
			}
			if seen[a] || u.Port != "" && u.PeerPort != "" && seen[b] {
				continue
			}
			seen[a] = true
			if u.PeerPort != "" {
				seen[b] = true
			}
			if u.Port != "" {
				ported[[2]string{u.Switch, u.Peer}] = true
			}
			out = append(out, u)
		}
	}
	tier := m.tiers(out)
	for i := range out {
		if u := &out[i]; tier[u.Peer] < tier[u.Switch] {
			u.Switch, u.Port, u.Peer, u.PeerPort = u.Peer, u.PeerPort, u.Switch, u.Port
		}
	}
	slices.SortFunc(out, func(a, b Uplink) int {
		return cmp.Or(natural(a.Switch, b.Switch), natural(a.Port, b.Port), natural(a.Peer, b.Peer), natural(a.PeerPort, b.PeerPort))
	})
	m.o.Uplinks = out
}

// tiers gives the distance of each switch from hosts: 1 for a leaf. A switch
// that no host is known to hang below is far away.
func (m *merger) tiers(links []Uplink) map[string]int {
	next := map[string][]string{}
	for _, u := range links {
		next[u.Switch] = append(next[u.Switch], u.Peer)
		next[u.Peer] = append(next[u.Peer], u.Switch)
	}
	tier := map[string]int{}
	var front []string
	add := func(leaf string) {
		if leaf != "" && tier[leaf] == 0 {
			tier[leaf] = 1
			front = append(front, leaf)
		}
	}
	for _, n := range m.nics {
		add(n.Leaf)
	}
	for _, l := range m.o.Leaf {
		add(l)
	}
	for _, all := range []map[string][]string{m.o.Leaves, m.o.Unplaced} {
		for _, list := range all {
			for _, l := range list {
				add(l)
			}
		}
	}
	for len(front) > 0 {
		var further []string
		for _, sw := range front {
			for _, peer := range next[sw] {
				if tier[peer] == 0 {
					tier[peer] = tier[sw] + 1
					further = append(further, peer)
				}
			}
		}
		front = further
	}
	for sw := range next {
		if tier[sw] == 0 {
			tier[sw] = len(next) + 1
		}
	}
	return tier
}
