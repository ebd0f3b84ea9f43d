package topology

import (
	"cmp"
	"slices"

	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology/parse"
)

// Observed is what one snapshot says about the fabric. Maps are keyed by host
// unless said otherwise.
type Observed struct {
	// NICs are the NIC ports seen, with model, rate and current leaf.
	NICs []ObservedNIC
	// GPUs are the GPU devices of each host in natural order. A host of a job
	// is there even if none of its GPUs is seen.
	GPUs map[string][]string
	// Uplinks are links between switches.
	Uplinks []Uplink
	// Rack, Domain, Pod and Leaf are the parents that labels name.
	Rack, Domain, Pod, Leaf map[string]string
	// Leaves are several such leaves of one host.
	Leaves map[string][]string
	// Links are what switches and labels say about cables to hosts.
	Links []parse.Link
	// Paths gives the NIC of a host by PCI address or network interface.
	Paths map[[2]string]string
	// Affinity is what dumps say; where they say nothing, order decides.
	Affinity []Affinity
	// Unplaced are leaves of hosts where the device is unknown.
	Unplaced map[string][]string
	// MostUplinks is how many uplinks a switch had at most.
	MostUplinks map[string]int
	// Disagreements are what sources differ about.
	Disagreements []Disagreement
}

// ObservedNIC is one NIC port as the series show it.
type ObservedNIC struct {
	Host, Device, Port string
	Model              string
	Rate               float64 // B/s, negotiated; 0 unknown
	Leaf, LeafPort     string
	// Source is who says on which leaf it is.
	Source string
	Claims []Claim
	// Expected is the leaf that a plan or an older statement names, if it
	// differs from Leaf. Before is the leaf that the series showed earlier.
	Expected, Before string
	GUID, Rail       string
	// Live says that the host itself shows series of it.
	Live bool
}

// Observe reads topology out of a snapshot. It looks at whatever frames exist:
// an absent frame is no statement.
func Observe(s *signals.Snapshot) Observed {
	o := Observed{
		GPUs: map[string][]string{}, Rack: map[string]string{}, Domain: map[string]string{}, Pod: map[string]string{}, Leaf: map[string]string{},
		Paths: map[[2]string]string{},
	}
	o.NICs = observeNICs(s)
	o.GPUs = observeGPUs(s)
	each(s, signals.NICPath, func(e signals.Entity, _ float64) {
		if e.Kind == signals.KindNIC && e.Host != "" {
			if pci := parse.PCI(e.Detail); pci != "" {
				o.Paths[[2]string{e.Host, pci}] = e.Device
			}
			if e.Peer != "" {
				o.Paths[[2]string{e.Host, e.Peer}] = e.Device
			}
		}
	})
	each(s, signals.SwitchLink, func(e signals.Entity, _ float64) {
		l := parse.Link{Switch: e.Device, SwitchPort: e.Port}
		l.Host, l.Device, l.Slot = parse.Description(e.Peer)
		if l.Host != "" {
			o.Links = append(o.Links, l)
		}
	})
	each(s, signals.SwitchUplink, func(e signals.Entity, _ float64) {
		o.Uplinks = append(o.Uplinks, Uplink{Switch: e.Device, Port: e.Port, Peer: e.Peer, PeerPort: e.Detail, Source: seriesSource})
	})
	o.parents(s)
	sortUplinks(o.Uplinks)
	return o
}

func sortUplinks(list []Uplink) {
	slices.SortFunc(list, func(a, b Uplink) int {
		return cmp.Or(natural(a.Switch, b.Switch), natural(a.Port, b.Port), natural(a.Peer, b.Peer))
	})
}

func observeNICs(s *signals.Snapshot) []ObservedNIC {
	var nics []ObservedNIC
	index := map[[2]string]int{}
	for _, id := range []signals.ID{signals.NICRate, signals.NICState, signals.NICTx, signals.NICModel, signals.NICRetransmitBytes} {
		each(s, id, func(e signals.Entity, v float64) {
			if e.Kind != signals.KindNIC || e.Host == "" {
				return
			}
			k := [2]string{e.Host, e.Device}
			i, ok := index[k]
			if !ok {
				i = len(nics)
				index[k] = i
				nics = append(nics, ObservedNIC{Host: e.Host, Device: e.Device, Port: e.Port, Live: true})
			}
			switch id {
			case signals.NICRate:
				nics[i].Rate = v
			case signals.NICModel:
				nics[i].Model = e.Detail
			}
		})
	}
	sortNICs(nics)
	return nics
}

// parents reads what hosts and their interfaces hang below.
func (o *Observed) parents(s *signals.Snapshot) {
	each(s, signals.HostParent, func(e signals.Entity, _ float64) {
		switch e.Detail {
		case "rack":
			o.Rack[e.Host] = e.Peer
		case "domain":
			o.Domain[e.Host] = e.Peer
		case "pod":
			o.Pod[e.Host] = e.Peer
		case "leaf":
			o.Leaf[e.Host] = e.Peer
		case "leaf_current", "leaf_expected":
			o.Links = append(o.Links, parse.Link{
				Switch: e.Peer, SwitchPort: e.Port, Host: e.Host, Device: e.Device, Iface: true, Plan: e.Detail == "leaf_expected",
			})
		}
	})
}

func sortNICs(nics []ObservedNIC) {
	slices.SortFunc(nics, func(a, b ObservedNIC) int { return compareNICs(&a, &b) })
}

func compareNICs(a, b *ObservedNIC) int {
	if a.Host != b.Host {
		if c := natural(a.Host, b.Host); c != 0 {
			return c
		}
	}
	return natural(a.Device, b.Device)
}

func observeGPUs(s *signals.Snapshot) map[string][]string {
	seen := map[[2]string]bool{}
	for _, id := range []signals.ID{signals.GPUUtil, signals.GPUSMClock, signals.GPUPower, signals.GPUMemUsed} {
		each(s, id, func(e signals.Entity, _ float64) {
			if e.Kind == signals.KindGPU && e.Host != "" {
				seen[[2]string{e.Host, e.Device}] = true
			}
		})
	}
	for _, j := range s.Jobs {
		for _, g := range j.GPUs {
			seen[[2]string{g.Host, g.Device}] = true
		}
	}
	gpus := map[string][]string{}
	for _, j := range s.Jobs {
		for _, h := range j.Hosts {
			gpus[h] = nil
		}
	}
	for k := range seen {
		gpus[k[0]] = append(gpus[k[0]], k[1])
	}
	for _, devs := range gpus {
		slices.SortFunc(devs, natural)
	}
	return gpus
}

func each(s *signals.Snapshot, id signals.ID, f func(signals.Entity, float64)) {
	fr := s.Frame(id)
	for i := range fr.Len() {
		f(s.Entities.Of(fr.Entity[i]), fr.Value[i])
	}
}
