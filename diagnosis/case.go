package diagnosis

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// Case is one tick as a family sees it: what was found, indexed, and who is
// connected with whom. It is valid during one call of Diagnose.
type Case struct {
	Now      time.Time
	Snapshot *signals.Snapshot
	Report   *detectors.Report
	// Fabric may be nil: nothing is known then.
	Fabric *topology.Fabric

	opts   *Options
	memory *memory

	byThing map[signals.Entity][]*detectors.Finding
	byHost  map[string][]*detectors.Finding
	byCode  map[string][]*detectors.Finding
	byShape [detectors.Patterns][]*detectors.Finding
	byGroup map[string][]*detectors.Finding
	byJob   map[string][]*detectors.Finding

	groups map[string]*signals.Group
	jobs   map[string]*signals.Job
	gpuJob map[[2]string][]*signals.Job // by host and device
	onHost map[string][]*signals.Job
	votes  map[string]*Vote
	// nicRates is the traffic of NICs by host, nil until somebody asks.
	nicRates map[string]map[signals.Entity]float64
}

func newCase(s *signals.Snapshot, r *detectors.Report, f *topology.Fabric, o *Options, m *memory) *Case {
	c := &Case{
		Now: s.Time, Snapshot: s, Report: r, Fabric: f, opts: o, memory: m,
		byThing: map[signals.Entity][]*detectors.Finding{}, byHost: map[string][]*detectors.Finding{},
		byCode: map[string][]*detectors.Finding{}, byGroup: map[string][]*detectors.Finding{},
		byJob: map[string][]*detectors.Finding{}, groups: map[string]*signals.Group{},
		jobs: map[string]*signals.Job{}, gpuJob: map[[2]string][]*signals.Job{},
		onHost: map[string][]*signals.Job{}, votes: map[string]*Vote{},
	}
	c.learnAliases()
	for i := range r.Findings {
		c.index(&r.Findings[i])
	}
	for _, g := range s.Groups {
		c.groups[g.ID] = g
	}
	for _, j := range s.Jobs {
		c.jobs[j.ID] = j
		if j.Ended {
			continue
		}
		// Nearly everything has one job: its list is shared, and grows by a copy.
		alone := []*signals.Job{j}
		for _, g := range j.GPUs {
			k := [2]string{g.Host, g.Device}
			c.gpuJob[k] = join(c.gpuJob[k], alone)
		}
		for _, h := range j.Hosts {
			c.onHost[h] = join(c.onHost[h], alone)
		}
	}
	return c
}

func join(jobs, alone []*signals.Job) []*signals.Job {
	if len(jobs) == 0 {
		return alone
	}
	return append(slices.Clip(jobs), alone...)
}

func (c *Case) index(f *detectors.Finding) {
	thing := c.thing(f.Entity)
	c.byThing[thing] = append(c.byThing[thing], f)
	if f.Entity.Host != "" {
		c.byHost[f.Entity.Host] = append(c.byHost[f.Entity.Host], f)
	}
	if f.Code != "" {
		c.byCode[f.Code] = append(c.byCode[f.Code], f)
	}
	if int(f.Pattern) < len(c.byShape) {
		c.byShape[f.Pattern] = append(c.byShape[f.Pattern], f)
	}
	if f.Group != "" {
		c.byGroup[f.Group] = append(c.byGroup[f.Group], f)
	}
	if f.Job != "" {
		c.byJob[f.Job] = append(c.byJob[f.Job], f)
	}
}

// WatchedSince is since when a job is watched: since it was seen first, but not
// before the history that was read at the start. What seems to have begun just
// then may be older than both.
func (c *Case) WatchedSince(j *signals.Job) time.Time {
	if j.FirstSeen.Before(c.memory.began) {
		return c.memory.began
	}
	return j.FirstSeen
}

// On returns the findings about one thing: a host, GPU, NIC or switch port.
func (c *Case) On(thing signals.Entity) []*detectors.Finding { return c.byThing[c.thing(thing)] }

// thing is the device an entity belongs to: the ports of a card and the links of
// a GPU are one device, because they are repaired together, and a card has one
// name, whatever an exporter calls it.
func (c *Case) thing(e signals.Entity) signals.Entity {
	t := e.Thing()
	if t.Kind == signals.KindNIC || t.Kind == signals.KindGPU {
		t.Port = ""
	}
	if card, ok := c.memory.aliases.of[t]; ok {
		return card
	}
	return t
}

// OnHost returns the findings about a host and everything in it.
func (c *Case) OnHost(host string) []*detectors.Finding { return c.byHost[host] }

// Code returns the findings with one code.
func (c *Case) Code(code string) []*detectors.Finding { return c.byCode[code] }

// Pattern returns the findings of one pattern.
func (c *Case) Pattern(p detectors.Pattern) []*detectors.Finding { return c.byShape[p] }

// OfGroup returns the findings about a communicator.
func (c *Case) OfGroup(id string) []*detectors.Finding { return c.byGroup[id] }

// OfJob returns the findings that name a job.
func (c *Case) OfJob(id string) []*detectors.Finding { return c.byJob[id] }

// Has returns the first finding with a code about a thing, or nil.
func (c *Case) Has(thing signals.Entity, code string) *detectors.Finding {
	for _, f := range c.On(thing) {
		if f.Code == code {
			return f
		}
	}
	return nil
}

// Group returns a communicator by its ID, or nil.
func (c *Case) Group(id string) *signals.Group { return c.groups[id] }

// Job returns a job by its ID, or nil.
func (c *Case) Job(id string) *signals.Job { return c.jobs[id] }

// Progress returns the progress of a job, or nil.
func (c *Case) Progress(job string) *detectors.JobProgress {
	for i := range c.Report.Progress {
		if c.Report.Progress[i].Job == job {
			return &c.Report.Progress[i]
		}
	}
	return nil
}

// Blind says why a signal cannot be judged for a host, or "".
func (c *Case) Blind(id signals.ID, host string) string {
	for _, b := range c.Report.Blind {
		if (b.Signal == id || b.Signal == signals.None) && (b.Host == "" || b.Host == host) && b.Job == "" {
			return b.Reason
		}
	}
	return ""
}

// Offered says whether any dialect offers a signal here. What is not offered
// cannot be missed.
func (c *Case) Offered(id signals.ID) bool { return c.Snapshot.Frames[id] != nil }
