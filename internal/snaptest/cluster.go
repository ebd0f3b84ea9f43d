package snaptest

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Start is the time of the first tick of every cluster.
func Start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// level is the state of one series.
type level struct {
	value  float64
	noise  float64 // relative sigma
	pulse  float64 // added to a counter at its next sample
	gone   bool
	entity signals.Entity
	id     signals.EntityID
	// pending is the time whose increase no sample has shown yet.
	pending time.Duration
	reset   bool
}

// Cluster produces snapshots. It is not safe for concurrent use.
type Cluster struct {
	Shape Shape
	Now   time.Time
	// Interval is the time between ticks, 15 s. GPU and communicator series
	// have a new sample every Slow, 30 s.
	Interval, Slow time.Duration
	Jobs           []*signals.Job
	Groups         []*signals.Group
	Gaps           []signals.Gap
	Warming        bool

	series   map[signals.ID]map[signals.Entity]*level
	order    map[signals.ID][]*level
	groupOf  map[signals.Entity]int32
	entities *signals.Entities
	rng      *rand.Rand
	ticks    int
}

// New returns a healthy cluster. The same seed gives the same noise.
func New(s Shape, seed uint64) *Cluster {
	c := &Cluster{
		Shape: s, Now: Start(), Interval: 15 * time.Second, Slow: 30 * time.Second,
		series: map[signals.ID]map[signals.Entity]*level{}, order: map[signals.ID][]*level{},
		groupOf:  map[signals.Entity]int32{},
		entities: signals.NewEntities(), rng: rand.New(rand.NewPCG(seed, 7)),
	}
	c.hosts()
	if s.Job != "" {
		c.AddJob(s.Job, s.Hosts, s.GPUs)
	}
	return c
}

// Set sets the level of a signal: the value of a gauge, the rate per second of
// a counter. Noise stays as it was, 0 for a series that is new.
func (c *Cluster) Set(id signals.ID, v float64, entities ...signals.Entity) {
	for _, e := range entities {
		l := c.at(id, e)
		l.value, l.gone = v, false
	}
}

// Noise sets the relative standard deviation of series.
func (c *Cluster) Noise(id signals.ID, sigma float64, entities ...signals.Entity) {
	for _, e := range entities {
		c.at(id, e).noise = sigma
	}
}

// Scale multiplies the level of every series of a signal for which keep is
// true; nil keeps all.
func (c *Cluster) Scale(id signals.ID, factor float64, keep func(signals.Entity) bool) {
	for _, l := range c.order[id] {
		if keep == nil || keep(l.entity) {
			l.value *= factor
		}
	}
}

// SetAll sets the level of every series of a signal for which keep is true.
func (c *Cluster) SetAll(id signals.ID, v float64, keep func(signals.Entity) bool) {
	for _, l := range c.order[id] {
		if keep == nil || keep(l.entity) {
			l.value = v
		}
	}
}

// Add adds n events to a counter, seen at its next sample.
func (c *Cluster) Add(id signals.ID, n float64, entities ...signals.Entity) {
	for _, e := range entities {
		c.at(id, e).pulse += n
	}
}

// Reset makes counters start anew: their next sample has no increase.
func (c *Cluster) Reset(id signals.ID, entities ...signals.Entity) {
	for _, e := range entities {
		c.at(id, e).reset = true
	}
}

// Gone removes series until they are set again: all of an entity with id None.
func (c *Cluster) Gone(id signals.ID, entities ...signals.Entity) { c.gone(id, true, entities) }

// Back brings series back that were Gone.
func (c *Cluster) Back(id signals.ID, entities ...signals.Entity) { c.gone(id, false, entities) }

func (c *Cluster) gone(id signals.ID, gone bool, entities []signals.Entity) {
	for sid, m := range c.series {
		if id != signals.None && sid != id {
			continue
		}
		for e, l := range m {
			for _, x := range entities {
				if e == x || e.Thing() == x || (x.Kind == signals.KindHost && e.Host == x.Host && e.Kind != signals.KindHost) {
					l.gone = gone
				}
			}
		}
	}
}

// Without removes whole signals, as an installation that never had them.
func (c *Cluster) Without(ids ...signals.ID) {
	for _, id := range ids {
		delete(c.series, id)
		delete(c.order, id)
	}
}

