package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// View is a fabric laid out for people: the switches above the leaves, and one
// panel for each group of hosts on the same leaves.
type View struct {
	Hosts, Ports, Leaves int
	// Above are the switches above the leaves, those nearer to hosts first.
	Above  []string
	Panels []Panel
	// Uplinks are the links between switches, parallel ones folded.
	Uplinks       []Trunk
	Disagreements []Disagreement
}

// Trunk is a bundle of links between two switches.
type Trunk struct {
	Switch, Peer string
	Links        int
	Hint         string // of the first link that has one
}

// Panel is a group of hosts on the same leaves: a row a host, a column a leaf.
type Panel struct {
	Columns []Column
	Rows    []Row
}

// Column is a leaf of a panel.
type Column struct {
	Leaf, Rail string
	// Up and Most count the uplinks now and at most.
	Up, Most int
}

// Row is a host, or several that look alike.
type Row struct {
	Hosts             []string
	Rack, Domain, Pod string
	Cells             []Cell // as many as columns
	Elsewhere         string // cables to leaves of other panels
}

// Cell is what a host has on a leaf.
type Cell struct {
	Devices string // "" for none
	// Wrong says that something else is expected there; Assumed that only the
	// order of devices tells.
	Wrong, Assumed bool
}

// Label names the hosts of a row.
func (r *Row) Label() string { return Span(r.Hosts) }

// Span names hosts briefly: the first, the last and how many.
func Span(hosts []string) string {
	switch n := len(hosts); n {
	case 0:
		return ""
	case 1:
		return hosts[0]
	case 2:
		return hosts[0] + ", " + hosts[1]
	default:
		return fmt.Sprintf("%s … %s (%d)", hosts[0], hosts[n-1], n)
	}
}

// foldAbove is the number of hosts up to which each has a row of its own.
const foldAbove = 48

// View lays the fabric out. With fold, hosts that look alike share a row where
// there are many; hosts with something wrong keep theirs.
func (f *Fabric) View(fold bool) View {
	hosts := f.Hosts()
	v := View{Hosts: len(hosts), Disagreements: f.Disagreements()}
	if f == nil {
		return v
	}
	for _, ps := range f.byHost {
		v.Ports += len(ps)
	}
	v.Uplinks = f.trunks()
	leaves := map[string]bool{}
	grouped := map[string]bool{}
	for _, g := range groupByLeaves(hosts, f.HostLeaves) {
		for _, h := range g.hosts {
			grouped[h] = true
		}
		slices.SortFunc(g.hosts, natural)
		v.Panels = append(v.Panels, f.panel(g, fold && len(hosts) > foldAbove))
		for _, l := range g.leaves {
			leaves[l] = true
		}
	}
	slices.SortStableFunc(v.Panels, func(a, b Panel) int { return natural(a.Columns[0].Leaf, b.Columns[0].Leaf) })
	var rest []string
	for _, h := range hosts {
		if !grouped[h] {
			rest = append(rest, h)
		}
	}
	if len(rest) > 0 {
		v.Panels = append(v.Panels, f.panel(&leafGroup{hosts: rest}, fold && len(hosts) > foldAbove))
	}
	v.Leaves = len(leaves)
	v.Above = above(v.Uplinks, leaves)
	return v
}

// trunks folds parallel links.
func (f *Fabric) trunks() []Trunk {
	count := map[[2]string]*Trunk{}
	for _, links := range f.uplinks {
		for _, u := range links {
			k := [2]string{u.Switch, u.Peer}
			if count[k] == nil {
				count[k] = &Trunk{Switch: u.Switch, Peer: u.Peer}
			}
			count[k].Links++
			count[k].Hint = cmp.Or(count[k].Hint, u.Hint)
		}
	}
	out := make([]Trunk, 0, len(count))
	for _, t := range count {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Trunk) int { return cmp.Or(natural(a.Switch, b.Switch), natural(a.Peer, b.Peer)) })
	return out
}

