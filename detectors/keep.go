package detectors

import (
	"encoding/json"
	"fmt"
	"time"
)

// Keeper is a Detector with knowledge that is worth keeping over a restart:
// what history of some hours does not hold, or what took days to learn.
type Keeper interface {
	// Keep returns the knowledge as JSON, nil if there is none.
	Keep() (json.RawMessage, error)
	// Recall takes what Keep returned. It checks what it takes: files are
	// edited, cut and mixed up.
	Recall(json.RawMessage) error
}

// keptVersion is the version of the form in which baselines are saved.
const keptVersion = 1

// kept is the saved form of a Bank.
type kept struct {
	Version  int                        `json:"version"`
	Sections map[string]json.RawMessage `json:"sections"`
}

// Save returns what the detectors want to keep over a restart.
func (b *Bank) Save() ([]byte, error) {
	out := kept{Version: keptVersion, Sections: map[string]json.RawMessage{}}
	for _, d := range b.detectors {
		k, ok := d.(Keeper)
		if !ok {
			continue
		}
		raw, err := k.Keep()
		if err != nil {
			return nil, fmt.Errorf("detector %q: keep: %w", d.Name(), err)
		}
		if raw != nil {
			out.Sections[d.Name()] = raw
		}
	}
	return json.Marshal(out)
}

// Restore takes what Save returned. An error means that nothing or not all of
// it is known; the Bank works on and learns anew.
func (b *Bank) Restore(saved []byte) error {
	var in kept
	if err := json.Unmarshal(saved, &in); err != nil {
		return fmt.Errorf("baselines: %w", err)
	}
	if in.Version != keptVersion {
		return fmt.Errorf("baselines: version %d is not %d: they are learned anew", in.Version, keptVersion)
	}
	for _, d := range b.detectors {
		k, ok := d.(Keeper)
		raw, has := in.Sections[d.Name()]
		if !ok || !has {
			continue
		}
		if err := k.Recall(raw); err != nil {
			return fmt.Errorf("baselines of detector %q: %w", d.Name(), err)
		}
	}
	return nil
}

// keptProfile is a past profile in its saved form.
type keptProfile struct {
	Hosts int        `json:"hosts"`
	GPUs  int        `json:"gpus"`
	Job   string     `json:"job"`
	Ended time.Time  `json:"ended"`
	Lines []keptLine `json:"lines"`
}

type keptLine struct {
	Signal string  `json:"signal"`
	Op     string  `json:"op,omitempty"`
	Size   string  `json:"size,omitempty"`
	Algo   string  `json:"algo,omitempty"`
	Ranks  int32   `json:"ranks,omitempty"`
	Nodes  int32   `json:"nodes,omitempty"`
	Usual  float64 `json:"usual"`
}
