package detectors

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// shapes remembers what bandwidth jobs reached across hosts, by the shape of
// their communicators, and compares a job with others of its shape. A fault that
// is there from the first step has no past inside the job; other jobs are its
// only measure. See docs/detectors/shapes.md.
type shapes struct {
	memory time.Duration                     // of ended jobs
	rows   table[*shapeJob]                  // nil for what belongs to no shape
	jobs   map[shapeKey]map[string]*shapeJob // by job
	kernel map[string]string                 // host: release
}

// shapeKey is what must be equal for two jobs to be compared. The pool is the
// name of the hosts without digits: hosts of another kind have another name.
type shapeKey struct {
	pool, op, size, algo string
	ranks, nodes         int32
}

// shapeJob is one job in one shape.
type shapeJob struct {
	job, version, kernels string
	hosts                 []string
	first, last           int64 // Unix ms
	tick                  []float64
	ring                  []float64 // medians of windows, newest last
	seen                  int
}

const (
	shapeSkip   = 4  // windows at the start of a job that mean nothing
	shapeLeast  = 6  // windows that make a figure
	shapeRing   = 40 // windows kept
	shapeJobs   = 64 // remembered per shape
	shapeSlow   = 0.7
	shapeFast   = 0.85
	shapeRecent = 6 * time.Hour // a slow job is evidence for so long after its end
)

func newShapes(o Options) *shapes {
	return &shapes{memory: o.Memory, jobs: map[shapeKey]map[string]*shapeJob{}, kernel: map[string]string{}}
}

func (d *shapes) Name() string { return "shapes" }

// Observe implements [Detector].
func (d *shapes) Observe(t *Tick, r *Report) {
	if f := t.Frames[signals.HostKernel]; f.Len() > 0 {
		for _, id := range f.Entity {
			e := t.Entities.Of(id)
			d.kernel[e.Host] = e.Detail
		}
	}
	if f := t.Frames[signals.CollBusBandwidth]; f.Len() > 0 {
		d.collect(t, f)
	}
	d.report(t, r)
}

func (d *shapes) collect(t *Tick, f *signals.Frame) {
	var touched []*shapeJob
	for i, id := range f.Entity {
		if !(f.Value[i] > 0) {
			continue // the exported bandwidth of all-to-all is always 0
		}
		j, known := d.rows.get(id)
		if !known {
			j = d.find(t, t.Entities.Of(id))
			*d.rows.put(id) = j
		}
		if j == nil {
			continue
		}
		if len(j.tick) == 0 {
			touched = append(touched, j)
		}
		j.tick = append(j.tick, f.Value[i])
		j.last = max(j.last, f.Stamp[i])
	}
	for _, j := range touched {
		slices.Sort(j.tick)
		mid := j.tick[len(j.tick)/2]
		j.tick = j.tick[:0]
		if j.seen++; j.seen > shapeSkip {
			if len(j.ring) == shapeRing {
				j.ring = slices.Delete(j.ring, 0, 1)
			}
			j.ring = append(j.ring, mid)
		}
		d.describe(t, j)
	}
}

// find returns the memory for a member of a communicator across hosts.
func (d *shapes) find(t *Tick, e signals.Entity) *shapeJob {
	if e.Job == "" || e.NNodes == 1 {
		return nil
	}
	k := shapeKey{poolOf(e.Host), e.Op, e.Size, e.Algo, e.NRanks, e.NNodes}
	if d.jobs[k] == nil {
		d.jobs[k] = map[string]*shapeJob{}
	}
	j := d.jobs[k][e.Job]
	if j == nil {
		d.evict(k)
		j = &shapeJob{job: e.Job, first: t.Time.UnixMilli()}
		d.jobs[k][e.Job] = j
	}
	j.version = e.Version
	return j
}

