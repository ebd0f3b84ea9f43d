package draw

import (
	"encoding/json"
	"io"
	"time"

	"github.com/collwatch/collwatch/topology"
)

// The document of JSON. Fields that are unknown are left out.
type document struct {
	Hosts         []host         `json:"hosts"`
	Switches      []switchDoc    `json:"switches"`
	Uplinks       []uplink       `json:"uplinks"`
	Disagreements []disagreement `json:"disagreements"`
}

type host struct {
	Name     string     `json:"name"`
	Rack     string     `json:"rack,omitempty"`
	Domain   string     `json:"domain,omitempty"`
	Pod      string     `json:"pod,omitempty"`
	Leaves   []string   `json:"leaves,omitempty"`
	Ports    []port     `json:"ports,omitempty"`
	Affinity []affinity `json:"affinity,omitempty"`
}

type port struct {
	Device       string  `json:"device"`
	Port         string  `json:"port,omitempty"`
	GUID         string  `json:"guid,omitempty"`
	Model        string  `json:"model,omitempty"`
	Compute      bool    `json:"compute"`
	Leaf         string  `json:"leaf,omitempty"`
	LeafPort     string  `json:"leaf_port,omitempty"`
	ExpectedLeaf string  `json:"expected_leaf,omitempty"`
	Rail         string  `json:"rail,omitempty"`
	RailAssumed  bool    `json:"rail_assumed,omitempty"`
	Source       string  `json:"source,omitempty"`
	Claims       []claim `json:"claims,omitempty"`
}

type claim struct {
	Source string     `json:"source"`
	Time   *time.Time `json:"time,omitempty"`
	Value  string     `json:"value"`
	Plan   bool       `json:"plan,omitempty"`
}

type affinity struct {
	GPU     string `json:"gpu"`
	NIC     string `json:"nic"`
	Assumed bool   `json:"assumed,omitempty"`
	Source  string `json:"source,omitempty"`
}

type switchDoc struct {
	Name        string `json:"name"`
	Uplinks     int    `json:"uplinks"`
	MostUplinks int    `json:"most_uplinks"`
}

type uplink struct {
	Switch   string `json:"switch"`
	Port     string `json:"port,omitempty"`
	Peer     string `json:"peer"`
	PeerPort string `json:"peer_port,omitempty"`
	Hint     string `json:"hint,omitempty"`
	Source   string `json:"source,omitempty"`
}

type disagreement struct {
	About  string  `json:"about"`
	Host   string  `json:"host,omitempty"`
	Device string  `json:"device,omitempty"`
	Claims []claim `json:"claims,omitempty"`
	Text   string  `json:"text"`
}

// JSON writes everything that is known, with who says it.
func JSON(w io.Writer, f *topology.Fabric) error {
	d := document{Hosts: []host{}, Switches: []switchDoc{}, Uplinks: []uplink{}, Disagreements: []disagreement{}}
	facts := f.Facts()
	near := map[string][]affinity{}
	for _, a := range facts.Affinity {
		near[a.Host] = append(near[a.Host], affinity{a.GPU, a.NIC, a.Assumed, a.Source})
	}
	for _, name := range f.Hosts() {
		h := host{Name: name, Rack: f.Rack(name), Domain: f.Domain(name), Pod: f.Pod(name), Leaves: f.HostLeaves(name), Affinity: near[name]}
		for _, p := range f.Ports(name) {
			doc := port{
				Device: p.Device, Port: p.Port, GUID: p.GUID, Model: p.Model, Compute: p.Compute, Leaf: p.Leaf, LeafPort: p.LeafPort,
				ExpectedLeaf: p.ExpectedLeaf, Rail: p.Rail, RailAssumed: p.RailAssumed, Source: p.Source,
			}
			if len(p.Claims) > 1 {
				doc.Claims = claims(p.Claims)
			}
			h.Ports = append(h.Ports, doc)
		}
		d.Hosts = append(d.Hosts, h)
	}
	for _, sw := range f.Switches() {
		now, most := f.UplinkCount(sw)
		d.Switches = append(d.Switches, switchDoc{Name: sw, Uplinks: now, MostUplinks: most})
		for _, u := range f.Uplinks(sw) {
			d.Uplinks = append(d.Uplinks, uplink{u.Switch, u.Port, u.Peer, u.PeerPort, u.Hint, u.Source})
		}
	}
	for _, x := range f.Disagreements() {
		d.Disagreements = append(d.Disagreements, disagreement{About: x.About, Host: x.Host, Device: x.Device, Claims: claims(x.Claims), Text: x.String()})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}

func claims(list []topology.Claim) []claim {
	var out []claim
	for _, c := range list {
		doc := claim{Source: c.Source, Value: c.Value, Plan: c.Plan}
		if !c.Time.IsZero() {
			t := c.Time.UTC()
			doc.Time = &t
		}
		out = append(out, doc)
	}
	return out
}
