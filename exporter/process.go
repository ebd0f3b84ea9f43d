package exporter

// Process is what one data file says: a training process and its communicators. Times are nanoseconds of the host's
// monotonic clock; whatever the process could not know is zero, or -1 for a rank.
type Process struct {
	PID         uint32 // in its own pid namespace
	PIDNS       uint64
	StartTicks  uint64 // field 22 of /proc/PID/stat
	ABI         uint32
	Mode        string
	Mask        uint32
	GlobalRank  int64
	LocalRank   int64
	JobID       string
	Hostname    string
	Release     string // of the plugin
	ForeignOps  uint64
	Unmatched   uint64
	Capped      uint32 // communicators refused by the plugin's cap
	Failed      uint32 // communicators refused for want of room
	Comms       []Comm
	Unreadable  int // slots that could not be read in this pass
	lastEventNs int64
}

// Comm is one communicator of a process.
type Comm struct {
	ID                    uint64
	NRanks, Rank, NNodes  uint32
	Name, GPU, PCI        string
	Open                  bool
	Followed              bool // operations are followed to their end (not in light mode)
	CompletedOnly         bool // nothing is known of operations before their end
	ClosedNs, LastEventNs int64
	APICalls, Unmatched   uint64
	Drops                 [dropKinds]uint64
	EnqueuedSeq           [funcs]uint64
	CompletedSeq          [funcs]uint64
	Keys                  []Key
	Inflight              []Inflight
	Peers                 []Peer
}

// Tracking says whether operations in flight mean anything.
func (c *Comm) Tracking() bool { return c.Open && c.Followed }

// Key holds the counters of one (operation, size class, algorithm, protocol, timing).
type Key struct {
	Op, Algo, Proto              string
	SizeExp                      int // the payload is at most 2^SizeExp bytes; overflowSizeClass: mixed
	CPU                          bool
	Enqueued, Started, Completed uint64
	Bytes                        uint64
	BusyNs, BandwidthKBSum       uint64
	Durations                    [durBuckets]uint64
	Bandwidths                   [bwBuckets]uint64
}

// Inflight sums up the operations of one kind that are in one state.
type Inflight struct {
	Op, State string
	Count     int
	OldestNs  int64 // when the oldest entered its stage: enqueued, or first channel started
	OldestSeq uint64
	P2P       bool // then OldestSeq is the peer's rank
}

// Peer holds what went to and came from one rank.
type Peer struct {
	Rank uint32
	Dir  [2]Direction // send, receive
}

// Direction is one half of a Peer.
type Direction struct {
	Ops, Bytes                uint64
	ProxyStarted, ProxyEnded  uint64
	WaitNs                    [4]uint64 // in the order of phaseNames
	Steps                     [4]int    // proxy steps in that phase now
	proxyInFlight, stepsKnown bool
}

// The states of an operation in flight.
const (
	stateQueued  = "queued"  // enqueued, no channel has started
	stateRunning = "running" // all channels have started
	statePartial = "partial" // some channels have started
)
