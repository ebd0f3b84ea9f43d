package detectors

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// profile watches what a whole job does: how fast it communicates across hosts,
// how active its GPUs are, how long a step takes. It is compared with the job's
// own past and, because a new setting comes with a restart, with the job of the
// same shape that ran before.
type profile struct {
	memory time.Duration // of ended jobs
	win    *windows
	jobs   map[string]*jobProfile
	past   map[profileShape]pastProfile
	sums   map[string]*profileSums
}

// profileShape is what must be equal for two jobs to be compared.
type profileShape struct{ hosts, gpus int }

type pastProfile struct {
	job   string
	ended time.Time
	lines map[profileKey]float64 // usual values
}

// profileKey is one line of a profile: a signal of the GPUs, or the transfer
// time of one kind of operation.
type profileKey struct {
	signal         signals.ID
	op, size, algo string
	ranks, nodes   int32
}

// profileLine is one value of a job over time.
type profileLine struct {
	recent, usual float64 // exponentially weighted: two minutes, half an hour
	n             int
	last          time.Time
	hits          int
	since         time.Time
	on            bool
}

type jobProfile struct {
	shape     profileShape
	began     time.Time
	seen      time.Time
	lines     map[profileKey]*profileLine
	inherited string // the job whose values are usual, "" if its own
}

type profileSums struct {
	sum [signals.Count]float64
	n   [signals.Count]int
}

const (
	profileRecent = 2 * time.Minute
	profileUsual  = 30 * time.Minute
	// profileHandover is how long after its begin a job may inherit.
	profileHandover = 15 * time.Minute
	// profileSkip samples of a job mean nothing, profileRun in a row make a
	// difference believed.
	profileSkip = 10
	profileRun  = 4
	// profileEffect is the least relative difference of a line.
	profileEffect = 0.05
)

// profileSignals are the GPU signals of a profile.
func profileSignals() []signals.ID {
	return []signals.ID{signals.GPUSMActive, signals.GPUDRAMActive, signals.GPUTensorActive, signals.StepTime}
}

func newProfile(o Options, w *windows) *profile {
	return &profile{
		memory: o.Memory, win: w, jobs: map[string]*jobProfile{}, past: map[profileShape]pastProfile{}, sums: map[string]*profileSums{},
	}
}

// Name implements Detector.
func (d *profile) Name() string { return "profile" }

// Observe implements Detector.
func (d *profile) Observe(t *Tick, r *Report) {
	d.retire(t)
	for _, j := range t.Jobs {
		if !j.Ended {
			d.open(t, j)
		}
	}
	d.readGPUs(t)
	d.readTransfers(t)
	for _, id := range sortedKeys(d.jobs) {
		d.report(r, id, d.jobs[id])
	}
}

// open starts the profile of a job, with the values of the last job of its
// shape as usual.
func (d *profile) open(t *Tick, j *signals.Job) {
	p := d.jobs[j.ID]
	if p == nil {
		p = &jobProfile{began: t.Time, lines: map[profileKey]*profileLine{}}
		d.jobs[j.ID] = p
	}
	p.seen = t.Time
	shape := profileShape{len(j.Hosts), len(j.GPUs)}
	if p.shape != shape {
		p.shape, p.inherited = shape, ""
		clear(p.lines)
	}
	// The end of a job is often known some minutes after the next has begun.
	if p.inherited != "" || t.Time.Sub(p.began) > profileHandover {
		return
	}
	if past, ok := d.past[shape]; ok && past.job != j.ID && t.Time.Sub(past.ended) < d.memory {
		p.inherited = past.job
		for key, v := range past.lines {
			if l := p.lines[key]; l != nil {
				l.usual, l.hits, l.on = v, 0, false
				continue
			}
			p.lines[key] = &profileLine{usual: v}
		}
	}
}

// retire keeps the profile of jobs that ended.
func (d *profile) retire(t *Tick) {
	for id, p := range d.jobs {
		if j := t.JobByID(id); j != nil && !j.Ended {
			continue
		}
		delete(d.jobs, id)
		lines := map[profileKey]float64{}
		for key, l := range p.lines {
			if l.n >= 2*profileSkip {
				lines[key] = l.usual
			}
		}
		if len(lines) > 0 {
			d.past[p.shape] = pastProfile{job: id, ended: p.seen, lines: lines}
		}
	}
	for shape, past := range d.past {
		if t.Time.Sub(past.ended) > d.memory {
			delete(d.past, shape)
		}
	}
}

