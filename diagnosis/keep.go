package diagnosis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Keeper is the memory of a [Family] that is worth keeping over a restart: what
// an hour of history does not show, or what was told already.
type Keeper interface {
	// Keep returns the memory as JSON, nil if there is none.
	Keep() (json.RawMessage, error)
	// Recall takes what Keep returned. It checks what it takes: files are
	// edited, cut and mixed up.
	Recall(json.RawMessage) error
}

// keptVersion is the version of the form in which memories are saved.
const keptVersion = 1

// kept is the saved form of a Diagnoser.
type kept struct {
	Version int `json:"version"`
	// Running are the jobs that ran, so that an end during a downtime is seen.
	Running  []string                   `json:"running,omitempty"`
	Stays    []keptStay                 `json:"stays,omitempty"`
	Episodes []keptEpisode              `json:"episodes,omitempty"`
	Offences []keptOffence              `json:"offences,omitempty"`
	Families map[string]json.RawMessage `json:"families,omitempty"`
}

type keptStay struct {
	Host  string    `json:"host"`
	Job   string    `json:"job"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

type keptEpisode struct {
	Key     string    `json:"key"`
	Job     string    `json:"job,omitempty"`
	Scope   string    `json:"scope,omitempty"`
	Ended   bool      `json:"ended,omitempty"`
	Started time.Time `json:"started"`
	Seen    time.Time `json:"seen"`
	// Falls are the times at which the link of a flap went down.
	Falls []time.Time `json:"falls,omitempty"`
}

type keptOffence struct {
	keptThing
	Times int `json:"times"`
}

// keptThing is a host, GPU, NIC or switch port in its saved form.
type keptThing struct {
	Kind   string `json:"kind"`
	Host   string `json:"host,omitempty"`
	Device string `json:"device,omitempty"`
	Port   string `json:"port,omitempty"`
}

func keepThing(e signals.Entity) keptThing {
	kind := map[signals.Kind]string{signals.KindHost: "host", signals.KindGPU: "gpu", signals.KindNIC: "nic", signals.KindSwitchPort: "switch_port"}[e.Kind]
	return keptThing{kind, e.Host, e.Device, e.Port}
}

func (k keptThing) entity() (signals.Entity, error) {
	kind, ok := map[string]signals.Kind{"host": signals.KindHost, "gpu": signals.KindGPU, "nic": signals.KindNIC, "switch_port": signals.KindSwitchPort}[k.Kind]
	if !ok {
		return signals.Entity{}, fmt.Errorf("there is no kind of thing %q", k.Kind)
	}
	return signals.Entity{Kind: kind, Host: k.Host, Device: k.Device, Port: k.Port}, nil
}

func compareThings(a, b keptThing) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Port, b.Port))
}

// Save returns what the diagnosis wants to keep over a restart.
func (d *Diagnoser) Save() ([]byte, error) {
	out := kept{Version: keptVersion, Families: map[string]json.RawMessage{}}
	for id, ended := range d.ended {
		if !ended {
			out.Running = append(out.Running, id)
		}
	}
	slices.Sort(out.Running)
	d.memory.keep(&out)
	for _, f := range d.families {
		if f.Memory == nil {
			continue
		}
		raw, err := f.Memory.Keep()
		if err != nil {
			return nil, fmt.Errorf("diagnosis of %s: keep: %w", f.Name, err)
		}
		if raw != nil {
			out.Families[f.Name] = raw
		}
	}
	return json.Marshal(out)
}

// Restore takes what Save returned, before the first Diagnose. An error means
// that nothing or not all of it is known; the Diagnoser works on.
func (d *Diagnoser) Restore(saved []byte) error {
	var in kept
	if err := json.Unmarshal(saved, &in); err != nil {
		return fmt.Errorf("memories of the diagnosis: %w", err)
	}
	if in.Version != keptVersion {
		return fmt.Errorf("memories of the diagnosis: version %d is not %d: they are forgotten", in.Version, keptVersion)
	}
	for _, id := range in.Running {
		d.ended[id] = false
	}
	if err := d.memory.recall(&in); err != nil {
		return fmt.Errorf("memories of the diagnosis: %w", err)
	}
	for _, f := range d.families {
		raw, has := in.Families[f.Name]
		if f.Memory == nil || !has {
			continue
		}
		if err := f.Memory.Recall(raw); err != nil {
			return fmt.Errorf("memories of the diagnosis of %s: %w", f.Name, err)
		}
	}
	return nil
}

// keep writes the memory common to all families.
func (m *memory) keep(out *kept) {
	for host, list := range m.past {
		for _, s := range list {
			out.Stays = append(out.Stays, keptStay{host, s.job, s.first, s.last})
		}
	}
	slices.SortFunc(out.Stays, func(a, b keptStay) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), a.First.Compare(b.First), cmp.Compare(a.Job, b.Job))
	})
	for key, e := range m.held {
		out.Episodes = append(out.Episodes, keptEpisode{key, e.job, e.scope, e.ended, e.started, e.seen, e.falls})
	}
	slices.SortFunc(out.Episodes, func(a, b keptEpisode) int { return cmp.Compare(a.Key, b.Key) })
	for e, n := range m.lemon {
		if k := keepThing(e); k.Kind != "" {
			out.Offences = append(out.Offences, keptOffence{k, n})
		}
	}
	slices.SortFunc(out.Offences, func(a, b keptOffence) int { return compareThings(a.keptThing, b.keptThing) })
}

func (m *memory) recall(in *kept) error {
	for _, s := range in.Stays {
		if s.Host == "" || s.Job == "" || len(m.past[s.Host]) >= staysKept {
			continue
		}
		m.past[s.Host] = append(m.past[s.Host], stay{s.Job, s.First, s.Last})
		if s.Last.After(m.hosts[s.Host]) {
			m.hosts[s.Host] = s.Last
		}
	}
	for _, e := range in.Episodes {
		m.held[e.Key] = &episode{e.Job, e.Scope, e.Ended, e.Started, e.Seen, e.Falls[max(0, len(e.Falls)-fallsKept):]}
	}
	for _, o := range in.Offences {
		thing, err := o.entity()
		if err != nil {
			return err
		}
		m.lemon[thing] = max(0, min(o.Times, lemonCap))
	}
	return nil
}
