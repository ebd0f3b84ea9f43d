package topology

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/collwatch/collwatch/topology/parse"
)

// seriesSource names the series of Prometheus as a source.
const seriesSource = "series"

// sourceFacts is what one source says, with how far it is trusted.
type sourceFacts struct {
	name  string // kind and path
	trust int
	order int // place in the configuration: earlier counts more
	time  time.Time
	facts *parse.Facts
}

// merger joins sources into one Observed.
type merger struct {
	o       Observed
	sources []sourceFacts // by trust, the most trusted first
	nics    map[nicKey]*ObservedNIC
	onHost  map[string][]string // host to devices
	names   *switchNames
	guids   map[string]nicKey // "" as host: ambiguous
	slots   *slotNumbers
	out     []Disagreement
}

type nicKey struct{ host, device, port string }

func keyOf(host, device, port string) nicKey {
	if port == "1" { // nearly all adapters have one port
		port = ""
	}
	return nicKey{host, device, port}
}

// merge joins what the series show with what files say. now is the time of the
// series.
func merge(o Observed, files []sourceFacts, now time.Time) Observed {
	m := &merger{o: o, nics: map[nicKey]*ObservedNIC{}, onHost: map[string][]string{}, names: newSwitchNames(), guids: map[string]nicKey{}}
	series := &parse.Facts{Links: o.Links}
	for _, u := range o.Uplinks {
		series.Trunks = append(series.Trunks, parse.Trunk{Switch: u.Switch, Port: u.Port, Peer: u.Peer, PeerPort: u.PeerPort, Hint: u.Hint})
	}
	series.Places = places(&o)
	m.sources = append(slices.Clone(files), sourceFacts{name: seriesSource, trust: parse.TrustSeries, order: -1, time: now, facts: series})
	slices.SortStableFunc(m.sources, func(a, b sourceFacts) int { return cmp.Or(b.trust-a.trust, a.order-b.order) })
	for i := range o.NICs {
		n := o.NICs[i]
		m.nics[keyOf(n.Host, n.Device, n.Port)] = &n
		m.onHost[n.Host] = append(m.onHost[n.Host], n.Device)
	}
	m.learnNames()
	m.adapters()
	m.identify()
	m.links()
	m.place()
	m.trunks()
	m.affinity()
	m.graphs()
	m.o.NICs = m.o.NICs[:0:0]
	for _, n := range m.nics {
		m.o.NICs = append(m.o.NICs, *n)
	}
	sortNICs(m.o.NICs)
	m.o.Disagreements = sortDisagreements(append(slices.Clone(o.Disagreements), m.out...))
	return m.o
}

// places turns the maps of an Observed into statements.
func places(o *Observed) []parse.Place {
	var out []parse.Place
	for _, l := range []struct {
		level string
		of    map[string]string
	}{{parse.Leaf, o.Leaf}, {parse.Rack, o.Rack}, {parse.Domain, o.Domain}, {parse.Pod, o.Pod}} {
		for _, h := range slices.Sorted(maps.Keys(l.of)) {
			out = append(out, parse.Place{Host: h, Level: l.level, Name: l.of[h]})
		}
	}
	return out
}

func (m *merger) differ(d Disagreement) { m.out = append(m.out, d) }

func (s *sourceFacts) claim(value string, plan bool) Claim {
	return Claim{Source: s.name, Time: s.time, Value: value, Plan: plan}
}

// learnNames makes one name for each switch. Series come first, so that a
// leaf is called what findings about it call it.
func (m *merger) learnNames() {
	for i := range m.sources {
		f := m.sources[i].facts
		for j := range f.Links {
			m.names.learn(f.Links[j].Switch, f.Links[j].SwitchGUID)
		}
		for j := range f.Trunks {
			m.names.learn(f.Trunks[j].Switch, f.Trunks[j].SwitchGUID)
			m.names.learn(f.Trunks[j].Peer, f.Trunks[j].PeerGUID)
		}
	}
}

// adapters adds the NICs that dumps of hosts list, and learns their GUIDs.
func (m *merger) adapters() {
	for i := range m.sources {
		for _, d := range m.sources[i].facts.NICs {
			dev := m.device(d.Host, d.Device, d.PCI)
			k := keyOf(d.Host, dev, d.Port)
			n := m.nics[k]
			if n == nil && len(m.o.GPUs[d.Host]) > 0 && len(m.onHost[d.Host]) > 0 {
				continue // the series know this host, and no such adapter
			}
			if n == nil {
				if d.PCI == "" && d.GUID == "" && d.Rail == "" {
					continue // a socket
				}
				n = m.add(k, d.Port)
			}
			n.GUID = cmp.Or(n.GUID, d.GUID)
			n.Rail = cmp.Or(n.Rail, d.Rail)
			if n.Rate == 0 {
				n.Rate = d.Rate
			}
			if d.GUID != "" {
				m.learnGUID(d.GUID, k)
			}
		}
	}
}

func (m *merger) add(k nicKey, port string) *ObservedNIC {
	n := &ObservedNIC{Host: k.host, Device: k.device, Port: port}
	m.nics[k] = n
	m.onHost[k.host] = append(m.onHost[k.host], k.device)
	return n
}

// device is the name that the series have for an adapter of a host.
func (m *merger) device(host, device, pci string) string {
	if m.nics[keyOf(host, device, "")] != nil {
		return device
	}
	for _, other := range []string{device, pci} {
		if d := m.o.Paths[[2]string{host, other}]; other != "" && d != "" {
			return d
		}
	}
	return device
}

// learnGUID notes whose GUID one is. Functions of one card can share theirs, as
// dumps state it: then it tells nothing.
func (m *merger) learnGUID(guid string, k nicKey) {
	if old, ok := m.guids[guid]; ok && old != k {
		m.guids[guid] = nicKey{}
		return
	}
	m.guids[guid] = k
}

// identify learns GUIDs from links that name a device, after dumps of hosts.
func (m *merger) identify() {
	m.slots = newSlotNumbers(m)
	for i := range m.sources {
		s := &m.sources[i]
		for j := range s.facts.Links {
			l := &s.facts.Links[j]
			if l.Device == "" || l.Host == "" || l.Plan && l.GUID == "" {
				continue
			}
			k := keyOf(l.Host, m.device(l.Host, l.Device, ""), l.Port)
			for _, guid := range []string{l.GUID, l.NodeGUID} {
				if guid == "" {
					continue
				}
				if old, ok := m.guids[guid]; !ok {
					m.guids[guid] = k
				} else if old.host != "" && old.host != k.host && guid == l.GUID {
					m.differ(Disagreement{About: "guid", Host: old.host, Device: old.device, Claims: []Claim{s.claim(l.Host+" "+l.Device, l.Plan)}, Text: "its GUID " + guid + " is that of an adapter elsewhere"})
				}
			}
			m.slots.learn(l.Switch, k)
		}
	}
}

// resolve finds the NIC of a link: by GUID, else by host and device, else by a
// numbering that holds everywhere.
func (m *merger) resolve(l *parse.Link) (nicKey, bool) {
	for _, guid := range []string{l.GUID, l.NodeGUID} {
		if k := m.guids[guid]; guid != "" && k.host != "" {
			return k, true
		}
	}
	if l.Host == "" {
		return nicKey{}, false
	}
	if l.Device != "" {
		return keyOf(l.Host, m.device(l.Host, l.Device, ""), l.Port), true
	}
	if l.Slot != "" {
		if d, ok := m.slots.device(l.Host, l.Slot); ok {
			return keyOf(l.Host, d, l.Port), true
		}
	}
	return nicKey{host: l.Host}, false
}