// readGPUs averages the GPU signals of each job.
func (d *profile) readGPUs(t *Tick) {
	clear(d.sums)
	for _, id := range profileSignals() {
		f := t.Frame(id)
		for i := range f.Len() {
			j := t.jobOf(f.Entity[i])
			if j == nil || t.spare(t.Entities.Of(f.Entity[i])) || !(f.Value[i] >= 0) || math.IsInf(f.Value[i], 1) {
				continue
			}
			s := d.sums[j.ID]
			if s == nil {
				s = &profileSums{}
				d.sums[j.ID] = s
			}
			s.sum[id] += f.Value[i]
			s.n[id]++
		}
	}
	for job, s := range d.sums {
		p := d.jobs[job]
		if p == nil {
			continue
		}
		for _, id := range profileSignals() {
			if n := s.n[id]; n > 0 && (id == signals.StepTime || 2*n >= p.shape.gpus) {
				p.add(t, profileKey{signal: id}, s.sum[id]/float64(n))
			}
		}
	}
}

// readTransfers takes the median transfer time of each kind of operation
// across hosts.
func (d *profile) readTransfers(t *Tick) {
	xs := map[string]map[profileKey][]float64{}
	for _, ch := range d.win.closed {
		g := ch.group
		if g.NNodes == 1 || !transfers(ch) || math.IsNaN(ch.transfer.tau) || d.jobs[g.Job] == nil {
			continue
		}
		if xs[g.Job] == nil {
			xs[g.Job] = map[profileKey][]float64{}
		}
		key := profileKey{signals.CollExecTime, ch.op, ch.size, ch.algo, g.NRanks, g.NNodes}
		xs[g.Job][key] = append(xs[g.Job][key], ch.transfer.tau)
	}
	for job, byKey := range xs {
		for key, values := range byKey {
			d.jobs[job].add(t, key, Median(values))
		}
	}
}

// add is a new value of a line.
func (p *jobProfile) add(t *Tick, key profileKey, v float64) {
	l := p.lines[key]
	if l == nil {
		l = &profileLine{}
		p.lines[key] = l
	}
	l.n++
	if l.n <= profileSkip || v <= 0 {
		l.last, l.recent = t.Time, v
		return
	}
	dt := t.Time.Sub(l.last)
	l.last = t.Time
	l.recent += (1 - math.Exp(-dt.Seconds()/profileRecent.Seconds())) * (v - l.recent)
	if l.usual == 0 {
		l.usual = v
	}
	switch off := math.Abs(math.Log(l.recent / l.usual)); {
	case off >= math.Log1p(profileEffect):
		if l.hits == 0 {
			l.since = t.Time
		}
		l.hits++
		l.on = l.on || l.hits >= profileRun
	case off < math.Log1p(profileEffect)/2 || !l.on:
		l.hits, l.on = 0, false
	}
	if !l.on && l.hits == 0 {
		weight := max(1-math.Exp(-dt.Seconds()/profileUsual.Seconds()), 1/float64(l.n))
		l.usual += weight * (v - l.usual)
	}
}

// report says which lines differ.
func (d *profile) report(r *Report, job string, p *jobProfile) {
	at := len(r.Findings)
	defer func() {
		slices.SortFunc(r.Findings[at:], func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Signal, b.Signal), cmp.Compare(a.Entity.Op, b.Entity.Op),
				cmp.Compare(a.Entity.Size, b.Entity.Size), cmp.Compare(a.Entity.Algo, b.Entity.Algo), cmp.Compare(a.Entity.NRanks, b.Entity.NRanks))
		})
	}()
	for key, l := range p.lines {
		if !l.on {
			continue
		}
		f := Finding{
			Detector: d.Name(), Pattern: Shift, Signal: key.signal, Job: job,
			Entity:    signals.Entity{Kind: signals.KindJob, Job: job, Op: key.op, Size: key.size, Algo: key.algo, NRanks: key.ranks, NNodes: key.nodes},
			Direction: signals.Up, Value: l.recent, Expected: l.usual, Score: math.NaN(), Windows: l.hits, Since: l.since,
		}
		if l.recent < l.usual {
			f.Direction = signals.Down
		}
		if p.inherited != "" {
			f.Pattern, f.Since = BaselineShape, p.began
			f.Entity.Detail = p.inherited
		}
		r.Findings = append(r.Findings, f)
	}
}
