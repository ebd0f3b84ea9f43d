package incidents

import (
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// State is where an incident is in its life.
type State uint8

// The states.
const (
	Pending  State = iota // seen, not yet long enough
	Open                  // told
	Latched               // quiet now, but of a kind that comes back (flaps)
	Resolved              // over
)

// String returns the state's word.
func (s State) String() string { return [...]string{"pending", "open", "latched", "resolved"}[s] }

// ResolveReason says why an incident ended.
type ResolveReason string

// Why an incident ended. Inconclusive means that it stopped being reported
// without proof of repair.
const (
	Recovered     ResolveReason = "recovered"
	JobEnded      ResolveReason = "job_ended"
	DataGone      ResolveReason = "data_gone"
	Superseded    ResolveReason = "superseded"
	ConfigChanged ResolveReason = "configuration_changed"
)

// Incident is one episode of one fault.
type Incident struct {
	// ID is a ULID, stable over restarts.
	ID  string `json:"id"`
	Key string `json:"key"`

	State   State             `json:"state"`
	Verdict diagnosis.Verdict `json:"verdict"` // the newest that confirmed it
	// Severity is the highest so far: it may rise, never fall.
	Severity diagnosis.Severity `json:"severity"`

	// StartedAt is the onset of the fault, ActiveAt the first verdict, FiredAt
	// when it opened (startsAt on the wire), LastSeen the newest confirming
	// verdict, ResolvedAt its end.
	StartedAt  time.Time `json:"started_at"`
	ActiveAt   time.Time `json:"active_at"`
	FiredAt    time.Time `json:"fired_at"`
	LastSeen   time.Time `json:"last_seen"`
	ResolvedAt time.Time `json:"resolved_at"`

	ResolveReason ResolveReason `json:"resolve_reason,omitempty"`
	// RecoveryText says how recovery was measured.
	RecoveryText string `json:"recovery_text,omitempty"`

	// Seen and Clear count evaluations in a row with and without a
	// confirming verdict.
	Seen  int `json:"seen"`
	Clear int `json:"clear"`
	// Held is set while the inputs do not allow a judgement.
	Held string `json:"held,omitempty"`
	// Version rises with each change that a receiver should see.
	Version uint64 `json:"version"`
}

// EventKind is the kind of a change.
type EventKind string

// The kinds of events.
const (
	EventOpen    EventKind = "open"
	EventUpdate  EventKind = "update"
	EventResolve EventKind = "resolve"
)

// Event is a change of an incident that receivers and replays see.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Incident Incident
	// Was is the severity before, for an update that raised it: the alert
	// under it must be resolved in the same request.
	Was diagnosis.Severity
}
