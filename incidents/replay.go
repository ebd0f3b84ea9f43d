package incidents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/signals"
)

// replayLine is an event as replays print it. Names and order are a contract.
type replayLine struct {
	Time        time.Time         `json:"time"`
	Event       EventKind         `json:"event"`
	Incident    string            `json:"incident"`
	Class       diagnosis.Class   `json:"class"`
	Reason      string            `json:"reason"`
	Severity    string            `json:"severity"`
	Confidence  string            `json:"confidence"`
	Job         string            `json:"job"`
	Suspects    []replaySuspect   `json:"suspects"`
	TieSet      int               `json:"tie_set"`
	StartedAt   time.Time         `json:"started_at"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Evidence    []replayEvidence  `json:"evidence"`
	// Withheld says why nobody was told, such as shadow; absent if all were.
	Withheld Withheld `json:"withheld,omitempty"`
}

type replaySuspect struct {
	Kind   string  `json:"kind"`
	Node   string  `json:"node,omitempty"`
	Device string  `json:"device,omitempty"`
	Switch string  `json:"switch,omitempty"`
	Port   string  `json:"port,omitempty"`
	Score  float64 `json:"score"`
}

type replayEvidence struct {
	Signal string `json:"signal"`
	Entity string `json:"entity"`
	Text   string `json:"text"`
}

// MarshalReplay returns the event as one line of JSON, without its newline.
func (e *Event) MarshalReplay(r *Renderer) ([]byte, error) {
	i := &e.Incident
	line := replayLine{
		Time: e.Time.UTC(), Event: e.Kind, Incident: i.ID,
		Class: i.Verdict.Class, Reason: i.Verdict.Reason, Severity: i.Severity.String(),
		Confidence: i.Verdict.Confidence.String(), Job: i.Verdict.Job,
		Suspects: []replaySuspect{}, TieSet: i.Verdict.TieSet, StartedAt: i.StartedAt.UTC(),
		Labels: i.AlertLabels(), Annotations: r.Annotations(i), Evidence: []replayEvidence{},
		Withheld: i.Withheld,
	}
	for _, s := range i.NamedSuspects() {
		line.Suspects = append(line.Suspects, replaySuspect{s.Kind, s.Node, s.Device, s.Switch, s.Port, finite(s.Score)})
	}
	for _, ev := range i.Verdict.Evidence {
		line.Evidence = append(line.Evidence, replayEvidence{signalName(ev.Signal), ev.Entity.String(), ev.Text})
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		return nil, fmt.Errorf("replay line of incident %s: %w", i.ID, err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// signalName is the name of a signal, "" for none.
func signalName(id signals.ID) string {
	if id == signals.None || int(id) >= signals.Count {
		return ""
	}
	return id.String()
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return math.Round(x*1e4) / 1e4
}
