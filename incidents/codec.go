package incidents

import (
	"encoding"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/signals"
)

// MarshalText writes the state's word.
func (s State) MarshalText() ([]byte, error) {
	if s > Resolved {
		return nil, fmt.Errorf("no incident state %d", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads the state's word.
func (s *State) UnmarshalText(text []byte) error {
	return fromWord(text, "state", Resolved, s)
}

var _ encoding.TextUnmarshaler = (*State)(nil)

// fromWord reads the word of an enumeration that starts at zero.
func fromWord[T interface {
	~uint8
	String() string
}](text []byte, what string, last T, out *T) error {
	for v := T(0); v <= last; v++ {
		if v.String() == string(text) {
			*out = v
			return nil
		}
	}
	return fmt.Errorf("unknown %s %q", what, clip(string(text), 40))
}

// word is an enumeration as its word.
type severityWord diagnosis.Severity

func (s severityWord) MarshalText() ([]byte, error) {
	return []byte(min(diagnosis.Severity(s), diagnosis.Critical).String()), nil
}

func (s *severityWord) UnmarshalText(text []byte) error {
	return fromWord(text, "severity", diagnosis.Critical, (*diagnosis.Severity)(s))
}

type confidenceWord diagnosis.Confidence

func (c confidenceWord) MarshalText() ([]byte, error) {
	return []byte(min(diagnosis.Confidence(c), diagnosis.High).String()), nil
}

func (c *confidenceWord) UnmarshalText(text []byte) error {
	return fromWord(text, "confidence", diagnosis.High, (*diagnosis.Confidence)(c))
}

// signalWord is a signal as its name: numbers change with the catalogue.
type signalWord signals.ID

func (s signalWord) MarshalText() ([]byte, error) { return []byte(signalName(signals.ID(s))), nil }

// UnmarshalText reads a name. A signal that exists no longer becomes none: the
// text of the evidence stays.
func (s *signalWord) UnmarshalText(text []byte) error {
	id, _ := signals.ParseID(string(text))
	*s = signalWord(id)
	return nil
}

// storedVerdict is a verdict in JSON.
type storedVerdict struct {
	Class        diagnosis.Class  `json:"class"`
	Reason       string           `json:"reason,omitempty"`
	Severity     severityWord     `json:"severity"`
	Confidence   confidenceWord   `json:"confidence"`
	Owner        diagnosis.Owner  `json:"owner,omitempty"`
	Job          string           `json:"job,omitempty"`
	Scope        string           `json:"scope,omitempty"`
	Suspects     []replaySuspect  `json:"suspects,omitempty"`
	TieSet       int              `json:"tie_set"`
	Candidates   []replaySuspect  `json:"candidates,omitempty"`
	Evidence     []storedEvidence `json:"evidence,omitempty"`
	Consequences []string         `json:"consequences,omitempty"`
	Hosts        []string         `json:"hosts,omitempty"`
	Needs        []signalWord     `json:"needs,omitempty"`

	AffectedHosts int       `json:"affected_hosts,omitempty"`
	AffectedGPUs  int       `json:"affected_gpus,omitempty"`
	JobEnded      bool      `json:"job_ended,omitempty"`
	StartedAt     time.Time `json:"started_at"`
	Immediate     bool      `json:"immediate,omitempty"`
	Next          string    `json:"next,omitempty"`
	Command       string    `json:"command,omitempty"`
}

type storedEvidence struct {
	Signal   signalWord     `json:"signal"`
	Entity   signals.Entity `json:"entity"`
	Text     string         `json:"text"`
	Decisive bool           `json:"decisive,omitempty"`
}

func storeVerdict(v *diagnosis.Verdict) storedVerdict {
	return storedVerdict{
		Class: v.Class, Reason: v.Reason, Severity: severityWord(v.Severity), Confidence: confidenceWord(v.Confidence),
		Owner: v.Owner, Job: v.Job, Scope: v.Scope, TieSet: v.TieSet,
		Suspects: convert(v.Suspects, storeSuspect), Candidates: convert(v.Candidates, storeSuspect),
		Evidence: convert(v.Evidence, func(e diagnosis.Evidence) storedEvidence {
			return storedEvidence{signalWord(e.Signal), e.Entity, e.Text, e.Decisive}
		}),
		Consequences: v.Consequences, Hosts: v.Hosts,
		Needs:         convert(v.Needs, func(id signals.ID) signalWord { return signalWord(id) }),
		AffectedHosts: v.AffectedHosts, AffectedGPUs: v.AffectedGPUs, JobEnded: v.JobEnded,
		StartedAt: v.StartedAt, Immediate: v.Immediate, Next: v.Next, Command: v.Command,
	}
}

func (s *storedVerdict) verdict() diagnosis.Verdict {
	return diagnosis.Verdict{
		Class: s.Class, Reason: s.Reason, Severity: diagnosis.Severity(s.Severity), Confidence: diagnosis.Confidence(s.Confidence),
		Owner: s.Owner, Job: s.Job, Scope: s.Scope, TieSet: s.TieSet,
		Suspects: convert(s.Suspects, loadSuspect), Candidates: convert(s.Candidates, loadSuspect),
		Evidence: convert(s.Evidence, func(e storedEvidence) diagnosis.Evidence {
			return diagnosis.Evidence{Signal: signals.ID(e.Signal), Entity: e.Entity, Text: e.Text, Decisive: e.Decisive}
		}),
		Consequences: s.Consequences, Hosts: s.Hosts,
		Needs:         convert(s.Needs, func(w signalWord) signals.ID { return signals.ID(w) }),
		AffectedHosts: s.AffectedHosts, AffectedGPUs: s.AffectedGPUs, JobEnded: s.JobEnded,
		StartedAt: s.StartedAt, Immediate: s.Immediate, Next: s.Next, Command: s.Command,
	}
}

func storeSuspect(s diagnosis.Suspect) replaySuspect {
	return replaySuspect{s.Kind, s.Node, s.Device, s.Switch, s.Port, finite(s.Score)}
}

func loadSuspect(s replaySuspect) diagnosis.Suspect {
	return diagnosis.Suspect{Kind: s.Kind, Node: s.Node, Device: s.Device, Switch: s.Switch, Port: s.Port, Score: s.Score}
}

func convert[A, B any](in []A, f func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}

// plain is an Incident without its methods.
type plain Incident

// storedIncident replaces what encoding/json would write as numbers.
type storedIncident struct {
	*plain
	Verdict  storedVerdict `json:"verdict"`
	Severity severityWord  `json:"severity"`
	Raises   []storedRaise `json:"raises,omitempty"`
}

type storedRaise struct {
	From severityWord `json:"from"`
	At   time.Time    `json:"at"`
}

// MarshalJSON writes enumerations and signals as words.
func (i Incident) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedIncident{
		plain: (*plain)(&i), Verdict: storeVerdict(&i.Verdict), Severity: severityWord(i.Severity),
		Raises: convert(i.Raises, func(r Raise) storedRaise { return storedRaise{severityWord(r.From), r.At} }),
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (i *Incident) UnmarshalJSON(data []byte) error {
	s := storedIncident{plain: (*plain)(i)}
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("incident: %w", err)
	}
	i.Verdict = s.Verdict.verdict()
	i.Severity = diagnosis.Severity(s.Severity)
	i.Raises = convert(s.Raises, func(r storedRaise) Raise { return Raise{diagnosis.Severity(r.From), r.At} })
	return nil
}

// archived is an incident as the ring keeps it: without what only a living one
// needs, so that the ring stays small.
func (i *Incident) archived() Incident {
	c := i.clone()
	c.Verdict.Hosts, c.Verdict.Needs, c.Deliveries = nil, nil, nil
	c.Verdict.Evidence = slices.Clone(c.Verdict.Evidence[:min(len(c.Verdict.Evidence), 8)])
	return c
}