// Level returns the level of a series, NaN if there is none.
func (c *Cluster) Level(id signals.ID, e signals.Entity) float64 {
	if l := c.series[id][e]; l != nil && !l.gone {
		return l.value
	}
	return math.NaN()
}

// Series lists the entities of a signal in the order in which they were added.
func (c *Cluster) Series(id signals.ID) []signals.Entity {
	out := make([]signals.Entity, 0, len(c.order[id]))
	for _, l := range c.order[id] {
		out = append(out, l.entity)
	}
	return out
}

func (c *Cluster) at(id signals.ID, e signals.Entity) *level {
	m := c.series[id]
	if m == nil {
		m = map[signals.Entity]*level{}
		c.series[id] = m
	}
	l := m[e]
	if l == nil {
		l = &level{entity: e, id: c.entities.Intern(e)}
		m[e] = l
		c.order[id] = append(c.order[id], l)
	}
	return l
}

// Next moves the clock by one interval and returns the snapshot of that time.
func (c *Cluster) Next() *signals.Snapshot {
	c.Now = c.Now.Add(c.Interval)
	c.ticks++
	s := &signals.Snapshot{
		Time: c.Now, Entities: c.entities, Generation: 1, Groups: c.Groups,
		GroupOf: map[signals.EntityID]int32{}, Gaps: slices.Clone(c.Gaps), Warming: c.Warming,
	}
	for _, j := range c.Jobs {
		if !j.Ended {
			j.LastSeen = c.Now
		}
	}
	s.Jobs = c.Jobs
	for id := signals.ID(1); int(id) < signals.Count; id++ {
		if len(c.order[id]) > 0 {
			s.Frames[id] = c.frame(id)
		}
	}
	for e, g := range c.groupOf {
		s.GroupOf[c.entities.Intern(e)] = g
	}
	return s
}

// frame is every row that is new at this tick.
func (c *Cluster) frame(id signals.ID) *signals.Frame {
	f := &signals.Frame{Signal: id}
	if f.Err != nil {
		return f
	}
	due := !slow(id) || time.Duration(c.ticks)*c.Interval%c.Slow == 0
	for _, l := range c.order[id] {
		l.pending += c.Interval
		if l.gone {
			l.pending = 0
			continue
		}
		if !due {
			continue
		}
		v := l.value
		if l.noise > 0 {
			v *= max(0, 1+l.noise*c.rng.NormFloat64())
		}
		f.Entity = append(f.Entity, l.id)
		f.Stamp = append(f.Stamp, c.Now.UnixMilli())
		f.Dialect = append(f.Dialect, 0)
		if counter(id) {
			delta := v*l.pending.Seconds() + l.pulse
			if l.reset {
				delta = math.NaN()
			}
			f.Delta = append(f.Delta, delta)
			f.Value = append(f.Value, delta/l.pending.Seconds())
		} else {
			f.Value = append(f.Value, v)
			f.Min, f.Max = append(f.Min, v), append(f.Max, v)
		}
		l.pending, l.pulse, l.reset = 0, 0, false
	}
	return f
}

// slow says which signals come every 30 s.
func slow(id signals.ID) bool {
	return (id >= signals.CollExecTime && id <= signals.P2PBusBandwidth) || (id >= signals.GPUSMClock && id <= signals.NVLinkRate)
}

// counter says which signals are read from counters.
func counter(id signals.ID) bool {
	switch id {
	case signals.CollOps, signals.CollEnqueued, signals.CollStarted, signals.ProxyWait, signals.StepCount,
		signals.GPUThrottleTime, signals.GPURemappedRows, signals.GPUECC, signals.GPUPCIeReplays, signals.NVLinkErrors,
		signals.SwitchPortTx, signals.SwitchPortTransmitWait, signals.SwitchPortECNMarked, signals.SwitchPortDiscards,
		signals.SwitchPortErrors, signals.SwitchPortPauseRx, signals.SwitchPortPauseTx,
		signals.HostCPUPressure, signals.HostIOPressure, signals.HostMemPressure, signals.HostIRQPressure,
		signals.HostOOMKills, signals.HostNetRx, signals.HostNetTx, signals.HealthEvent:
		return true
	}
	return id >= signals.NICTx && id <= signals.NICDiscards
}
