package incidents

import (
	"encoding/json"
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
	// SeenFor and ClearFor are the evaluated time of Seen and Clear. They grow
	// by ticks, so that a time without ticks (downtime) counts for nothing.
	SeenFor  time.Duration `json:"seen_for"`
	ClearFor time.Duration `json:"clear_for"`
	// Held is set while the inputs do not allow a judgement; HeldTicks counts
	// such evaluations over the whole life, HeldFor the time of the present
	// hold as far as its cause is local (one host or job).
	Held      string        `json:"held,omitempty"`
	HeldTicks int           `json:"held_ticks,omitempty"`
	HeldFor   time.Duration `json:"held_for,omitempty"`
	// Carried is set while nothing has shown it since a restart.
	Carried bool `json:"carried,omitempty"`
	// Version rises with each change that a receiver should see.
	Version uint64 `json:"version"`

	// Labels identify the alert. They are fixed when the incident opens and
	// hold everything but the severity.
	Labels map[string]string `json:"labels,omitempty"`
	// Announced is set once the open event was given out: only then may an
	// update or a resolve follow.
	Announced bool `json:"announced,omitempty"`
	// Noted is set once an open event was given out for an incident in shadow
	// or only recorded: logs and replays show its end as well. Receivers go by
	// Announced.
	Noted bool `json:"noted,omitempty"`
	// Withheld says why the incident is kept from receivers: shadow,
	// maintenance, cool_down, storm, recorded; empty if it is not.
	Withheld Withheld `json:"withheld,omitempty"`
	// WithheldText explains it to people.
	WithheldText string `json:"withheld_text,omitempty"`

	// Flaps counts how often it came back within its reopen window.
	Flaps int `json:"flaps,omitempty"`
	// JobEnded is set when its job ended while it was there.
	JobEnded bool `json:"job_ended,omitempty"`
	// JobEndedAt is when that was noticed: a fault seen long afterwards did
	// not end with the job.
	JobEndedAt time.Time `json:"job_ended_at"`
	// Folded is set for an incident that stands for many of its class.
	Folded bool `json:"folded,omitempty"`
	// Cleared is set when a person ended a latched incident by hand.
	Cleared string `json:"cleared,omitempty"`
	// Raises are the severities it was announced with before, oldest first.
	Raises []Raise `json:"raises,omitempty"`
	// Jobs are the jobs harmed so far, the first is that of the labels.
	Jobs []string `json:"jobs,omitempty"`
	// Reasons are the reasons seen, oldest first.
	Reasons []string `json:"reasons,omitempty"`
	// Consequences are incidents and verdicts that joined this one.
	Consequences []string `json:"consequences,omitempty"`
	// Repeats is the number of earlier incidents of the same component within
	// the window of the history.
	Repeats int `json:"repeats,omitempty"`
	// AdviceWithheld explains why no cordon is recommended, if so.
	AdviceWithheld string `json:"advice_withheld,omitempty"`

	// Thread is the ID of the first incident of a chain of superseding ones:
	// receivers that edit messages keep one message per thread.
	Thread string `json:"thread"`
	// Supersedes and SupersededBy are the neighbours in the chain.
	Supersedes   []string `json:"supersedes,omitempty"`
	SupersededBy string   `json:"superseded_by,omitempty"`

	// Deliveries remembers what each receiver was told. The records are
	// written and read by the packages that deliver; nobody else looks inside.
	Deliveries map[string]json.RawMessage `json:"deliveries,omitempty"`
}

// Raise is a rise of the severity after the incident was announced: the alert
// under From ended at At.
type Raise struct {
	From diagnosis.Severity `json:"from"`
	At   time.Time          `json:"at"`
}

// Withheld is why an incident is evaluated and recorded but not sent.
type Withheld string

// Reasons to withhold.
const (
	NotWithheld   Withheld = ""
	InShadow      Withheld = "shadow"
	InMaintenance Withheld = "maintenance"
	InStorm       Withheld = "storm"
	InCoolDown    Withheld = "cool_down"
	OnlyRecorded  Withheld = "recorded"
)

// Active says that the incident is going on for receivers.
func (i *Incident) Active() bool { return i.State == Open || i.State == Latched }

// Inconclusive says that the incident ended without proof of repair.
func (i *Incident) Inconclusive() bool {
	return i.State == Resolved && (i.ResolveReason == DataGone || i.ResolveReason == ConfigChanged)
}

// EventKind is the kind of a change.
type EventKind string

// The kinds of events.
const (
	EventOpen    EventKind = "open"
	EventUpdate  EventKind = "update"
	EventResolve EventKind = "resolve"
)

// Event is a change of an incident for logs and replays. Of an incident in
// shadow, or only recorded, its opening and its end are events too, with
// Incident.Withheld set: whoever tries a class out wants to see what it would
// say. They are never delivered, see Incident.Announced.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Incident Incident
	// Was is the severity before, for an update that raised it: the alert
	// under it must be resolved in the same request. For any other event it
	// equals Incident.Severity.
	Was diagnosis.Severity
	// Why says what changed, in words.
	Why string
}
