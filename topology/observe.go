package topology

import (
	"cmp"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/signals"
)

// Observed is what one snapshot says about the fabric. Maps are keyed by host
// unless said otherwise.
type Observed struct {
	// NICs are the NIC ports seen, with model, rate and current leaf.
	NICs []ObservedNIC
	// GPUs are the GPU devices of each host in natural order.
	GPUs map[string][]string
	// Uplinks are links between switches.
	Uplinks []Uplink
	// Rack, Domain, Pod and Leaf are the parents that labels name.
	Rack, Domain, Pod, Leaf map[string]string
}

// ObservedNIC is one NIC port as the series show it.
type ObservedNIC struct {
	Host, Device, Port string
	Model              string
	Rate               float64 // B/s, negotiated; 0 unknown
	Leaf, LeafPort     string
}

// Observe reads topology out of a snapshot. It looks at whatever frames exist:
// an absent frame is no statement.
func Observe(s *signals.Snapshot) Observed {
	o := Observed{GPUs: map[string][]string{}, Rack: map[string]string{}, Domain: map[string]string{}, Pod: map[string]string{}, Leaf: map[string]string{}}
	nics := map[[2]string]*ObservedNIC{}
	for _, id := range []signals.ID{signals.NICRate, signals.NICState, signals.NICTx, signals.NICModel, signals.NICRetransmitBytes} {
		each(s, id, func(e signals.Entity, v float64) {
			if e.Kind != signals.KindNIC || e.Host == "" {
				return
			}
			k := [2]string{e.Host, e.Device}
			n := nics[k]
			if n == nil {
				n = &ObservedNIC{Host: e.Host, Device: e.Device, Port: e.Port}
				nics[k] = n
			}
			switch id {
			case signals.NICRate:
				n.Rate = v
			case signals.NICModel:
				n.Model = e.Detail
			}
		})
	}
	each(s, signals.SwitchLink, func(e signals.Entity, _ float64) {
		host, device := splitPeer(e.Peer)
		if n := nics[[2]string{host, device}]; n != nil {
			n.Leaf, n.LeafPort = e.Device, e.Port
		}
	})
	each(s, signals.SwitchUplink, func(e signals.Entity, _ float64) {
		o.Uplinks = append(o.Uplinks, Uplink{Switch: e.Device, Port: e.Port, Peer: e.Peer, Source: "series"})
	})
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
		}
	})
	o.GPUs = observeGPUs(s)
	for _, n := range nics {
		o.NICs = append(o.NICs, *n)
	}
	sortNICs(o.NICs)
	slices.SortFunc(o.Uplinks, func(a, b Uplink) int {
		return cmp.Or(natural(a.Switch, b.Switch), natural(a.Port, b.Port), natural(a.Peer, b.Peer))
	})
	return o
}

func sortNICs(nics []ObservedNIC) {
	slices.SortFunc(nics, func(a, b ObservedNIC) int {
		return cmp.Or(natural(a.Host, b.Host), natural(a.Device, b.Device))
	})
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
	for k := range seen {
		gpus[k[0]] = append(gpus[k[0]], k[1])
	}
	for _, devs := range gpus {
		slices.SortFunc(devs, natural)
	}
	return gpus
}

// splitPeer takes a switch's description of its neighbour apart:
// "gpu-007 mlx5_3" is a host and a device.
func splitPeer(peer string) (host, device string) {
	host, device, _ = strings.Cut(strings.TrimSpace(peer), " ")
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	return host, strings.TrimSpace(device)
}

func each(s *signals.Snapshot, id signals.ID, f func(signals.Entity, float64)) {
	fr := s.Frame(id)
	for i := range fr.Len() {
		f(s.Entities.Of(fr.Entity[i]), fr.Value[i])
	}
}
