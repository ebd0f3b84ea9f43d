package topology

import (
	"maps"
	"slices"
)

// Port returns what is known of a NIC, or nil.
func (f *Fabric) Port(host, device string) *Port {
	if f == nil {
		return nil
	}
	return f.ports[[2]string{host, device}]
}

// Ports returns the NIC ports of a host in natural order of their devices.
func (f *Fabric) Ports(host string) []*Port {
	if f == nil {
		return nil
	}
	return f.byHost[host]
}

// Under returns the NIC ports plugged into a leaf.
func (f *Fabric) Under(leaf string) []*Port {
	if f == nil {
		return nil
	}
	return f.byLeaf[leaf]
}

// OnRail returns the NIC ports of a rail.
func (f *Fabric) OnRail(rail string) []*Port {
	if f == nil {
		return nil
	}
	return f.byRail[rail]
}

// NICOf returns the NIC next to a GPU ("GPU3"). assumed says that it follows
// from device order only.
func (f *Fabric) NICOf(host, gpu string) (device string, assumed, ok bool) {
	if f == nil {
		return "", false, false
	}
	a, ok := f.gpuNIC[[2]string{host, gpu}]
	return a.device, a.assumed, ok
}

// GPUOf returns the GPU next to a NIC.
func (f *Fabric) GPUOf(host, nic string) (gpu string, ok bool) {
	if f == nil {
		return "", false
	}
	gpu, ok = f.nicGPU[[2]string{host, nic}]
	return gpu, ok
}

// Rack returns the rack of a host, "" if unknown.
func (f *Fabric) Rack(host string) string {
	if f == nil {
		return ""
	}
	return f.rack[host]
}

// InRack returns the hosts of a rack.
func (f *Fabric) InRack(rack string) []string {
	if f == nil {
		return nil
	}
	return f.inRack[rack]
}

// Domain returns the NVLink domain of a host, "" if unknown or none.
func (f *Fabric) Domain(host string) string {
	if f == nil {
		return ""
	}
	return f.domain[host]
}

// InDomain returns the hosts of an NVLink domain.
func (f *Fabric) InDomain(domain string) []string {
	if f == nil {
		return nil
	}
	return f.inDom[domain]
}

// HostLeaf returns the switch, or group of switches, that a label gives for a
// whole host, "" if there is none. Where ports are known one by one, they tell
// more.
func (f *Fabric) HostLeaf(host string) string {
	if f == nil {
		return ""
	}
	return f.hostLeaf[host]
}

// OnHostLeaf returns the hosts that a label puts on a leaf.
func (f *Fabric) OnHostLeaf(leaf string) []string {
	if f == nil {
		return nil
	}
	return f.onLeaf[leaf]
}

// Uplinks returns the links of a switch to other switches.
func (f *Fabric) Uplinks(sw string) []Uplink {
	if f == nil {
		return nil
	}
	return f.uplinks[sw]
}

// Leaves returns the names of all leaves in natural order.
func (f *Fabric) Leaves() []string {
	if f == nil {
		return nil
	}
	out := make([]string, 0, len(f.byLeaf))
	for leaf := range f.byLeaf {
		out = append(out, leaf)
	}
	slices.SortFunc(out, natural)
	return out
}

// Rails returns the names of all rails in natural order.
func (f *Fabric) Rails() []string {
	if f == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(f.byRail), natural)
}

// UplinkCount returns how many links to other switches a switch has, and how
// many it had at most.
func (f *Fabric) UplinkCount(sw string) (now, most int) {
	if f == nil {
		return 0, 0
	}
	now = len(f.uplinks[sw])
	return now, max(now, f.facts.MostUplinks[sw])
}

// Pod returns the larger group of a host, "" if unknown.
func (f *Fabric) Pod(host string) string {
	if f == nil {
		return ""
	}
	return f.pod[host]
}

// Hosts returns all hosts that any source knows, in natural order.
func (f *Fabric) Hosts() []string {
	if f == nil {
		return nil
	}
	seen := map[string]bool{}
	for h := range f.byHost {
		seen[h] = true
	}
	for _, m := range []map[string]string{f.rack, f.domain, f.pod, f.hostLeaf} {
		for h := range m {
			seen[h] = true
		}
	}
	for _, m := range []map[string][]string{f.facts.Leaves, f.facts.Unplaced} {
		for h := range m {
			seen[h] = true
		}
	}
	for k := range f.gpuNIC {
		seen[k[0]] = true
	}
	out := make([]string, 0, len(seen))
	for h := range seen {
		out = append(out, h)
	}
	slices.SortFunc(out, natural)
	return out
}

// HostLeaves returns all leaves of a host: those of its ports, else those that a
// source names for the whole host.
func (f *Fabric) HostLeaves(host string) []string {
	if f == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, p := range f.byHost[host] {
		seen[p.Leaf] = true
	}
	for _, l := range f.facts.Unplaced[host] {
		seen[l] = true
	}
	delete(seen, "")
	if len(seen) == 0 {
		seen[f.hostLeaf[host]] = true
		for _, l := range f.facts.Leaves[host] {
			seen[l] = true
		}
		delete(seen, "")
	}
	out := make([]string, 0, len(seen))
	for l := range seen {
		out = append(out, l)
	}
	slices.SortFunc(out, natural)
	return out
}

// Disagreements returns the things about which sources differ.
func (f *Fabric) Disagreements() []Disagreement {
	if f == nil {
		return nil
	}
	return f.facts.Disagreements
}

// Facts returns what the fabric was built from.
func (f *Fabric) Facts() Facts {
	if f == nil {
		return Facts{}
	}
	return f.facts
}

// Switches returns the names of all switches in natural order.
func (f *Fabric) Switches() []string {
	if f == nil {
		return nil
	}
	seen := map[string]bool{}
	for l := range f.byLeaf {
		seen[l] = true
	}
	for _, l := range f.hostLeaf {
		seen[l] = true
	}
	for _, m := range []map[string][]string{f.facts.Leaves, f.facts.Unplaced} {
		for _, list := range m {
			for _, l := range list {
				seen[l] = true
			}
		}
	}
	for _, links := range f.uplinks {
		for _, u := range links {
			seen[u.Switch], seen[u.Peer] = true, true
		}
	}
	out := make([]string, 0, len(seen))
	for s := range seen {
		out = append(out, s)
	}
	slices.SortFunc(out, natural)
	return out
}
