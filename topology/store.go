package topology

import (
	"reflect"
	"sync/atomic"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Options of a Store.
type Options struct {
	// Refresh is how often the series are looked at anew. 0 means 1 min.
	Refresh time.Duration
}

// Store keeps the newest fabric. A source that shows less than before does not
// take away what is known: gaps in telemetry are not changes of cables.
type Store struct {
	opts   Options
	next   time.Time
	seen   map[[2]string]ObservedNIC
	gpus   map[string][]string
	last   Observed
	fabric *Fabric
	hosts  atomic.Int64 // read by other goroutines
}

// NewStore returns an empty Store.
func NewStore(opts Options) *Store {
	if opts.Refresh <= 0 {
		opts.Refresh = time.Minute
	}
	return &Store{opts: opts, seen: map[[2]string]ObservedNIC{}, gpus: map[string][]string{}}
}

// Update looks at a snapshot, when it is time to, and returns the fabric.
func (st *Store) Update(s *signals.Snapshot) *Fabric {
	if s.Time.Before(st.next) && s.Time.After(st.next.Add(-2*st.opts.Refresh)) {
		return st.fabric
	}
	st.next = s.Time.Add(st.opts.Refresh)
	o := st.merge(Observe(s))
	if st.fabric == nil || !reflect.DeepEqual(o, st.last) {
		st.fabric = Build(Derive(o))
		st.last = o
		st.hosts.Store(int64(countHosts(o)))
	}
	return st.fabric
}

// Fabric returns the newest fabric without looking.
func (st *Store) Fabric() *Fabric { return st.fabric }

func (st *Store) merge(o Observed) Observed {
	for _, n := range o.NICs {
		k := [2]string{n.Host, n.Device}
		old, ok := st.seen[k]
		if ok {
			if n.Leaf == "" {
				n.Leaf, n.LeafPort = old.Leaf, old.LeafPort
			}
			if n.Model == "" {
				n.Model = old.Model
			}
			// The role of a card follows from what it could do, not from what
			// it negotiated last.
			n.Rate = max(n.Rate, old.Rate)
		}
		st.seen[k] = n
	}
	merged := Observed{Uplinks: o.Uplinks, Rack: o.Rack, Domain: o.Domain, Pod: o.Pod, Leaf: o.Leaf}
	for _, n := range st.seen {
		merged.NICs = append(merged.NICs, n)
	}
	sortNICs(merged.NICs)
	for h, g := range o.GPUs {
		if len(g) >= len(st.gpus[h]) {
			st.gpus[h] = g
		}
	}
	merged.GPUs = make(map[string][]string, len(st.gpus))
	for h, g := range st.gpus {
		merged.GPUs[h] = g
	}
	keep(merged.Rack, st.last.Rack)
	keep(merged.Domain, st.last.Domain)
	keep(merged.Pod, st.last.Pod)
	keep(merged.Leaf, st.last.Leaf)
	if len(merged.Uplinks) == 0 {
		merged.Uplinks = st.last.Uplinks
	}
	return merged
}

func countHosts(o Observed) int {
	hosts := map[string]bool{}
	for _, n := range o.NICs {
		hosts[n.Host] = true
	}
	for h := range o.GPUs {
		hosts[h] = true
	}
	return len(hosts)
}

func keep(now, before map[string]string) {
	for h, p := range before {
		if _, ok := now[h]; !ok {
			now[h] = p
		}
	}
}

// Hosts returns the number of hosts seen.
func (st *Store) Hosts() int { return int(st.hosts.Load()) }