// evict makes room by forgetting the job that is longest gone.
func (d *shapes) evict(k shapeKey) {
	if len(d.jobs[k]) < shapeJobs {
		return
	}
	oldest := ""
	for id, j := range d.jobs[k] {
		if oldest == "" || j.last < d.jobs[k][oldest].last {
			oldest = id
		}
	}
	gone := d.jobs[k][oldest]
	delete(d.jobs[k], oldest)
	d.rows.drop(func(_ signals.EntityID, j **shapeJob) bool { return *j == gone })
}

// describe notes where the job runs and with which kernels.
func (d *shapes) describe(t *Tick, j *shapeJob) {
	job := t.JobByID(j.job)
	if job == nil || len(job.Hosts) == 0 || len(j.ring) > 1 && len(j.hosts) == len(job.Hosts) {
		return
	}
	j.hosts = slices.Clone(job.Hosts)
	set := map[string]bool{}
	for _, h := range j.hosts {
		if k := d.kernel[h]; k != "" {
			set[k] = true
		}
	}
	var list []string
	for k := range set {
		list = append(list, k)
	}
	slices.Sort(list)
	j.kernels = strings.Join(list, ",")
}

// poolOf is a host name without digits.
func poolOf(host string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, host)
}

func (j *shapeJob) level() float64 {
	if len(j.ring) < shapeLeast {
		return math.NaN()
	}
	return medianOf(j.ring)
}

// report says, for every shape with a job that is slow now or was lately, which
// jobs are slow and which are as fast as usual.
func (d *shapes) report(t *Tick, r *Report) {
	at := len(r.Findings)
	for k, jobs := range d.jobs {
		for id, j := range jobs {
			if t.Time.UnixMilli()-j.last > d.memory.Milliseconds() {
				delete(jobs, id)
			}
		}
		if len(jobs) >= 2 {
			d.compare(t, r, k, jobs)
		} else if len(jobs) == 0 {
			delete(d.jobs, k)
		}
	}
	slices.SortFunc(r.Findings[at:], func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Entity.Op, b.Entity.Op), cmp.Compare(a.Entity.Size, b.Entity.Size), cmp.Compare(a.Entity.Algo, b.Entity.Algo),
			int(a.Entity.NRanks-b.Entity.NRanks), int(a.Entity.NNodes-b.Entity.NNodes), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Job, b.Job))
	})
}

func (d *shapes) compare(t *Tick, r *Report, k shapeKey, jobs map[string]*shapeJob) {
	var levels []float64
	for _, j := range jobs {
		if x := j.level(); !math.IsNaN(x) {
			levels = append(levels, x)
		}
	}
	if len(levels) < 2 {
		return
	}
	slices.Sort(levels)
	usual := levels[(len(levels)*4)/5]
	var fast []*shapeJob
	slow := false
	for _, j := range jobs {
		switch x := j.level(); {
		case x >= shapeFast*usual:
			fast = append(fast, j)
		case x < shapeSlow*usual && t.Time.UnixMilli()-j.last < shapeRecent.Milliseconds():
			d.add(r, k, j, CodeBelowShape, usual, len(levels)-1)
			slow = true
		}
	}
	if !slow {
		return
	}
	for _, j := range fast {
		d.add(r, k, j, CodeAtShape, usual, len(levels)-1)
	}
}

func (d *shapes) add(r *Report, k shapeKey, j *shapeJob, code string, usual float64, peers int) {
	r.Findings = append(r.Findings, Finding{
		Detector: d.Name(), Pattern: BaselineShape, Signal: signals.CollBusBandwidth, Job: j.job, Hosts: j.hosts,
		Entity: signals.Entity{
			Kind: signals.KindJob, Job: j.job, Op: k.op, Size: k.size, Algo: k.algo, NRanks: k.ranks, NNodes: k.nodes,
			Version: j.version, Detail: j.kernels, Peer: k.pool,
		},
		Direction: signals.Down, Value: j.level(), Expected: usual, Score: math.NaN(), Peers: peers, Windows: len(j.ring),
		Since: unixMilli(j.first), Count: float64(j.last), Code: code,
	})
}

// Renumber implements [Renumberer].
func (d *shapes) Renumber(to []signals.EntityID, _ int) { d.rows.renumber(to) }
