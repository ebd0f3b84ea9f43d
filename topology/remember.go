package topology

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/collwatch/collwatch/topology/parse"
)

// settled is how long an exchanged cable is told as such: after a day it is how
// the cluster is built.
const settled = 24 * time.Hour

// remember joins what a snapshot shows with what earlier ones did.
func (st *Store) remember(o Observed) Observed {
	for _, n := range o.NICs {
		k := keyOf(n.Host, n.Device, n.Port)
		old := st.seen[k]
		if old == nil {
			old = &seenNIC{nic: n}
			st.seen[k] = old
		}
		if n.Model == "" {
			n.Model = old.nic.Model
		}
		// The role of a card follows from what it could do, not from what it
		// negotiated last.
		n.Rate = max(n.Rate, old.nic.Rate)
		old.nic, old.at = n, st.now
	}
	for h, g := range o.GPUs {
		if old := st.gpus[h]; old == nil || len(g) >= len(old.devices) {
			st.gpus[h] = &seenGPUs{devices: g, at: st.now}
		} else {
			old.at = st.now
		}
	}
	st.forget()
	st.follow(&o)

	merged := o
	merged.NICs = make([]ObservedNIC, 0, len(st.seen))
	// What is sorted are pointers: there are many of these, and they are large.
	for _, s := range slices.SortedFunc(maps.Values(st.seen), func(a, b *seenNIC) int { return compareNICs(&a.nic, &b.nic) }) {
		n := s.nic
		if s.from != "" && s.from != s.leaf {
			n.Before = s.from
		}
		merged.NICs = append(merged.NICs, n)
	}
	merged.GPUs = make(map[string][]string, len(st.gpus))
	for _, h := range sortedHosts(st.gpus) {
		merged.GPUs[h] = st.gpus[h].devices
	}
	alive := func(h string) bool { return st.gpus[h] != nil || st.hasNIC(h, merged.NICs) }
	for _, m := range [][2]map[string]string{{o.Rack, st.last.Rack}, {o.Domain, st.last.Domain}, {o.Pod, st.last.Pod}, {o.Leaf, st.last.Leaf}} {
		if m[0] != nil {
			keep(m[0], m[1], alive)
		}
	}
	merged.Uplinks = st.uplinks(o.Uplinks)
	return merged
}

// uplinks adds those of switches that this snapshot does not show. Their order is
// that of Observe.
func (st *Store) uplinks(now []Uplink) []Uplink {
	limit := st.now.Add(-st.opts.Forget)
	shown := map[string]bool{}
	for _, u := range now {
		shown[u.Switch], st.trunks[u.Switch] = true, st.now
	}
	out := slices.Clone(now)
	for _, u := range st.last.Uplinks {
		if !shown[u.Switch] && st.trunks[u.Switch].After(limit) {
			out = append(out, u)
		}
	}
	for sw, at := range st.trunks {
		if !at.After(limit) {
			delete(st.trunks, sw)
		}
	}
	sortUplinks(out)
	return out
}

func (st *Store) hasNIC(host string, sorted []ObservedNIC) bool {
	_, ok := slices.BinarySearchFunc(sorted, host, func(n ObservedNIC, h string) int { return natural(n.Host, h) })
	return ok
}

// follow keeps the last known link of each port, and notes when it moves.
func (st *Store) follow(o *Observed) {
	fresh := map[nicKey]bool{}
	other := o.Links[:0:0]
	for _, l := range o.Links {
		if l.Plan || l.Host == "" || l.Device == "" {
			other = append(other, l)
			continue
		}
		dev := l.Device
		if d := o.Paths[[2]string{l.Host, dev}]; d != "" && st.seen[keyOf(l.Host, dev, l.Port)] == nil {
			dev = d
		}
		k := keyOf(l.Host, dev, l.Port)
		s := st.seen[k]
		if s == nil || fresh[k] {
			other = append(other, l) // a NIC that has no series of its own, or a second statement
			continue
		}
		fresh[k] = true
		if s.leaf != "" && s.leaf != l.Switch {
			if s.from == "" || st.now.Sub(s.link) > settled {
				s.from = s.leaf
			}
			s.link = st.now
		} else if s.from != "" && st.now.Sub(s.link) > settled {
			s.from = ""
		}
		s.leaf, s.port, s.at = l.Switch, l.SwitchPort, st.now
	}
	for k, s := range st.seen {
		if s.leaf != "" {
			other = append(other, parse.Link{Switch: s.leaf, SwitchPort: s.port, Host: k.host, Device: k.device, Port: k.port})
		}
	}
	slices.SortStableFunc(other, func(a, b parse.Link) int {
		return cmp.Or(natural(a.Host, b.Host), natural(a.Device, b.Device), natural(a.Switch, b.Switch), natural(a.SwitchPort, b.SwitchPort))
	})
	o.Links = other
}

// forget drops hosts that were not seen for long, and the oldest ports if there
// are more than may be kept.
func (st *Store) forget() {
	limit := st.now.Add(-st.opts.Forget)
	for k, s := range st.seen {
		if s.at.Before(limit) {
			delete(st.seen, k)
		}
	}
	for h, g := range st.gpus {
		if g.at.Before(limit) {
			delete(st.gpus, h)
		}
	}
	if over := len(st.seen) - st.opts.MaxNICs; over > 0 {
		keys := make([]nicKey, 0, len(st.seen))
		for k := range st.seen {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b nicKey) int {
			return cmp.Or(st.seen[a].at.Compare(st.seen[b].at), natural(a.host, b.host), natural(a.device, b.device))
		})
		for _, k := range keys[:over] {
			delete(st.seen, k)
		}
	}
}
