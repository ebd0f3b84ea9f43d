package detectors

import (
	"math"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// stages finds a pipeline stage that waits least in all replicas alike: the
// model is cut so that this stage has more to do than the others. That is how
// the job is built and no fault of a part.
//
// It reads receive times. Send times do not tell: the last stage sends without
// waiting in a balanced pipeline too. In a recorded job with a heavy last stage
// its receive time was 0.46 of the next smallest in 61 of 61 judgements, 1.24
// in a balanced simulation of the same job, and 0.84 to 0.92 in the healthy
// replicas of another job. With two stages a balanced pipeline reads 0.41, so
// that nothing is said below three.
type stages struct {
	win   *windows
	ratio float64
	jobs  map[string]*stageJob
}

const (
	stageRatio   = 0.7
	stageCleared = 0.85
	stageRun     = 5
	stageEvery   = time.Minute
)

// stageJob is the judgement of one job over time.
type stageJob struct {
	next    time.Time
	since   time.Time
	run     int // positive judgements less the negative ones between
	misses  int // negative judgements in a row
	named   bool
	finding Finding
}

func newStages(o Options, w *windows) *stages {
	return &stages{win: w, ratio: o.Lateness.StageRatio, jobs: map[string]*stageJob{}}
}

// Name implements Detector.
func (d *stages) Name() string { return "stages" }

// Observe implements Detector.
func (d *stages) Observe(t *Tick, r *Report) {
	for id := range d.jobs {
		if j := t.JobByID(id); j == nil || j.Ended {
			delete(d.jobs, id)
		}
	}
	receive := d.receive()
	for _, id := range sortedKeys(receive) {
		j := d.jobs[id]
		if j == nil {
			j = &stageJob{next: t.Time.Add(stageEvery)}
			d.jobs[id] = j
		}
		if !t.Time.Before(j.next) {
			j.next = t.Time.Add(max(stageEvery, time.Duration(d.win.every[id])*time.Millisecond))
			d.judge(t, id, j, receive[id])
		}
	}
	for _, id := range sortedKeys(d.jobs) {
		if j := d.jobs[id]; j.named {
			r.Findings = append(r.Findings, j.finding)
		}
	}
}

// pipe is one pipeline of a job: the mean receive time of each of its members.
type pipe map[signals.Entity]float64

// receive collects the receive times of all pipelines, by job and group.
func (d *stages) receive() map[string]map[string]pipe {
	out := map[string]map[string]pipe{}
	for _, ch := range d.win.channels {
		g := ch.group
		if ch.op != "Recv" || g.Derived == signals.DerivedNot || ch.seq == 0 {
			continue
		}
		if out[g.Job] == nil {
			out[g.Job] = map[string]pipe{}
		}
		p := out[g.Job][g.ID]
		if p == nil {
			p = pipe{}
			out[g.Job][g.ID] = p
		}
		for i := range ch.members {
			if v := ch.members[i].recent(); !math.IsNaN(v) {
				p[ch.members[i].thing] += v
			}
		}
	}
	return out
}

// least returns the member that waits least and its ratio to the next one.
func (p pipe) least() (who signals.Entity, least, next float64) {
	least, next = math.Inf(1), math.Inf(1)
	for gpu, v := range p {
		switch {
		case v < least:
			who, least, next = gpu, v, least
		case v < next:
			next = v
		}
	}
	return who, least, next
}

// judge counts judgements of one job.
func (d *stages) judge(t *Tick, job string, j *stageJob, pipes map[string]pipe) {
	limit := d.ratio
	if j.named {
		limit = max(limit, stageCleared)
	}
	f, ok := d.heavy(t, job, pipes, limit)
	if !ok {
		j.run = max(0, j.run-1)
		if j.misses++; j.misses >= 3 {
			j.named, j.run = false, 0
		}
		return
	}
	if j.run == 0 && !j.named {
		j.since = t.Time
	}
	j.run, j.misses = j.run+1, 0
	j.named = j.named || j.run >= stageRun
	f.Windows, f.Since = j.run, j.since
	j.finding = f
}

// heavy says whether the least-waiting members of all pipelines are exactly
// the members of whole stages, by a clear margin.
func (d *stages) heavy(t *Tick, job string, pipes map[string]pipe, limit float64) (Finding, bool) {
	if len(pipes) < 2 {
		return Finding{}, false
	}
	leasts := map[signals.Entity]bool{}
	var values, ratios []float64
	for _, p := range pipes {
		who, least, next := p.least()
		if len(p) < 3 || least > limit*next {
			return Finding{}, false
		}
		leasts[who] = true
		values, ratios = append(values, least), append(ratios, least/next)
	}
	stage, ok := wholeStages(t.Groups, job, leasts)
	if !ok {
		return Finding{}, false
	}
	v, ratio := Median(values), Median(ratios)
	return Finding{
		Detector: d.Name(), Pattern: LeastReceive, Signal: signals.P2PExecTime,
		Entity: signals.Entity{Kind: signals.KindJob, Job: job, Op: "Recv"}, Group: stage, Job: job,
		Direction: signals.Down, Value: v, Expected: v / ratio, Score: math.NaN(), Peers: len(pipes),
	}, true
}

// wholeStages says whether members are exactly the members of one or several
// data-parallel groups: a stage has the same role in every replica, and its
// members reduce their gradients among themselves. It returns the first group.
func wholeStages(groups []*signals.Group, job string, members map[signals.Entity]bool) (string, bool) {
	first, covered := "", map[signals.Entity]bool{}
	for _, g := range groups {
		if g.Job != job || g.Kind != signals.GroupData || g.Derived == signals.DerivedNot || len(g.Members) < 2 {
			continue
		}
		n := 0
		for _, m := range g.Members {
			if members[m] {
				n++
				covered[m] = true
			}
		}
		if n > 0 && n < len(g.Members) {
			return "", false
		}
		if n > 0 && (first == "" || g.ID < first) {
			first = g.ID
		}
	}
	return first, first != "" && len(covered) == len(members)
}
