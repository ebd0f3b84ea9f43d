package signals

import (
	"hash/maphash"
	"strings"

	"github.com/collwatch/collwatch/internal/dense"
)

// Kind says what sort of thing an entity is.
type Kind uint8

// The kinds of entities.
const (
	KindNone Kind = iota
	KindHost
	KindGPU
	KindNIC
	KindSwitchPort
	KindComm // a member of a communicator doing one kind of operation
	KindRank
	KindJob
)

// Entity is what a sample is about. It is comparable: equal entities are the
// same thing, whatever exporter named them. Fields that do not apply are zero.
type Entity struct {
	Kind Kind

	Host   string // lower case, without domain and port
	Device string // "GPU3" for a GPU, "mlx5_3" for a NIC, netdev, or the switch's name; for a process whose GPU nobody tells see [Entity.IsProcess]
	Port   string // port of a NIC or switch, NVLink number

	Job  string // job id; "" where no job is known
	Comm string // communicator id or name, for KindComm
	Op   string // canonical operation: AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Reduce, Send, Recv, …
	Size string // size class on a grid of quarter octaves, such as "128M" (117M to 140M), see Frame.Bytes
	Algo string // lower case, such as "ring_simple"

	Version string // version of the plugin that measured
	NRanks  int32  // size of the communicator, 0 unknown
	NNodes  int32  // its NVLink domains, 0 unknown
	Rank    int32  // rank in the job or communicator plus one, 0 unknown

	Peer   string // the other end: peer rank, host or switch
	Detail string // sub-dimension: cause, state, kind of error, Xid code
}

// Thing is the entity without what varies inside it: the host, GPU, NIC or
// switch port a sample belongs to.
func (e Entity) Thing() Entity {
	switch e.Kind {
	case KindComm, KindRank:
		if e.IsProcess() {
			t := Entity{Kind: KindRank, Job: e.Job, Host: e.Host, Device: e.Device}
			if e.IsMember() {
				t.Comm = e.Comm
			}
			return t
		}
		if e.Device != "" {
			return Entity{Kind: KindGPU, Host: e.Host, Device: e.Device}
		}
		return Entity{Kind: KindHost, Host: e.Host}
	case KindGPU, KindNIC, KindSwitchPort:
		return Entity{Kind: e.Kind, Host: e.Host, Device: e.Device, Port: e.Port}
	case KindHost:
		return Entity{Kind: KindHost, Host: e.Host}
	case KindJob:
		return Entity{Kind: KindJob, Job: e.Job}
	default:
		return e
	}
}

// The names of processes whose GPU nobody tells: by the rank in the job, else by
// the pid, else by the rank in the one communicator that is known.
const (
	rankPrefix   = "rank"
	procPrefix   = "proc"
	memberPrefix = "member"
	pidPrefix    = "pid" // of a process that the Inspector's series know by its pid
)

// IsProcess says that e is about a process whose GPU nobody tells: Device is
// "rank12" by its rank in the job, "proc4711" or "pid4711" by its pid, or "member3" by its
// rank in a communicator. The process of such an entity is found by host, job
// and that name; a member is one of Entity.Comm only, because a process has
// another rank in each communicator.
func (e Entity) IsProcess() bool {
	if e.Kind != KindComm && e.Kind != KindRank {
		return false
	}
	for _, prefix := range [...]string{rankPrefix, procPrefix, memberPrefix, pidPrefix} {
		if n, ok := strings.CutPrefix(e.Device, prefix); ok && digitsOnly(n) {
			return true
		}
	}
	return false
}

// IsMember says that e is about a process of which nothing is known but its
// rank in one communicator.
func (e Entity) IsMember() bool {
	return e.IsProcess() && strings.HasPrefix(e.Device, memberPrefix)
}

// Regime is the key within which baselines of a communicator member may be
// compared with its own past.
func (e Entity) Regime() Entity {
	e.Rank, e.Peer, e.Detail = 0, "", ""
	return e
}

// String names the entity for people: "gpu-007/mlx5_3".
func (e Entity) String() string {
	var parts []string
	for _, s := range []string{e.Host, e.Device} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if e.Port != "" && (e.Kind == KindSwitchPort || (e.Kind == KindNIC && e.Port != "1")) {
		parts = append(parts, e.Port)
	}
	if len(parts) == 0 && e.Job != "" {
		return "job " + e.Job
	}
	return strings.Join(parts, "/")
}

// EntityID is the dense number of an Entity in one Entities table.
type EntityID uint32

// Entities interns entities, so that frames are columns of small numbers and
// detectors keep their state in slices. It is owned by the goroutine of the
// tick and is not safe for concurrent use.
type Entities struct {
	list  []Entity
	index dense.Index
	// seed makes sure that nobody who chooses labels can choose collisions.
	seed maphash.Seed
}

// NewEntities returns an empty table.
func NewEntities() *Entities { return &Entities{seed: maphash.MakeSeed()} }

// Intern returns the number of e, adding it if it is new.
func (t *Entities) Intern(e Entity) EntityID {
	h := maphash.Comparable(t.seed, e)
	if i, ok := t.find(h, &e); ok {
		return i
	}
	id := EntityID(len(t.list))
	t.list = append(t.list, e)
	t.index.Add(h, uint32(id), func(i uint32) uint64 { return maphash.Comparable(t.seed, t.list[i]) })
	return id
}

// Find returns the number of e without adding it.
func (t *Entities) Find(e Entity) (EntityID, bool) { return t.find(maphash.Comparable(t.seed, e), &e) }

func (t *Entities) find(hash uint64, e *Entity) (EntityID, bool) {
	i, ok := t.index.Find(hash, func(i uint32) bool { return t.list[i] == *e })
	return EntityID(i), ok
}

// Of returns the entity with number id.
func (t *Entities) Of(id EntityID) Entity { return t.list[id] }

// Len is the number of entities; all numbers are below it.
func (t *Entities) Len() int { return len(t.list) }
