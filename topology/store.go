package topology

import (
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Options of a Store.
type Options struct {
	// Refresh is how often series and files are looked at anew. 0 means 1 min.
	Refresh time.Duration
	// Files to read besides the series, in the order of trust within a kind.
	Files []File
	// NoSeries keeps the uplink records and node labels of series out; which
	// adapters and GPUs there are is always read from them.
	NoSeries bool
	// Labels are node labels in files that name the site's places, by level:
	// leaf, spine, rack, domain, pod.
	Labels map[string][]string
	// Forget is how long a host that is seen no more is remembered. 0 means
	// 24 h: a drained host comes back with the cables it had.
	Forget time.Duration
	// MaxNICs bounds the NIC ports that are remembered, 0 means 2,000,000:
	// 100,000 hosts with 16 ports.
	MaxNICs int
}

// Observer hears what a Store does with its sources.
type Observer interface {
	// FileRead is called after each attempt to read a file anew: with what was
	// used and what was dropped, or with an error if what was read before is
	// kept.
	FileRead(FileReport)
	// FabricBuilt is called when the fabric changed.
	FabricBuilt(*Fabric)
}

// Store keeps the newest fabric. A source that shows less than before does not
// take away what is known: gaps in telemetry are not changes of cables.
type Store struct {
	opts     Options
	next     time.Time
	called   time.Time // the newest snapshot
	now      time.Time
	seen     map[nicKey]*seenNIC
	gpus     map[string]*seenGPUs
	most     map[string]int       // uplinks of switches
	trunks   map[string]time.Time // when the uplinks of a switch were seen last
	last     Observed
	files    *fileSet
	observer Observer
	fabric   atomic.Pointer[Fabric]
	hosts    atomic.Int64 // read by other goroutines
}

type seenNIC struct {
	nic  ObservedNIC
	at   time.Time
	link time.Time // when its leaf was seen to change
	from string    // its leaf before that
	leaf string    // as the series showed it last
	port string    // of the leaf
}

type seenGPUs struct {
	devices []string
	at      time.Time
}

// NewStore returns an empty Store. Nothing is read before the first Update.
func NewStore(opts Options) *Store {
	if opts.Refresh <= 0 {
		opts.Refresh = time.Minute
	}
	if opts.Forget <= 0 {
		opts.Forget = 24 * time.Hour
	}
	if opts.MaxNICs <= 0 {
		opts.MaxNICs = 2_000_000
	}
	return &Store{
		opts: opts, seen: map[nicKey]*seenNIC{}, gpus: map[string]*seenGPUs{}, most: map[string]int{}, trunks: map[string]time.Time{},
		files: newFileSet(opts.Files, opts.Labels),
	}
}

// Watch tells o from now on what is read, dropped and kept. It is called before
// the first Update.
func (st *Store) Watch(o Observer) { st.observer, st.files.observer = o, o }

// Update looks at a snapshot and at the files, when it is time to, and returns
// the fabric.
func (st *Store) Update(s *signals.Snapshot) *Fabric {
	every := s.Time.Sub(st.called)
	st.called = s.Time
	if s.Time.Before(st.next) && s.Time.After(st.next.Add(-3*st.opts.Refresh)) {
		return st.fabric.Load()
	}
	st.next, st.now = s.Time.Add(st.opts.Refresh), s.Time
	if every > 0 && every < st.opts.Refresh {
		// A snapshot has what was scraped since the one before. Looked at in step
		// with the scrapes, the same targets would be seen each time.
		st.next = st.next.Add(every)
	}
	o := Observe(s)
	if st.opts.NoSeries {
		o = Observed{NICs: o.NICs, GPUs: o.GPUs, Paths: o.Paths}
	}
	return st.renew(st.remember(o))
}

// Load reads the files without any series.
func (st *Store) Load(now time.Time) *Fabric {
	st.now = now
	return st.renew(Observed{})
}

// renew builds the fabric if anything is new.
func (st *Store) renew(o Observed) *Fabric {
	changed := st.files.reload()
	if old := st.fabric.Load(); old != nil && !changed && reflect.DeepEqual(o, st.last) {
		return old
	}
	st.last = o
	merged := merge(o, st.files.facts(), st.now)
	merged.Disagreements = sortDisagreements(append(merged.Disagreements, st.files.notes()...))
	merged.MostUplinks = st.countUplinks(merged.Uplinks)
	f := Build(Derive(merged))
	st.fabric.Store(f)
	st.hosts.Store(int64(max(countHosts(o), len(f.byHost))))
	if st.observer != nil {
		st.observer.FabricBuilt(f)
	}
	return f
}

// Fabric returns the newest fabric without looking. It may be called from other
// goroutines.
func (st *Store) Fabric() *Fabric { return st.fabric.Load() }

// Hosts returns the number of hosts seen. It may be called from other
// goroutines.
func (st *Store) Hosts() int { return int(st.hosts.Load()) }

// countUplinks remembers how many uplinks each switch had at most, for as many
// switches as there are.
func (st *Store) countUplinks(links []Uplink) map[string]int {
	now := map[string]int{}
	for _, u := range links {
		now[u.Switch]++
	}
	for sw, n := range now {
		st.most[sw] = max(st.most[sw], n)
	}
	const spare = 10_000 // switches that are gone
	if len(st.most) > len(now)+spare {
		st.most = now
	}
	return maps.Clone(st.most)
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

// keep holds parents that a snapshot does not show.
func keep(now, before map[string]string, alive func(host string) bool) {
	for h, p := range before {
		if _, ok := now[h]; !ok && alive(h) {
			now[h] = p
		}
	}
}

func sortedHosts(m map[string]*seenGPUs) []string { return slices.Sorted(maps.Keys(m)) }
