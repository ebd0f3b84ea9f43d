package signals

import "time"

// Job is one training job as far as labels and relations tell.
type Job struct {
	ID string
	// Hosts are the hosts it runs on, sorted.
	Hosts []string
	// GPUs are its GPUs (KindGPU), sorted by host and device.
	GPUs []Entity
	// Ranks are its processes whose GPUs nobody tells (see [Entity.IsProcess]),
	// sorted by host and rank.
	Ranks []Entity
	// Name, User and Partition are for people and may be empty.
	Name, User, Partition string
	// FirstSeen is when its first sample was seen, LastSeen the newest.
	FirstSeen, LastSeen time.Time
	// Ended is set when the relation that placed it is gone, or all its GPUs
	// are free: its remaining series are history.
	Ended bool
	// Placed says that a scheduler's relation, not only labels of the
	// collectives, tells where it runs.
	Placed bool
}

// GroupKind says what a communicator is used for.
type GroupKind uint8

// The kinds of communicators. Only members of data-parallel groups, and of
// world groups without pipeline, have the same role.
const (
	GroupUnknown  GroupKind = iota
	GroupWorld              // all ranks of the job
	GroupData               // data parallel: members have the same role
	GroupTensor             // tensor or expert parallel inside an NVLink domain
	GroupPipeline           // point to point between stages
	GroupEmbed              // mixes first and last stage: roles differ by design
)

// Derivation says how the membership of a group is known.
type Derivation uint8

// How membership is known, weakest first.
const (
	DerivedNot     Derivation = iota // members may belong to several groups
	DerivedGuess                     // node by GPU arithmetic that fits
	DerivedName                      // the framework named the communicator
	DerivedLabel                     // a communicator id is on the series
	DerivedRankMap                   // a rank map was given
)

// Group is one communicator.
type Group struct {
	// ID is stable over ticks and restarts: job, communicator, distinguishing
	// part.
	ID             string
	Job            string
	Comm           string
	Kind           GroupKind
	NRanks, NNodes int32
	// Members are its GPUs, sorted by host and device.
	Members []Entity
	// Derived says how much Members can be trusted. Whole says that all
	// NRanks members are seen.
	Derived Derivation
	Whole   bool
	// Stage and Replica are set (plus one) when a rank map tells them.
	Stage, Replica int32
}

var groupKindNames = [...]string{"unknown", "world", "data", "tensor", "pipeline", "embedding"}

// String names the kind.
func (k GroupKind) String() string { return groupKindNames[k] }

var derivationNames = [...]string{"not derived", "arithmetic", "name", "label", "rank map"}

// String names the derivation.
func (d Derivation) String() string { return derivationNames[d] }
