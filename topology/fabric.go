package topology

import (
	"slices"
	"time"
)

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
	// ExpectedLeaf is what a plan, an earlier snapshot or the order of the
	// others says, if it differs.
	ExpectedLeaf string
	// Source is who says on which leaf the port is; Claims are all statements
	// about it, the one that is used first.
	Source string
	Claims []Claim
}

// Claim is what one source says about one thing.
type Claim struct {
	Source string    // kind and path of a file, or "series"
	Time   time.Time // when the source was current
	Value  string
	Plan   bool // what should be, not what is
}

// Uplink is a link between two switches.
type Uplink struct {
	Switch, Port, Peer, PeerPort string
	Source                       string
	// Hint is a tool's own verdict, such as "Could be 106.25 Gbps".
	Hint string
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
	facts    Facts
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
	// Leaves are all leaves of hosts that hang on several, as a source says
	// that knows no ports.
	Leaves map[string][]string
	// MostUplinks is how many uplinks a switch had at most.
	MostUplinks map[string]int
	// Unplaced are links whose host is known and whose device is not: host to
	// leaves.
	Unplaced map[string][]string
	// Disagreements are the things about which sources differ.
	Disagreements []Disagreement
}

// Affinity is the NIC next to a GPU.
type Affinity struct {
	Host, GPU, NIC string
	Assumed        bool
	Source         string // "" where it follows from device order
}

// Build indexes merged facts. The last of several facts about one thing wins;
// merging with provenance is done before.
func Build(f Facts) *Fabric {
	fab := &Fabric{
		ports: map[[2]string]*Port{}, byHost: map[string][]*Port{}, byLeaf: map[string][]*Port{},
		byRail: map[string][]*Port{}, gpuNIC: map[[2]string]affinity{}, nicGPU: map[[2]string]string{},
		rack: f.Rack, domain: f.Domain, pod: f.Pod, hostLeaf: f.Leaf, onLeaf: invert(f.Leaf),
		inRack: invert(f.Rack), inDom: invert(f.Domain), uplinks: map[string][]Uplink{}, facts: f,
	}
	index := map[[3]string]*Port{}
	for i := range f.Ports {
		p := f.Ports[i]
		index[[3]string{p.Host, p.Device, p.Port}] = &p
	}
	for _, p := range index {
		k := [2]string{p.Host, p.Device}
		if old := fab.ports[k]; old == nil || betterPort(p, old) {
			fab.ports[k] = p
		}
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
	if a.Device != b.Device {
		return natural(a.Device, b.Device)
	}
	return natural(a.Port, b.Port)
}

// betterPort says which of two ports stands for an adapter: the one with a
// cable, else the first.
func betterPort(a, b *Port) bool {
	if (a.Leaf != "") != (b.Leaf != "") {
		return a.Leaf != ""
	}
	return natural(a.Port, b.Port) < 0
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
