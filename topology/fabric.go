package topology

import "slices"

// Port is a NIC port of a host and what it is plugged into. Empty fields are
// unknown.
type Port struct {
	Host, Device, Port string

	Leaf     string // display name of the switch
	LeafPort string
	Rail     string // name of the rail, such as "3"
	// RailAssumed says that the rail follows from device order only.
	RailAssumed bool
	GUID        string
	Model       string // board or card model: NICs are peers only within one
	Compute     bool   // carries collectives, as opposed to storage and management
	// ExpectedLeaf is what a plan or an earlier snapshot says, if it differs.
	ExpectedLeaf string
	Source       string
}

// Uplink is a link between two switches.
type Uplink struct {
	Switch, Port, Peer, PeerPort string
	Source                       string
}

// Fabric is a merged, immutable view of the cluster. Build makes one; all
// methods accept a nil receiver.
type Fabric struct {
	ports  map[[2]string]*Port // host, device
	byHost map[string][]*Port
	byLeaf map[string][]*Port
	byRail map[string][]*Port
	gpuNIC map[[2]string]affinity // host, GPU
	nicGPU map[[2]string]string   // host, NIC
	rack   map[string]string
	domain map[string]string
	pod    map[string]string
	inRack map[string][]string
	// hostLeaf is what a label says of whole hosts, onLeaf the reverse.
	hostLeaf map[string]string
	onLeaf   map[string][]string
	inDom    map[string][]string
	uplinks  map[string][]Uplink
}

type affinity struct {
	device  string
	assumed bool
}

// Facts is the merged input of Build.
type Facts struct {
	Ports   []Port
	Uplinks []Uplink
	// Affinity maps (host, GPU device) to its NIC device. Assumed affinities
	// follow from device order.
	Affinity []Affinity
	// Rack, Domain (NVLink) and Pod map hosts to their parents. Leaf is the
	// switch, or group of switches, that a label gives for a whole host.
	Rack, Domain, Pod, Leaf map[string]string
}

// Affinity is the NIC next to a GPU.
type Affinity struct {
	Host, GPU, NIC string
	Assumed        bool
}

// Build indexes merged facts. The last of several facts about one thing wins;
// merging with provenance is done before.
func Build(f Facts) *Fabric {
	fab := &Fabric{
		ports: map[[2]string]*Port{}, byHost: map[string][]*Port{}, byLeaf: map[string][]*Port{},
		byRail: map[string][]*Port{}, gpuNIC: map[[2]string]affinity{}, nicGPU: map[[2]string]string{},
		rack: f.Rack, domain: f.Domain, pod: f.Pod, hostLeaf: f.Leaf, onLeaf: invert(f.Leaf),
		inRack: invert(f.Rack), inDom: invert(f.Domain), uplinks: map[string][]Uplink{},
	}
	for i := range f.Ports {
		p := f.Ports[i]
		fab.ports[[2]string{p.Host, p.Device}] = &p
	}
	for _, p := range fab.ports {
		fab.byHost[p.Host] = append(fab.byHost[p.Host], p)
		if p.Leaf != "" {
			fab.byLeaf[p.Leaf] = append(fab.byLeaf[p.Leaf], p)
		}
		if p.Rail != "" {
			fab.byRail[p.Rail] = append(fab.byRail[p.Rail], p)
		}
	}
	for _, m := range []map[string][]*Port{fab.byHost, fab.byLeaf, fab.byRail} {
		for _, ps := range m {
			slices.SortFunc(ps, comparePorts)
		}
	}
	for _, a := range f.Affinity {
		fab.gpuNIC[[2]string{a.Host, a.GPU}] = affinity{device: a.NIC, assumed: a.Assumed}
		fab.nicGPU[[2]string{a.Host, a.NIC}] = a.GPU
	}
	for _, u := range f.Uplinks {
		fab.uplinks[u.Switch] = append(fab.uplinks[u.Switch], u)
	}
	return fab
}

func comparePorts(a, b *Port) int {
	if a.Host != b.Host {
		return natural(a.Host, b.Host)
	}
	return natural(a.Device, b.Device)
}

func invert(m map[string]string) map[string][]string {
	out := map[string][]string{}
	for host, parent := range m {
		out[parent] = append(out[parent], host)
	}
	for _, hosts := range out {
		slices.SortFunc(hosts, natural)
	}
	return out
}

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
