package topology

// minVariant is the number of hosts that makes another order of cables a valid
// wiring of a unit rather than a mistake at a host.
const minVariant = 3

// Derive completes what was observed: which NICs carry collectives, which rail
// each is on, which GPU is next to it. What follows from device order only is
// marked assumed.
func Derive(o Observed) Facts {
	f := Facts{
		Uplinks: o.Uplinks, Rack: o.Rack, Domain: o.Domain, Pod: o.Pod, Leaf: o.Leaf, Leaves: o.Leaves,
		MostUplinks: o.MostUplinks, Unplaced: o.Unplaced, Disagreements: o.Disagreements,
	}
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
		if nics := candidates(byHost[h]); !o.serves(h, nics, len(hosts)) {
			compute[h] = computeNICs(nics, len(o.GPUs[h]))
		}
	}
	stated := map[string][]Affinity{}
	for _, a := range o.Affinity {
		stated[a.Host] = append(stated[a.Host], a)
	}
	rails := leafRails(hosts, compute)
	for _, h := range hosts {
		carries := map[nicKey]bool{}
		for _, n := range compute[h] {
			carries[nicKey{n.Host, n.Device, n.Port}] = true
		}
		for _, n := range byHost[h] {
			p := Port{
				Host: n.Host, Device: n.Device, Port: n.Port, Leaf: n.Leaf, LeafPort: n.LeafPort,
				GUID: n.GUID, Model: n.Model, Source: n.Source, Claims: n.Claims,
			}
			if p.Source == "" {
				p.Source = seriesSource
			}
			if n.Expected != n.Leaf {
				p.ExpectedLeaf = n.Expected
			}
			if carries[nicKey{n.Host, n.Device, n.Port}] {
				p.Compute = true
				rails.place(&p, n)
			}
			f.Ports = append(f.Ports, p)
		}
		f.Affinity = append(f.Affinity, nextTo(h, o.GPUs[h], compute[h], stated[h])...)
	}
	return f
}

// nextTo prefers what a dump says if it says it of every GPU.
func nextTo(host string, gpus []string, nics []ObservedNIC, stated []Affinity) []Affinity {
	covered := map[string]bool{}
	for _, a := range stated {
		covered[a.GPU] = true
	}
	if len(stated) > 0 && len(covered) >= len(gpus) {
		return stated
	}
	return affinities(host, gpus, nics)
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
