package diagnosis

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// keptLinks is the memory of the family of links: an outage that was told is
// not told again as a flap, and a leaf that was told as degraded stays so.
type keptLinks struct {
	Outages []keptOutage `json:"outages,omitempty"`
	Leaves  []keptLeaf   `json:"leaves,omitempty"`
	Hosts   []keptHost   `json:"hosts,omitempty"`
}

type keptHost struct {
	Host  string    `json:"host"`
	Began time.Time `json:"began"`
	Last  time.Time `json:"last"`
	Back  time.Time `json:"back"`
	Told  bool      `json:"told,omitempty"`
	Job   string    `json:"job,omitempty"`
}

type keptOutage struct {
	keptThing
	Began time.Time `json:"began"`
	Back  time.Time `json:"back"`
	Job   string    `json:"job,omitempty"`
}

type keptLeaf struct {
	Leaf     string      `json:"leaf,omitempty"`
	Rail     string      `json:"rail,omitempty"`
	Assumed  bool        `json:"assumed,omitempty"`
	Whole    bool        `json:"whole,omitempty"`
	Began    time.Time   `json:"began"`
	Seen     time.Time   `json:"seen"`
	Back     time.Time   `json:"back"`
	Degraded bool        `json:"degraded,omitempty"`
	Ports    []keptThing `json:"ports"`
}

// Keep implements [Keeper].
func (f *linkFamily) Keep() (json.RawMessage, error) {
	var out keptLinks
	for nic, o := range f.told {
		out.Outages = append(out.Outages, keptOutage{keepThing(nic), o.began, o.back, o.job})
	}
	slices.SortFunc(out.Outages, func(a, b keptOutage) int { return compareThings(a.keptThing, b.keptThing) })
	for s, x := range f.cut {
		k := keptLeaf{s.leaf, s.rail, s.assumed, s.whole, x.began, x.seen, x.back, x.degraded, nil}
		for _, nic := range x.ports {
			k.Ports = append(k.Ports, keepThing(nic))
		}
		out.Leaves = append(out.Leaves, k)
	}
	slices.SortFunc(out.Leaves, func(a, b keptLeaf) int {
		return cmp.Or(cmp.Compare(a.Leaf, b.Leaf), cmp.Compare(a.Rail, b.Rail), a.Began.Compare(b.Began))
	})
	for host, x := range f.hostsCut {
		out.Hosts = append(out.Hosts, keptHost{host, x.began, x.last, x.back, x.told, x.job})
	}
	slices.SortFunc(out.Hosts, func(a, b keptHost) int { return cmp.Compare(a.Host, b.Host) })
	if len(out.Outages)+len(out.Leaves)+len(out.Hosts) == 0 {
		return nil, nil
	}
	return json.Marshal(out)
}

// Recall implements [Keeper].
func (f *linkFamily) Recall(raw json.RawMessage) error {
	var in keptLinks
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, o := range in.Outages {
		nic, err := o.entity()
		if err != nil {
			return err
		}
		f.told[nic] = &outage{began: o.Began, back: o.Back, job: o.Job}
	}
	for _, k := range in.Leaves {
		x := &cutLeaf{began: k.Began, seen: k.Seen, back: k.Back, degraded: k.Degraded}
		for _, p := range k.Ports {
			nic, err := p.entity()
			if err != nil {
				return err
			}
			x.ports = append(x.ports, nic)
		}
		f.cut[stage{leaf: k.Leaf, rail: k.Rail, assumed: k.Assumed, whole: k.Whole}] = x
	}
	for _, k := range in.Hosts {
		f.hostsCut[k.Host] = &cutHost{k.Began, k.Last, k.Back, k.Told, k.Job}
	}
	return nil
}

// keptFall is when the link of a port was last seen to go down.
type keptFall struct {
	keptThing
	At time.Time `json:"at"`
}

// Keep implements [Keeper]: a port may stay unused for as long as a job runs.
func (f *shareFamily) Keep() (json.RawMessage, error) {
	if len(f.fell) == 0 {
		return nil, nil
	}
	var out []keptFall
	for nic, t := range f.fell {
		out = append(out, keptFall{keepThing(nic), t})
	}
	slices.SortFunc(out, func(a, b keptFall) int { return compareThings(a.keptThing, b.keptThing) })
	return json.Marshal(out)
}

// Recall implements [Keeper].
func (f *shareFamily) Recall(raw json.RawMessage) error {
	var in []keptFall
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, k := range in {
		nic, err := k.entity()
		if err != nil {
			return err
		}
		f.fell[nic] = k.At
	}
	return nil
}

// keptNVLink is the job in which a link was first seen with errors.
type keptNVLink struct {
	keptThing
	Job string `json:"job"`
}

// Keep implements [Keeper]: the same link in another job is worse.
func (f *nvlinkFamily) Keep() (json.RawMessage, error) {
	if len(f.first) == 0 {
		return nil, nil
	}
	var out []keptNVLink
	for link, job := range f.first {
		out = append(out, keptNVLink{keepThing(link), job})
	}
	slices.SortFunc(out, func(a, b keptNVLink) int { return compareThings(a.keptThing, b.keptThing) })
	return json.Marshal(out)
}

// Recall implements [Keeper].
func (f *nvlinkFamily) Recall(raw json.RawMessage) error {
	var in []keptNVLink
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, k := range in {
		link, err := k.entity()
		if err != nil {
			return err
		}
		f.first[link] = k.Job
	}
	return nil
}

// keptGroup is a group of hosts that got hot together, with the members it is
// named by.
type keptGroup struct {
	Rack  string    `json:"rack"`
	Hosts []string  `json:"hosts"`
	Grew  time.Time `json:"grew"`
	Seen  time.Time `json:"seen"`
	Told  bool      `json:"told"`
}

// Keep implements [Keeper]: a group keeps its name.
func (f *throttleFamily) Keep() (json.RawMessage, error) {
	if len(f.groups) == 0 {
		return nil, nil
	}
	var out []keptGroup
	for rack, g := range f.groups {
		out = append(out, keptGroup{rack, sortedSet(g.hosts), g.grew, g.seen, g.told})
	}
	slices.SortFunc(out, func(a, b keptGroup) int { return cmp.Compare(a.Rack, b.Rack) })
	return json.Marshal(out)
}

// Recall implements [Keeper].
func (f *throttleFamily) Recall(raw json.RawMessage) error {
	var in []keptGroup
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, k := range in {
		g := &hotGroup{hosts: map[string]bool{}, grew: k.Grew, seen: k.Seen, told: k.Told}
		for _, h := range k.Hosts {
			g.hosts[h] = true
		}
		f.groups[k.Rack] = g
	}
	return nil
}

var (
	_ Keeper = (*linkFamily)(nil)
	_ Keeper = (*shareFamily)(nil)
	_ Keeper = (*nvlinkFamily)(nil)
	_ Keeper = (*throttleFamily)(nil)
)
