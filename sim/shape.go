package sim

import (
	"fmt"
	"strconv"

	"github.com/collwatch/collwatch/topology"
)

// FabricKind is how NICs and switches are wired.
type FabricKind uint8

// Kinds of fabric.
const (
	FabricRail   FabricKind = iota // InfiniBand: NIC i of all hosts on leaf i
	FabricToR                      // RoCE: all NICs of a host on its leaf
	FabricSwitch                   // InfiniBand: one switch
	FabricNVL72                    // NVLink domains of several hosts, rails between them
	FabricEFA                      // AWS: no visible links
)

// Shape is the hardware of a cluster.
type Shape struct {
	Name  string
	Hosts []string
	GPUs  int      // per host
	NICs  []string // compute NICs of each host; NIC i is next to GPU i*GPUs/len(NICs)
	// Storage is a NIC that carries no collectives, "" for none.
	Storage     string
	StorageRate float64 // B/s
	Fabric      FabricKind
	// HostsPerLeaf, HostsPerRack and HostsPerDomain group hosts in order; 0 means
	// none of that kind.
	HostsPerLeaf, HostsPerRack, HostsPerDomain int
	// Spines per leaf: the number of uplinks.
	Spines  int
	NICRate float64 // B/s
	Model   string  // of the GPUs
	Card    string  // board of the compute NICs
	Healthy Healthy
	// LeafName and DomainName name the i-th; nil gives leaf-r0 or leaf-a.
	LeafName, DomainName func(i int) string
	Jobs                 []JobSpec
}

// Healthy has the values of an undisturbed cluster under load.
type Healthy struct {
	ClockMHz, Temp, MemTemp      float64
	Reasons                      float64
	Power, WaitPower, IdlePower  float64 // W
	Util, Tensor, DRAM, SMActive float64 // Util in percent, the others 0..1
	MemoryMiB                    float64 // used by a training process
	XmitWait                     float64 // ticks/s
	ECN, CNPSent, CNPHandled     float64 // packets/s
	RxPause                      float64 // s/s
	OutOfSequence                float64 // packets/s
	CPUPressure                  float64 // s/s
	NICBytes                     float64 // B/s and direction at the healthy step time
}

// Hosts numbers n names from 1: prefix-001 and so on, as wide as needed but at
// least width digits.
func Hosts(prefix string, n, width int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%0*d", prefix, width, i+1)
	}
	return out
}

// Devices numbers n names from 0.
func Devices(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return out
}

// leafOf is the index of the leaf of NIC n of host h, -1 if links are
// invisible.
func (s *Shape) leafOf(h, n int) int {
	switch s.Fabric {
	case FabricRail, FabricNVL72:
		unit := 0
		if s.HostsPerLeaf > 0 {
			unit = h / s.HostsPerLeaf
		}
		return unit*len(s.NICs) + n
	case FabricToR:
		return h / max(1, s.HostsPerLeaf)
	case FabricSwitch:
		return 0
	default:
		return -1
	}
}

func (s *Shape) leafName(i int) string {
	if s.LeafName != nil {
		return s.LeafName(i)
	}
	if s.Fabric == FabricToR {
		return "leaf-" + letters(i)
	}
	if n := len(s.NICs); i >= n {
		return fmt.Sprintf("su%d-leaf-r%d", i/n, i%n)
	}
	return fmt.Sprintf("leaf-r%d", i)
}

func letters(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return letters(i/26-1) + string(rune('a'+i%26))
}

// domainOf is the NVLink domain of a host, itself if there are no larger ones.
func (s *Shape) domainOf(h int) int {
	if s.HostsPerDomain > 0 {
		return h / s.HostsPerDomain
	}
	return h
}

func (s *Shape) domainName(i int) string {
	if s.DomainName != nil {
		return s.DomainName(i)
	}
	return "nvl-" + letters(i)
}

// nicOfGPU is the index of the NIC next to a GPU.
func (s *Shape) nicOfGPU(g int) int { return g * len(s.NICs) / s.GPUs }

// gpuOfNIC is the index of the GPU next to a NIC.
func (s *Shape) gpuOfNIC(n int) int { return n * s.GPUs / len(s.NICs) }

// Facts are what a complete description of the fabric would say.
func (s *Shape) Facts() topology.Facts {
	f := topology.Facts{Rack: map[string]string{}, Domain: map[string]string{}, Pod: map[string]string{}}
	leaves := map[int]bool{}
	for h, host := range s.Hosts {
		for n, dev := range s.NICs {
			p := topology.Port{Host: host, Device: dev, Port: "1", Model: s.Card, Compute: true, Source: "simulator"}
			if l := s.leafOf(h, n); l >= 0 {
				leaves[l] = true
				p.Leaf, p.LeafPort = s.leafName(l), s.leafPort(h, n)
			}
			if s.Fabric == FabricRail || s.Fabric == FabricNVL72 {
				p.Rail = strconv.Itoa(n)
			}
			f.Ports = append(f.Ports, p)
		}
		for g := range s.GPUs {
			f.Affinity = append(f.Affinity, topology.Affinity{Host: host, GPU: fmt.Sprintf("GPU%d", g), NIC: s.NICs[s.nicOfGPU(g)]})
		}
		if s.HostsPerRack > 0 {
			f.Rack[host] = s.rackName(h)
		}
		if s.HostsPerDomain > 0 {
			f.Domain[host] = s.domainName(s.domainOf(h))
		}
	}
	for l := range len(s.Hosts)*len(s.NICs) + 1 {
		if !leaves[l] {
			continue
		}
		for u := range s.Spines {
			f.Uplinks = append(f.Uplinks, topology.Uplink{Switch: s.leafName(l), Port: fmt.Sprintf("swp%d", 49+u), Peer: fmt.Sprintf("spine-%d", u+1), Source: "simulator"})
		}
	}
	return f
}

func (s *Shape) rackName(h int) string { return fmt.Sprintf("r%d", h/s.HostsPerRack+1) }

func (s *Shape) leafPort(h, n int) string {
	if s.Fabric == FabricToR {
		return fmt.Sprintf("swp%d", h%max(1, s.HostsPerLeaf)*len(s.NICs)+n+1)
	}
	if s.Fabric == FabricSwitch { // all cards of a host are on it
		port := h*len(s.NICs) + n + 1
		if port > ibUplinks {
			port += ibUplinks
		}
		return strconv.Itoa(port)
	}
	if s.HostsPerLeaf > 0 {
		h %= s.HostsPerLeaf
	}
	return strconv.Itoa(h + 1)
}