// above lists the switches that are no leaves, in the order of a walk upwards.
func above(trunks []Trunk, leaves map[string]bool) []string {
	seen := maps.Clone(leaves)
	next := map[string][]string{}
	for _, t := range trunks {
		next[t.Switch] = append(next[t.Switch], t.Peer)
		if !leaves[t.Switch] && next[t.Peer] == nil {
			next[t.Peer] = nil
		}
	}
	var out []string
	front := slices.SortedFunc(maps.Keys(leaves), natural)
	for len(front) > 0 {
		var further []string
		for _, sw := range front {
			for _, peer := range next[sw] {
				if !seen[peer] {
					seen[peer] = true
					further = append(further, peer)
				}
			}
		}
		slices.SortFunc(further, natural)
		out = append(out, further...)
		front = further
	}
	for _, sw := range slices.SortedFunc(maps.Keys(next), natural) {
		if !seen[sw] {
			seen[sw] = true
			out = append(out, sw)
		}
	}
	return out
}

// panel lays one group of hosts out.
func (f *Fabric) panel(g *leafGroup, fold bool) Panel {
	var p Panel
	rails := map[string]string{}
	for _, l := range g.leaves {
		for _, port := range f.byLeaf[l] {
			if port.Rail != "" && port.ExpectedLeaf == "" && rails[l] == "" {
				rails[l] = port.Rail
			}
		}
	}
	for _, l := range g.leaves {
		c := Column{Leaf: l, Rail: rails[l]}
		c.Up, c.Most = f.UplinkCount(l)
		p.Columns = append(p.Columns, c)
	}
	slices.SortFunc(p.Columns, func(a, b Column) int { return cmp.Or(natural(a.Rail, b.Rail), natural(a.Leaf, b.Leaf)) })
	index := map[string]int{}
	alike := map[string]int{}
	for i, c := range p.Columns {
		index[c.Leaf] = i
	}
	for _, h := range g.hosts {
		row := f.row(h, index, len(p.Columns))
		key := fmt.Sprint(row.Cells, row.Rack, row.Domain, row.Pod, row.Elsewhere)
		if i, ok := alike[key]; ok && fold && !row.wrong() {
			p.Rows[i].Hosts = append(p.Rows[i].Hosts, h)
			continue
		}
		alike[key] = len(p.Rows)
		p.Rows = append(p.Rows, row)
	}
	return p
}

func (r *Row) wrong() bool {
	return r.Elsewhere != "" || slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Wrong })
}

func (f *Fabric) row(host string, index map[string]int, columns int) Row {
	row := Row{Hosts: []string{host}, Rack: f.Rack(host), Domain: f.Domain(host), Pod: f.Pod(host), Cells: make([]Cell, columns)}
	var elsewhere []string
	add := func(leaf, device string, wrong, assumed bool) {
		i, ok := index[leaf]
		if !ok {
			elsewhere = append(elsewhere, device+" on "+leaf)
			return
		}
		c := &row.Cells[i]
		if c.Devices != "" {
			c.Devices += " "
		}
		c.Devices += device
		c.Wrong, c.Assumed = c.Wrong || wrong, c.Assumed || assumed
	}
	ported := false
	for _, p := range f.byHost[host] {
		if p.Leaf != "" {
			ported = true
			add(p.Leaf, p.Device, p.ExpectedLeaf != "" && p.ExpectedLeaf != p.Leaf, false)
		}
	}
	for _, l := range f.facts.Unplaced[host] {
		if i, ok := index[l]; ok && row.Cells[i].Devices != "" {
			continue
		}
		ported = true
		add(l, "?", false, true)
	}
	if !ported {
		for _, l := range f.HostLeaves(host) {
			add(l, "•", false, false)
		}
	}
	row.Elsewhere = strings.Join(elsewhere, ", ")
	return row
}
