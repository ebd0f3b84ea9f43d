package topology

import (
	"slices"
	"strconv"
)

// railMap knows the rail of each compute port and the leaf it should be on.
//
// If the k-th compute device of nearly every host of a unit lands on one leaf,
// that leaf is rail k. Hosts of which many have another order are another wiring
// and keep the rails of their leaves; one or two are exceptions, and what they
// should have is said.
type railMap struct {
	rail     map[nicKey]string
	assumed  map[nicKey]bool
	expected map[nicKey]string
}

func leafRails(hosts []string, compute map[string][]ObservedNIC) railMap {
	rm := railMap{rail: map[nicKey]string{}, assumed: map[nicKey]bool{}, expected: map[nicKey]string{}}
	placed := map[string]bool{}
	whole := 0 // hosts that hang on one leaf as a whole
	for _, u := range units(hosts, compute) {
		if u.tor {
			whole += len(u.hosts)
		}
		for _, h := range u.hosts {
			placed[h] = true
			if !u.tor {
				rm.host(u, compute[h])
			}
		}
	}
	for _, h := range hosts {
		if nics := compute[h]; !placed[h] && len(nics) > 1 && 2*whole <= len(placed) {
			for k, n := range nics {
				rm.rail[keyOfNIC(&n)], rm.assumed[keyOfNIC(&n)] = strconv.Itoa(k), true
			}
		}
	}
	rm.moved(hosts, compute)
	return rm
}

func keyOfNIC(n *ObservedNIC) nicKey { return nicKey{n.Host, n.Device, n.Port} }

// host sets the rails of one host.
func (rm *railMap) host(u *unit, nics []ObservedNIC) {
	if len(u.devices) < 2 {
		return
	}
	now, _ := u.sequence(nics, func(n *ObservedNIC) string { return n.Leaf })
	usual := u.wiring[0]
	like, fits := u.nearest(now)
	for i := range nics {
		n := &nics[i]
		k := u.position(nics, i)
		if k < 0 {
			if k = slices.Index(usual.leaves, n.Leaf); k < 0 || n.Leaf == "" {
				continue
			}
		}
		key := keyOfNIC(n)
		rm.rail[key] = strconv.Itoa(k)
		if at := slices.Index(usual.leaves, n.Leaf); fits && n.Leaf != "" && at >= 0 && usual.leaves[k] != n.Leaf {
			rm.rail[key] = strconv.Itoa(at) // another valid order
		}
		rm.assumed[key] = n.Leaf == "" || usual.leaves[k] == ""
		if !fits && like != nil && n.Leaf != "" && like[k] != "" && like[k] != n.Leaf {
			rm.expected[key] = like[k]
		}
	}
}

// nearest finds the wiring that a host has or nearly has. fits says that it has
// one that is valid, or that too little is known to say otherwise. The result is
// nil where the host is of another kind or nothing is valid.
func (u *unit) nearest(now []string) (like []string, fits bool) {
	best := len(now) + 1
	known := 0
	for _, leaf := range now {
		if leaf != "" {
			known++
		}
	}
	for _, w := range u.wiring {
		if w.hosts < minVariant {
			continue
		}
		diff := 0
		for k, leaf := range now {
			if leaf != "" && leaf != w.leaves[k] {
				diff++
			}
		}
		if diff < best {
			best, like = diff, w.leaves
		}
	}
	if best == 0 || like == nil {
		return like, true
	}
	if best > 2 && 2*best > known { // two cables exchanged may be all that a host has
		return nil, false
	}
	return like, false
}

// moved takes the leaf that a port had before as the expected one, if the cables
// of its host were exchanged among each other and few other ports moved alike.
func (rm *railMap) moved(hosts []string, compute map[string][]ObservedNIC) {
	count := map[[2]string]int{}
	for _, h := range hosts {
		for _, n := range compute[h] {
			if n.Before != "" && n.Before != n.Leaf {
				count[[2]string{n.Before, n.Leaf}]++
			}
		}
	}
	for _, h := range hosts {
		var before, now []string
		for _, n := range compute[h] {
			if n.Before != "" && n.Before != n.Leaf {
				before, now = append(before, n.Before), append(now, n.Leaf)
			}
		}
		slices.Sort(before)
		slices.Sort(now)
		if len(now) < 2 || !slices.Equal(before, now) {
			continue
		}
		for _, n := range compute[h] {
			if n.Before != "" && n.Before != n.Leaf && count[[2]string{n.Before, n.Leaf}] < minVariant {
				rm.expected[keyOfNIC(&n)] = n.Before
			}
		}
	}
}

// place sets rail and expected leaf of a compute port.
func (rm *railMap) place(p *Port, n ObservedNIC) {
	key := keyOfNIC(&n)
	p.Rail, p.RailAssumed = rm.rail[key], rm.assumed[key]
	if n.Rail != "" && (p.Rail == "" && p.Leaf == "" || p.RailAssumed) {
		p.Rail, p.RailAssumed = n.Rail, false
	}
	if p.ExpectedLeaf == "" {
		p.ExpectedLeaf = rm.expected[key]
	}
}
