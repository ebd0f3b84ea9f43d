package topology

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// unit is a set of hosts on the same leaves, such as a scalable unit of a rail
// fabric or the hosts of a top-of-rack switch.
type unit struct {
	hosts   []string
	devices []string // compute devices of most hosts, in order
	// wiring are the orders of leaves by position of the device that several
	// hosts have, the most common first.
	wiring []wiring
	tor    bool // leaves hold whole hosts: there are no rails
}

type wiring struct {
	leaves []string
	hosts  int
}

// leafGroup is a set of hosts and the leaves they share.
type leafGroup struct {
	leaves []string
	hosts  []string
}

// groupByLeaves puts hosts together that hang on the same leaves. A host with a
// cable in a leaf of another group stays with those it shares most leaves with.
// Hosts without leaves are in no group.
func groupByLeaves(hosts []string, leavesOf func(host string) []string) []*leafGroup {
	groups := map[string]*leafGroup{}
	for _, h := range hosts {
		leaves := slices.Compact(slices.Sorted(slices.Values(leavesOf(h))))
		if len(leaves) > 0 && leaves[0] == "" {
			leaves = leaves[1:]
		}
		if len(leaves) == 0 {
			continue
		}
		key := strings.Join(leaves, "\x00")
		if groups[key] == nil {
			groups[key] = &leafGroup{leaves: leaves}
		}
		groups[key].hosts = append(groups[key].hosts, h)
	}
	order := slices.SortedFunc(maps.Values(groups), func(a, b *leafGroup) int {
		return cmp.Or(len(b.hosts)-len(a.hosts), len(b.leaves)-len(a.leaves), natural(a.hosts[0], b.hosts[0]))
	})
	var out []*leafGroup
	on := map[string]*leafGroup{} // leaf to the first group that has it
	for _, g := range order {
		shared := map[*leafGroup]int{}
		for _, l := range g.leaves {
			if u := on[l]; u != nil {
				shared[u]++
			}
		}
		var home *leafGroup
		for _, l := range g.leaves { // in order, so that a tie is always broken alike
			if u := on[l]; u != nil && 2*shared[u] > len(g.leaves) && (home == nil || shared[u] > shared[home]) {
				home = u
			}
		}
		if home == nil {
			home = &leafGroup{leaves: g.leaves}
			out = append(out, home)
			for _, l := range g.leaves {
				if on[l] == nil {
					on[l] = home
				}
			}
		}
		home.hosts = append(home.hosts, g.hosts...)
	}
	return out
}

// units groups hosts by the leaves of their compute NICs.
func units(hosts []string, compute map[string][]ObservedNIC) []*unit {
	groups := groupByLeaves(hosts, func(h string) []string {
		var leaves []string
		for _, n := range compute[h] {
			leaves = append(leaves, n.leafBefore())
		}
		return leaves
	})
	out := make([]*unit, 0, len(groups))
	for _, g := range groups {
		u := &unit{hosts: g.hosts}
		u.learn(compute)
		out = append(out, u)
	}
	return out
}

// leafBefore is the leaf that a port had before it moved.
func (n *ObservedNIC) leafBefore() string {
	if n.Before != "" {
		return n.Before
	}
	return n.Leaf
}

// learn finds the usual devices and the usual orders of leaves.
func (u *unit) learn(compute map[string][]ObservedNIC) {
	lists := map[string]int{}
	of := map[string][]string{}
	for _, h := range u.hosts {
		names := make([]string, len(compute[h]))
		for i, n := range compute[h] {
			names[i] = n.Device
		}
		key := strings.Join(names, "\x00")
		lists[key]++
		of[key] = names
	}
	best := ""
	for key, n := range lists {
		if n > lists[best] || n == lists[best] && (len(of[key]) > len(of[best]) || len(of[key]) == len(of[best]) && key < best) {
			best = key
		}
	}
	u.devices = of[best]
	counts := map[string]*wiring{}
	for _, h := range u.hosts {
		seq, full := u.sequence(compute[h], (*ObservedNIC).leafBefore)
		if !full {
			continue
		}
		key := strings.Join(seq, "\x00")
		if counts[key] == nil {
			counts[key] = &wiring{leaves: seq}
		}
		counts[key].hosts++
	}
	for _, w := range counts {
		u.wiring = append(u.wiring, *w)
	}
	slices.SortFunc(u.wiring, func(a, b wiring) int {
		return cmp.Or(b.hosts-a.hosts, slices.Compare(a.leaves, b.leaves))
	})
	if len(u.wiring) == 0 {
		u.vote(compute)
	}
	if len(u.wiring) > 0 {
		first := map[string]bool{}
		for _, l := range u.wiring[0].leaves {
			first[l] = true
		}
		n := len(u.wiring[0].leaves)
		delete(first, "")
		u.tor = n > 2 && len(first) <= 2 || n == 2 && len(first) == 1
	}
}

// vote makes an order where no host shows all of its leaves.
func (u *unit) vote(compute map[string][]ObservedNIC) {
	votes := make([]map[string]int, len(u.devices))
	for _, h := range u.hosts {
		seq, _ := u.sequence(compute[h], (*ObservedNIC).leafBefore)
		for k, leaf := range seq {
			if leaf != "" {
				if votes[k] == nil {
					votes[k] = map[string]int{}
				}
				votes[k][leaf]++
			}
		}
	}
	w := wiring{leaves: make([]string, len(u.devices))}
	for k, v := range votes {
		for leaf, n := range v {
			if b := w.leaves[k]; n > v[b] || n == v[b] && natural(leaf, b) < 0 {
				w.leaves[k] = leaf
			}
		}
	}
	u.wiring = []wiring{w}
}

// position is where a device of a host stands among the compute devices: by
// order where the host has as many as others, by name where some are missing.
// It is -1 where neither tells.
func (u *unit) position(nics []ObservedNIC, i int) int {
	if len(nics) == len(u.devices) {
		return i
	}
	return slices.Index(u.devices, nics[i].Device)
}

// sequence is the leaves of a host by position; full says that none is unknown.
func (u *unit) sequence(nics []ObservedNIC, leaf func(*ObservedNIC) string) (seq []string, full bool) {
	seq = make([]string, len(u.devices))
	full = len(u.devices) > 0
	for i := range nics {
		if k := u.position(nics, i); k >= 0 {
			seq[k] = leaf(&nics[i])
		}
	}
	return seq, full && !slices.Contains(seq, "")
}
