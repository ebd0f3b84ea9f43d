package compare

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Options say what a Collector takes.
type Options struct {
	// Source is put into the record.
	Source string
	// Job restricts it to one job; "" takes all.
	Job string
	// Dump is the dump period of the exporter's windows, 30 s if zero.
	Dump time.Duration
	// Window is the least length of a window in which the members of a
	// communicator are compared, two dumps if zero: they dump on phases of their
	// own, and two dumps let the phases cancel.
	Window time.Duration
	// Skip is how many dumps at the start of a job do not count, 10 if zero, none
	// if negative: connections are set up, memory is allocated, kernels are
	// compiled.
	Skip int
	// From is where reading begins. A job whose first value comes more than two
	// dumps later started inside, and only then its start is left out.
	From time.Time
	// Starts says that the job is known to start where reading begins.
	Starts bool
	// Each, if not nil, sees every window of every communicator. The window is
	// valid during the call.
	Each func(*Window)
}

// Collector turns the snapshots of one time span into a Record. It is used by
// one goroutine.
type Collector struct {
	o Options

	generation uint64
	groups     *signals.Group // the first one when members were placed
	placed     int            // number of groups then
	refs       map[signals.EntityID]*member
	rows       map[Key]*row
	channels   map[channelKey]*channel
	starts     map[string]int64 // ms: first value of a job's collectives
	jobs       map[string]bool

	run               [numMetrics]cells
	gpus, hosts       map[signals.Entity]bool
	ticks, incomplete int
	first, last       int64 // ms, of values that counted
	window            int64 // ms
}

// NewCollector returns an empty collector.
func NewCollector(o Options) *Collector {
	if o.Dump <= 0 {
		o.Dump = 30 * time.Second
	}
	o.Window = max(o.Window, 2*o.Dump)
	if o.Skip == 0 {
		o.Skip = 10
	}
	return &Collector{
		o: o, window: o.Window.Milliseconds(), refs: map[signals.EntityID]*member{}, rows: map[Key]*row{},
		channels: map[channelKey]*channel{}, starts: map[string]int64{}, jobs: map[string]bool{},
	}
}

// Signals are the signals that a Collector looks at; a Reader may leave out all
// others.
func Signals() []signals.ID {
	return []signals.ID{
		signals.CollExecTime, signals.CollBusBandwidth, signals.CollTransferTime, signals.P2PExecTime, signals.P2PBusBandwidth,
		signals.CollOps, signals.CollBytes, signals.CollBusy, signals.InspectorAge, signals.StepTime,
		signals.GPUSMActive, signals.GPUTensorActive, signals.GPUDRAMActive, signals.HostCPUPressure,
		signals.JobOnNode, signals.JobState, signals.TargetUp, signals.HostParent,
	}
}

// Observe takes one snapshot. Snapshots come in the order of time.
func (c *Collector) Observe(s *signals.Snapshot) {
	c.ticks++
	now := s.Time.UnixMilli()
	c.follow(s)
	for _, id := range []signals.ID{signals.CollExecTime, signals.P2PExecTime, signals.CollBusBandwidth, signals.P2PBusBandwidth, signals.CollTransferTime} {
		c.take(s, s.Frames[id], id)
	}
	if f := s.Frames[signals.CollExecTime]; f != nil && f.Err != nil {
		c.incomplete++
	}
	c.share(s)
	c.context(s)
	for _, ch := range c.channels {
		if ch.ready(now, c.window) {
			ch.close(now)
		}
	}
}

// follow forgets where members were placed when entities were numbered anew or
// groups were worked out anew.
func (c *Collector) follow(s *signals.Snapshot) {
	var first *signals.Group
	if len(s.Groups) > 0 {
		first = s.Groups[0]
	}
	if s.Generation != c.generation || first != c.groups || len(s.Groups) != c.placed {
		c.generation, c.groups, c.placed = s.Generation, first, len(s.Groups)
		clear(c.refs)
	}
	for _, j := range s.Jobs {
		if (c.o.Job == "" || j.ID == c.o.Job) && !j.Ended {
			c.jobs[j.ID] = true
		}
	}
}

