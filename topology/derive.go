package topology

import (
	"strconv"
)

// minVariant is the number of hosts that makes another order of cables a valid
// wiring of a unit rather than a mistake at a host.
const minVariant = 3

// Derive completes what was observed: which NICs carry collectives, which rail
// each is on, which GPU is next to it. What follows from device order only is
// marked assumed.
func Derive(o Observed) Facts {
	f := Facts{Uplinks: o.Uplinks, Rack: o.Rack, Domain: o.Domain, Pod: o.Pod, Leaf: o.Leaf}
	byHost := map[string][]ObservedNIC{}
	var hosts []string
	for _, n := range o.NICs {
		if byHost[n.Host] == nil {
			hosts = append(hosts, n.Host)
		}
		byHost[n.Host] = append(byHost[n.Host], n)
	}
	compute := map[string][]ObservedNIC{}
	for _, h := range hosts {
		compute[h] = computeNICs(byHost[h], len(o.GPUs[h]))
	}
	rails := leafRails(hosts, compute)
	for _, h := range hosts {
		isCompute := map[string]int{}
		for k, n := range compute[h] {
			isCompute[n.Device] = k
		}
		for _, n := range byHost[h] {
			p := Port{
				Host: n.Host, Device: n.Device, Port: n.Port, Leaf: n.Leaf, LeafPort: n.LeafPort,
				Model: n.Model, Source: "series",
			}
			if k, ok := isCompute[n.Device]; ok {
				p.Compute = true
				rails.place(&p, k, len(compute[h]))
			}
			f.Ports = append(f.Ports, p)
		}
		f.Affinity = append(f.Affinity, affinities(h, o.GPUs[h], compute[h])...)
	}
	return f
}

// computeNICs returns the NICs of a host that carry collectives: the largest
// set of one card model, and among sets of equal size the one with the higher
// rate. Storage and management cards are few and of another kind. Without
// models the rates decide; a card that negotiated less than its siblings must
// not drop out, so rates split only where each part is as large as a share of
// the GPUs.
func computeNICs(nics []ObservedNIC, gpus int) []ObservedNIC {
	models := map[string][]ObservedNIC{}
	for _, n := range nics {
		models[n.Model] = append(models[n.Model], n)
	}
	best := pick(models)
	if gpus == 0 || len(best) <= gpus || len(best)%gpus == 0 {
		return best
	}
	// More cards of one model than GPUs can use evenly: the odd ones out are
	// those whose rate differs from the most common one.
	common, count := 0.0, 0
	rates := map[float64]int{}
	for _, n := range best {
		rates[n.Rate]++
		if c := rates[n.Rate]; c > count || (c == count && n.Rate > common) {
			common, count = n.Rate, c
		}
	}
	surplus := len(best) - len(best)/gpus*gpus
	var out []ObservedNIC
	for i := len(best) - 1; i >= 0; i-- {
		if surplus > 0 && best[i].Rate != common {
			surplus--
			continue
		}
		out = append([]ObservedNIC{best[i]}, out...)
	}
	return out
}

func pick(models map[string][]ObservedNIC) []ObservedNIC {
	var best []ObservedNIC
	bestModel := ""
	for model, set := range models {
		switch {
		case len(set) > len(best),
			len(set) == len(best) && maxRate(set) > maxRate(best),
			len(set) == len(best) && maxRate(set) == maxRate(best) && model < bestModel:
			best, bestModel = set, model
		}
	}
	return best
}

func maxRate(nics []ObservedNIC) float64 {
	m := 0.0
	for _, n := range nics {
		m = max(m, n.Rate)
	}
	return m
}

// railMap says on which leaf the k-th compute NIC of most hosts lands.
type railMap struct {
	leafOf  map[int]string    // by position
	variant map[[2]string]int // (leaf the rail has, leaf found): number of hosts
	tor     bool              // leaves hold whole hosts: there are no rails
}

func leafRails(hosts []string, compute map[string][]ObservedNIC) railMap {
	rm := railMap{leafOf: map[int]string{}, variant: map[[2]string]int{}}
	votes := map[int]map[string]int{}
	known, together := 0, 0
	for _, h := range hosts {
		leaves := map[string]bool{}
		for k, n := range compute[h] {
			if n.Leaf == "" {
				continue
			}
			leaves[n.Leaf] = true
			if votes[k] == nil {
				votes[k] = map[string]int{}
			}
			votes[k][n.Leaf]++
		}
		if len(leaves) > 0 {
			known++
			if len(compute[h]) > 2 && len(leaves) <= 2 {
				together++
			}
		}
	}
	rm.tor = known > 0 && 2*together > known
	for k, v := range votes {
		best := ""
		for leaf, n := range v {
			if n > v[best] || (n == v[best] && natural(leaf, best) < 0) {
				best = leaf
			}
		}
		rm.leafOf[k] = best
	}
	for _, h := range hosts {
		for k, n := range compute[h] {
			if n.Leaf != "" && n.Leaf != rm.leafOf[k] {
				rm.variant[[2]string{rm.leafOf[k], n.Leaf}]++
			}
		}
	}
	return rm
}

// place sets the rail of the k-th compute port of a host.
func (rm railMap) place(p *Port, k, of int) {
	if rm.tor || of < 2 {
		return
	}
	p.Rail = strconv.Itoa(k)
	want, known := rm.leafOf[k]
	p.RailAssumed = !known || p.Leaf == ""
	if known && p.Leaf != "" && p.Leaf != want && rm.variant[[2]string{want, p.Leaf}] < minVariant {
		p.ExpectedLeaf = want
	}
}

// affinities assumes that GPUs and compute NICs of a host are next to each
// other in natural order, the layout of HGX boards. Nothing is assumed where
// the numbers do not divide.
func affinities(host string, gpus []string, nics []ObservedNIC) []Affinity {
	g, n := len(gpus), len(nics)
	if g == 0 || n == 0 || (g%n != 0 && n%g != 0) {
		return nil
	}
	var out []Affinity
	if n >= g {
		for j := n - 1; j >= 0; j-- {
			out = append(out, Affinity{Host: host, GPU: gpus[j/(n/g)], NIC: nics[j].Device, Assumed: true})
		}
		return out
	}
	for i, gpu := range gpus {
		out = append(out, Affinity{Host: host, GPU: gpu, NIC: nics[i/(g/n)].Device, Assumed: true})
	}
	return out
}
