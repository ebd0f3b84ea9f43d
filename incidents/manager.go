package incidents

import (
	"slices"
	"sync"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// Options are the settings of a Manager. The zero value works.
type Options struct {
	// Interval is the time between two evaluations. A longer pause counts as
	// two intervals at most. 0 is 15 s.
	Interval time.Duration
	// Policies are the hold times by class; nil is Policies(). A class that
	// is missing has DefaultPolicy.
	Policies map[diagnosis.Class]Policy
	// External are the external labels, cluster among them. They are fixed in
	// an incident when it opens.
	External map[string]string
	// Shadow are the classes that are evaluated and recorded but not sent.
	Shadow map[diagnosis.Class]bool
	// Maintenance returns why a host, or a device of it, must not alert at a
	// time (drained, rebooting, known bad), or "". device may be empty. Nil
	// means nothing is. *MaintenanceList has such a method.
	Maintenance func(host, device string, at time.Time) string
	// FleetSize returns the number of hosts watched, 0 if unknown. Above
	// BreakerShare (0 is 0.25) of them suspect at once, cordon advice is
	// withheld: so many hosts seldom fail alone, and cordoning them all does
	// more harm than the fault.
	FleetSize    func() int
	BreakerShare float64
	// Cap bounds the number of announced incidents; what is above it is
	// summarised. 0 is 100.
	Cap int
	// FoldAbove is the number of new verdicts of one class at one tick, of one
	// switch or job, above which they become one incident. 0 is 20.
	FoldAbove int
	// LatchFlaps is the number of returns that latches an incident whose class
	// does not latch by itself, LatchFor how long. 0 is 3 and 1 h.
	LatchFlaps int
	LatchFor   time.Duration
	// HeldLimit ends an incident as data_gone when its own host or job could
	// not be judged for that long. 0 is 24 h. A general lack of data never
	// counts.
	HeldLimit time.Duration
	// Warmed is how much history the diagnosis has seen at its first evaluation.
	// An incident that began so long before a restart that this history need not
	// show its beginning is held until it is seen again: what is not seen then
	// proves nothing. Less than 40 min holds none.
	Warmed time.Duration
	// History is the number of ended incidents kept. 0 is 1000.
	History int
	// HistoryWindow is how far back repeat offenders are counted, RepeatOffender
	// the number of earlier incidents that raises the severity of the next. 0
	// is 7 days and 3: two faults in a week still happen to a component by
	// chance on a large cluster, more seldom do (lemon nodes, "Revisiting
	// Reliability in Large-Scale Machine Learning Research Clusters", 2024).
	HistoryWindow  time.Duration
	RepeatOffender int
	// CoolDown is how long after a resolve a new incident of the same component
	// is held back, unless it is worse. 0 is none.
	CoolDown time.Duration
}

func (o Options) withDefaults() Options {
	setIfZero(&o.Interval, 15*time.Second)
	setIfZero(&o.BreakerShare, 0.25)
	setIfZero(&o.Cap, 100)
	setIfZero(&o.FoldAbove, 20)
	setIfZero(&o.LatchFlaps, 3)
	setIfZero(&o.LatchFor, defaultLatch)
	setIfZero(&o.HeldLimit, 24*time.Hour)
	setIfZero(&o.History, 1000)
	setIfZero(&o.HistoryWindow, 7*24*time.Hour)
	setIfZero(&o.RepeatOffender, 3)
	if o.Policies == nil {
		o.Policies = Policies()
	}
	if o.Maintenance == nil {
		o.Maintenance = func(string, string, time.Time) string { return "" }
	}
	if o.FleetSize == nil {
		o.FleetSize = func() int { return 0 }
	}
	return o
}

func setIfZero[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Manager gives verdicts their life. Apply is called by the tick; all other
// methods may be called from any goroutine.
type Manager struct {
	lineage lineage

	mu   sync.Mutex
	opts Options
	last time.Time // of the newest tick
	// restored is set until the first tick after a restore is over: the
	// detectors may not have seen their inputs yet.
	restored bool

	// aged is for how long evaluations have gone by since an incident in ended
	// was over.
	aged map[string]time.Duration

	live    map[string]*Incident // pending, open and latched, by key
	byClass map[diagnosis.Class]map[*Incident]struct{}
	ended   map[string]*Incident // resolved lately, by ID
	ring    []Incident           // ended longer ago, oldest first
	past    *offenders
	// announced is the number of live incidents that receivers know.
	announced int
	counts    counts
}

// counts are the totals behind the metrics.
type counts struct {
	Truncated, Flaps, Held uint64
}

// NewManager returns a manager without incidents.
func NewManager(o Options) *Manager {
	o = o.withDefaults()
	return &Manager{
		opts: o, lineage: newLineage(),
		live:    map[string]*Incident{},
		byClass: map[diagnosis.Class]map[*Incident]struct{}{},
		ended:   map[string]*Incident{},
		past:    newOffenders(o.HistoryWindow),
	}
}

// Configure replaces the options and keeps the incidents: a reload of the
// configuration. Incidents of a class that known rejects end as
// configuration_changed at the next tick; nil accepts all.
func (m *Manager) Configure(o Options, known func(diagnosis.Class) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opts = o.withDefaults()
	m.past.window = m.opts.HistoryWindow
	for _, inc := range m.live {
		inc.ResolveReason = "" // of a reload before the last tick
		if known != nil && inc.Verdict.Class != Storm && !known(inc.Verdict.Class) {
			inc.ResolveReason = ConfigChanged
		}
	}
}

func (m *Manager) policy(c diagnosis.Class) Policy {
	if p, ok := m.opts.Policies[c]; ok {
		return p
	}
	return DefaultPolicy()
}

func (m *Manager) add(inc *Incident) {
	m.live[inc.Key] = inc
	class := inc.Verdict.Class
	if m.byClass[class] == nil {
		m.byClass[class] = map[*Incident]struct{}{}
	}
	m.byClass[class][inc] = struct{}{}
}

func (m *Manager) remove(inc *Incident) {
	delete(m.live, inc.Key)
	delete(m.byClass[inc.Verdict.Class], inc)
}

// Live returns copies of the incidents that are pending, open or latched, in
// the order of their IDs.
func (m *Manager) Live() []Incident {
	m.mu.Lock()
	defer m.mu.Unlock()
	return clones(m.live)
}

// Ended returns copies of the incidents that resolved so lately that receivers
// may still have to be told, in the order of their IDs.
func (m *Manager) Ended() []Incident {
	m.mu.Lock()
	defer m.mu.Unlock()
	return clones(m.ended)
}

// Past returns copies of the incidents that ended longer ago, oldest first.
func (m *Manager) Past() []Incident {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Incident, len(m.ring))
	for i := range m.ring {
		out[i] = m.ring[i].clone()
	}
	return out
}

// Find returns a copy of an incident by its ID.
func (m *Manager) Find(id string) (Incident, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if inc := m.find(id); inc != nil {
		return inc.clone(), true
	}
	return Incident{}, false
}

func (m *Manager) find(id string) *Incident {
	if inc := m.ended[id]; inc != nil {
		return inc
	}
	for _, inc := range m.live {
		if inc.ID == id {
			return inc
		}
	}
	for i := range m.ring {
		if m.ring[i].ID == id {
			return &m.ring[i]
		}
	}
	return nil
}

func clones(from map[string]*Incident) []Incident {
	out := make([]Incident, 0, len(from))
	for _, inc := range from {
		out = append(out, inc.clone())
	}
	slices.SortFunc(out, func(a, b Incident) int { return compareIncidents(&a, &b) })
	return out
}