// take adds the new dumps of a frame.
func (c *Collector) take(s *signals.Snapshot, f *signals.Frame, id signals.ID) {
	for i := range f.Len() {
		v := f.Value[i]
		if !(v > 0) || math.IsInf(v, 1) {
			continue
		}
		m := c.member(s, f.Entity[i])
		if m == nil {
			continue
		}
		if len(f.Dump) > i && f.Dump[i] != 0 {
			if f.Dump[i] == m.dump[kindOf(id)] {
				continue // the same file, read again
			}
			m.dump[kindOf(id)] = f.Dump[i]
		}
		if c.early(m.job, f.Stamp[i]) {
			continue
		}
		if c.first == 0 {
			c.first = f.Stamp[i]
		}
		c.last = max(c.last, f.Stamp[i])
		bytes := 0.0
		if len(f.Bytes) > i {
			bytes = f.Bytes[i]
		}
		m.add(id, v, bytes, s.Time.UnixMilli())
	}
}

// early says that a value belongs to the start of its job.
func (c *Collector) early(job string, at int64) bool {
	start, ok := c.starts[job]
	if !ok {
		start = at
		if !c.o.Starts && at-c.o.From.UnixMilli() <= 2*c.o.Dump.Milliseconds() {
			start = 0 // it ran before
		}
		c.starts[job] = start
	}
	return start != 0 && at < start+int64(max(c.o.Skip, 0))*c.o.Dump.Milliseconds()
}

// member finds where a row of a frame belongs; nil if it is none of ours.
func (c *Collector) member(s *signals.Snapshot, id signals.EntityID) *member {
	m, ok := c.refs[id]
	if ok {
		return m
	}
	e := s.Entities.Of(id)
	if e.Op != "" && (c.o.Job == "" || e.Job == c.o.Job) {
		m = c.place(s, id, e)
	}
	c.refs[id] = m
	return m
}

func (c *Collector) place(s *signals.Snapshot, id signals.EntityID, e signals.Entity) *member {
	key := keyOf(e)
	r := c.rows[key]
	if r == nil {
		r = &row{Key: key, width: c.window, groups: map[string]int32{}, things: map[signals.Entity]bool{}}
		c.rows[key] = r
	}
	ck := channelKey{group: e.Job + "/" + e.Comm, Key: key}
	known := false
	if gi, ok := s.GroupOf[id]; ok && int(gi) < len(s.Groups) && s.Groups[gi].Derived != signals.DerivedNot {
		g := s.Groups[gi]
		ck.group, known = g.ID, true
		r.groups[g.ID] = g.NRanks
	}
	ch := c.channels[ck]
	if ch == nil {
		ch = &channel{each: c.o.Each, row: r, known: known, op: e.Op, index: map[signals.Entity]int{}, lowest: -1}
		c.channels[ck] = ch
	}
	thing := e.Thing()
	if thing.Device == "" {
		thing.Rank = e.Rank
	}
	r.things[thing] = true
	return ch.member(thing, e.Job)
}

// Record ends the collection.
func (c *Collector) Record() *Record {
	rec := &Record{Source: single(c.o.Source), Ticks: c.ticks, Incomplete: c.incomplete}
	if c.first != 0 {
		rec.From, rec.To = time.UnixMilli(c.first).UTC(), time.UnixMilli(c.last).UTC()
	}
	for id := range c.jobs {
		rec.Jobs = append(rec.Jobs, id)
	}
	slices.Sort(rec.Jobs)
	hosts := map[string]bool{}
	for _, r := range c.rows {
		for thing := range r.things {
			hosts[thing.Host] = true
		}
		if out := r.record(); len(out.Series) > 0 {
			rec.Rows = append(rec.Rows, out)
		}
	}
	rec.Hosts = slices.Sorted(maps.Keys(hosts))
	slices.SortFunc(rec.Rows, func(a, b Row) int { return compareKeys(a.Key, b.Key) })
	for m := firstOfRun; m < numMetrics; m++ {
		if xs := c.run[m].done(); len(xs) > 0 {
			rec.Run = append(rec.Run, Series{m, reduce(xs)})
		}
	}
	return rec
}
