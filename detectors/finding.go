package detectors

import (
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Pattern is the shape of what is unusual.
type Pattern uint8

// The patterns.
const (
	PatternNone   Pattern = iota
	Shift                 // differs from its own past
	PeerOutlier           // differs from its peers
	Fact                  // a state that is wrong whatever the past says: port not active, hardware Xid
	Event                 // something happened: a counter of rare events moved, a restart
	Errors                // an error counter rises faster than the fabric's
	Congestion            // a congestion counter rises
	Late                  // waits least of its group
	SlowTransfer          // the least time of a group is high
	Stopped               // progress is zero
	Vanished              // its series are gone while siblings stay
	Missing               // an input is missing
	LeastReceive          // a stage waits least in all replicas
	RotatingLate          // late members change
	BaselineShape         // differs from other jobs of the same shape
	BelowPossible         // steadily slower than links or other jobs of the shape allow

	// Patterns is the number of patterns.
	Patterns int = iota
)

// Finding is one detector's statement about one entity and signal. A finding is
// reported at every tick while it holds, with hysteresis: it goes away at half
// the level at which it came.
type Finding struct {
	// Detector is the name of the detector, as in its docs page.
	Detector string
	Pattern  Pattern
	Signal   signals.ID
	Entity   signals.Entity
	// Group is the ID of the communicator concerned, Job the job; both may be
	// empty.
	Group string
	Job   string

	// Direction is the way in which the value is unusual.
	Direction signals.Direction
	// Value and Expected are in the signal's unit; Expected is NaN for facts
	// that have none.
	Value, Expected float64
	// Score is the distance in robust standard deviations, or NaN for facts.
	Score float64
	// Peers is the number of peers compared with, 0 for self comparison.
	Peers int
	// Windows is the number of independent observations in a row (dumps,
	// scrapes) that support the finding.
	Windows int
	// Since is the onset, as well as it can be dated.
	Since time.Time
	// Count is the number of events since Since, for Event.
	Count float64
	// Share is the part of the job's time that it costs, for BelowPossible.
	Share float64
	// Hosts are the hosts of Job where the job may be gone from the snapshot.
	Hosts []string
	// Alike are the other GPUs of the host that are late too, by at least half
	// as much, for Late.
	Alike []signals.Entity
	// Code names the fact: "port_not_active", "rate_below_peers", "xid_79".
	Code string
}

// Effect is the relative difference from what was expected: 0.2 is 20 % more.
func (f Finding) Effect() float64 { return f.Value/f.Expected - 1 }

// Report is what all detectors say at one tick.
type Report struct {
	Time     time.Time
	Findings []Finding
	// Progress has the state of each job and of its members.
	Progress []JobProgress
	// Blind lists what cannot be judged at this tick, and why. A verdict that
	// needs it is neither confirmed nor resolved.
	Blind []Blind
}

// Blind is something that cannot be judged.
type Blind struct {
	Detector string
	// Signal that is missing; signals.None if it is not one signal.
	Signal signals.ID
	// Host and Job limit the statement; both empty means everywhere.
	Host, Job string
	Reason    string
}

// MemberState is what one rank of a job does, by the state table of
// docs/faults/collective_stall.md.
type MemberState uint8

// Member states.
const (
	StateUnknown MemberState = iota
	StateTraining
	StateWaiting // spins in a collective: a victim
	StateIdle    // holds memory and does nothing: stuck outside NCCL
	StateGone    // the process is gone, memory is free
	StateLost    // the GPU's series vanished on a live host
	StateIO      // checkpoint or evaluation
	StateStopped // a signal or a debugger keeps the process from running
)

// String returns the state's word.
func (s MemberState) String() string {
	return [...]string{"unknown", "training", "waiting", "idle", "gone", "lost", "io", "stopped"}[s]
}

// Clock is one witness of a job's progress.
type Clock struct {
	Name    string // inspector, nic_bytes, tensor, power, steps, ras, plugin
	Running bool
	// Stopped is when it was last seen running, if it does not run.
	Stopped time.Time
}

// Phase is an excuse for a pause.
type Phase uint8

// Phases of a job.
const (
	PhaseNone Phase = iota
	PhaseInit
	PhaseCheckpoint
	PhaseLearnedPause
	PhaseEnded
	PhaseGap       // telemetry gap: nothing can be said
	PhaseSuspended // somebody stopped all its processes
	PhaseOutside   // no rank is in a collective
	// PhaseOneComputes is a rank that computes, such as one that evaluates, while
	// the others wait for it. It lasts no longer than that is seen.
	PhaseOneComputes
)

// JobProgress is the progress of one job.
type JobProgress struct {
	Job    string
	Clocks []Clock
	// Stalled is set when all clocks that are there have stopped.
	Stalled bool
	// Hung is set when the counted operations of all ranks have stopped with most
	// ranks in one, which slower clocks cannot know yet, so mostly sooner than
	// Stalled. Pauses look like that too: alone it is reason for nothing.
	Hung  bool
	Since time.Time
	// Seen is when the job was first seen to stand, by what was known then.
	Seen  time.Time
	Phase Phase
	// PhaseSince and PhaseUntil bound the excuse. PhaseUntil of an init is set
	// only where the job holds memory on several hosts, could be seen to
	// communicate, and never was.
	PhaseSince, PhaseUntil time.Time
	Members                []Member
	// Behind are the ranks that per-rank counters show behind the others;
	// Mismatch the ranks whose operation differs at the same sequence; Cycle
	// says that the waits-for graph has a cycle and nobody is missing. All
	// three need per-rank counters (Graph).
	// Steps are the network steps that wait now, the most first; Unreached the
	// ranks that RAS does not reach. Both are evidence and name nobody.
	Steps     []PeerWait
	Unreached []Unreached

	Graph  bool
	Behind []signals.Entity
	// BehindSince is when the last of them was first seen behind.
	BehindSince time.Time
	Mismatch    []signals.Entity
	Cycle       bool
}

// PeerWait is how many network steps of a rank wait for a peer, and in which
// phase, by the words of docs/exporter.md.
type PeerWait struct {
	From, To signals.Entity
	Phase    string
	Count    float64
}

// Unreached is a rank that RAS does not reach, with RAS's word for it.
type Unreached struct {
	Rank  signals.Entity
	State string // dead, unresponsive, missing, error
}

// Member is the state of one GPU of a job, or of a rank whose GPU nobody tells.
type Member struct {
	Entity signals.Entity
	State  MemberState
	Since  time.Time
	// Process is what became of its process, where the collwatch exporter tells.
	Process ProcessState
}
