package detectors

import (
	"time"

	"github.com/collwatch/collwatch/signals"
)

// progress says of each job whether it goes on, and what each of its GPUs does.
//
// Several weak clocks make one strong one: the files of the Inspector, bytes of
// the compute NICs, tensor activity, power, the step counter, the counts of RAS
// and of the plugin. A job stands still only if every clock that is there has
// been seen to stand. A clock without fresh samples is absent: it neither runs
// nor stands. See docs/detectors/progress.md.
type progress struct {
	o      Options
	levels *levels
	seq    sequences
	procs  processes
	jobs   map[string]*progressJob

	at       time.Time     // of the last tick
	recalled *keptProgress // of before a restart, as far as it is not taken up
}

// The clocks.
const (
	clockInspector = iota
	clockNIC
	clockTensor
	clockPower
	clockSteps
	clockRAS
	clockPlugin
	clocks
)

// ClockInspector is the name of the clock that the Inspector's files are.
const ClockInspector = "inspector"

func clockNames() [clocks]string {
	return [...]string{ClockInspector, "nic_bytes", "tensor", "power", "steps", "ras", "plugin"}
}

const (
	// freshness is how old the newest sample of a clock may be: DCGM collects
	// every 30 s and may be scraped every 30 s.
	freshness = 100 * time.Second
	// initTime is the default of ProgressOptions.InitTime: the first broadcasts
	// come long before the first step is compiled.
	initTime = 3 * time.Minute
	// initLimit is how long a start may take.
	initLimit = 45 * time.Minute
	// checkpointLimit is how long a checkpoint with evidence, or any learned
	// pause, is excused.
	checkpointLimit = 15 * time.Minute
	// pauseLeast is the shortest stop that counts as a pause to be learned;
	// pauseRuns how many are needed, pauseKept how many are remembered.
	pauseLeast = 45 * time.Second
	pauseRuns  = 3
	pauseKept  = 24
	// seenStopped is how long all clocks must be watched standing before the
	// job is called stalled: one sample after a gap proves nothing.
	seenStopped = 45 * time.Second
)

// progressJob is the progress of one job.
type progressJob struct {
	clocks   [clocks]clockState
	talking  time.Duration // time during which it was seen to communicate
	watched  time.Time     // since when the job is seen standing, zero if not
	still    time.Time     // since when all clocks are, zero if not
	since    time.Time     // when the last clock was seen running
	evidence time.Time     // newest evidence of a checkpoint on many hosts during this stop
	writes   time.Time     // newest sign that a single host writes for all during this stop
	computes time.Time     // newest sign that a GPU computes during this stop
	pauses   []time.Duration
	writeGap time.Duration // longest usual time between two files, decaying
	members  map[signals.Entity]Member
	gpus     gpuIDs
	graph    seqGraph
	usual    []keptLevel // what its parts did until it stood, to be kept
	recalled []keptLevel // the same from before a restart, until all have a sample
	taken    time.Time   // when the job was taken up after a restart
}

// clockState is one witness.
type clockState struct {
	sample int64 // ms, newest sample
	run    int64 // ms, newest sign of progress; 0 never
}

func newProgress(o Options) *progress {
	return &progress{o: o, levels: newLevels(), seq: newSequences(), procs: newProcesses(), jobs: map[string]*progressJob{}}
}

// Name implements Detector.
func (d *progress) Name() string { return "progress" }

// Renumber implements Renumberer.
func (d *progress) Renumber(to []signals.EntityID, count int) {
	d.levels.renumber(to, count)
	d.procs.renumber(to)
	d.seq.renumber(to, count)
}

// Observe implements Detector.
func (d *progress) Observe(t *Tick, r *Report) {
	d.levels.update(t)
	for id := range d.jobs {
		if t.JobByID(id) == nil {
			delete(d.jobs, id)
		}
	}
	for _, j := range t.Jobs {
		p := d.jobs[j.ID]
		if p == nil {
			p = &progressJob{members: map[signals.Entity]Member{}}
			d.jobs[j.ID] = p
		}
	}
	d.at = t.Time
	d.recall(t)
	d.recallLevels(t)
	d.readCounters(t)
	d.procs.read(t)
	d.seq.read(t, d.standing())
	for _, j := range t.Jobs {
		p := d.jobs[j.ID]
		d.readGPUs(t, j, p)
		r.Progress = append(r.Progress, d.judge(t, r, j, p))
	}
	d.levels.learn(t, d.running)
}

// standing are the jobs that stood at the tick before.
func (d *progress) standing() map[string]bool {
	out := map[string]bool{}
	for id, p := range d.jobs {
		if !p.watched.IsZero() {
			out[id] = true
		}
	}
	return out
}

// running says whether the job with this id is known to go on, so that levels
// may be learned from it.
func (d *progress) running(id string) bool {
	p := d.jobs[id]
	return p != nil && p.watched.IsZero() && p.talking > 0
}

// judge decides what a job does at this tick.
func (d *progress) judge(t *Tick, r *Report, j *signals.Job, p *progressJob) JobProgress {
	out := JobProgress{Job: j.ID}
	last, present, standing := p.read(t.Time, d.patience(p), &out)
	procs := d.procs.of(t, j.ID)
	switch {
	case j.Ended || allKnown(j, procs) && allProcesses(procs, ProcessDead, ProcessLeft):
		out.Phase = PhaseEnded
		p.watched, p.still = time.Time{}, time.Time{}
		return out
	case present == 0 || gap(t, j):
		if p.talking > 0 {
			out.Phase = PhaseGap
			r.Blind = append(r.Blind, Blind{Detector: d.Name(), Job: j.ID, Reason: "nothing new of any clock of job " + j.ID})
		}
		p.watched, p.still = time.Time{}, time.Time{}
		return out
	}
	if p.communicates() {
		p.talking += min(t.Elapsed, 4*d.o.Interval)
	}
	if p.talking < d.o.Progress.InitTime {
		out.Phase, out.PhaseSince = PhaseInit, j.FirstSeen
		if p.talking == 0 && p.offered() && len(j.Hosts) > 1 && d.holdsMemory(t, j) {
			out.PhaseUntil = j.FirstSeen.Add(d.o.Progress.InitLimit)
		}
	}
	counted, hung := p.hung(t.Time, d.o)
	hung = hung && allKnown(j, procs) && !historic(procs)
	switch {
	case standing < present && !hung:
		p.resume(t)
		return out
	case standing < present:
		p.still = time.Time{}
	case p.still.IsZero():
		p.still = t.Time
	}
	if p.watched.IsZero() {
		p.watched, p.usual = t.Time, d.levels.keep(t, j)
	}
	p.since = last
	d.checkpoint(t, j, p)
	d.computes(t, j, p)
	seats := d.seq.look(t, j.ID)
	out.Since, out.Seen, out.Members = last, p.watched, d.classify(t, r, j, p, last, procs, seats)
	if hung {
		out.Since = counted
	}
	switch {
	case allGone(out.Members):
		out.Phase = PhaseEnded
	case allProcesses(procs, ProcessStopped, ProcessDead, ProcessLeft) && allKnown(j, procs):
		out.Phase = PhaseSuspended
	case out.Phase == PhaseInit:
	default:
		out.Stalled = !p.still.IsZero() && t.Time.Sub(p.still) >= seenStopped
		out.Hung = hung && t.Time.Sub(p.watched) >= hungWatched && seats.mostWait(procs)
	}
	if !historic(procs) {
		p.graph.judge(t.Time, seats, &out)
		out.Steps, out.Unreached = seats.peerWaits(), seats.ras
	}
	if out.Stalled {
		d.excuse(t.Time, p, &out)
		d.outside(&out, procs, seats)
	}
	return out
}

// outside excuses a job whose ranks have all finished what they began in NCCL,
// and spin in nothing: it writes, evaluates or loads, or its CUDA graphs tell
// nothing. It is no collective that hangs.
func (d *progress) outside(out *JobProgress, procs map[signals.Entity]rankProcess, seats *positions) {
	var alive []signals.Entity
	for thing, x := range procs {
		if x.state == ProcessRuns || x.state == ProcessStopped {
			alive = append(alive, thing)
		}
	}
	if out.Phase != PhaseNone || !seats.outside(alive) {
		return
	}
	for _, m := range out.Members {
		if m.State == StateWaiting {
			return
		}
	}
	out.Phase, out.PhaseSince, out.PhaseUntil = PhaseOutside, out.Since, out.Since.Add(d.o.Progress.PauseLimit)
}

// read lists the clocks that are there and counts those that stand. last is
// the newest sign of progress of any.
func (p *progressJob) read(now time.Time, patience time.Duration, out *JobProgress) (last time.Time, present, standing int) {
	names := clockNames()
	for i := range p.clocks {
		c := &p.clocks[i]
		if c.run == 0 || now.Sub(time.UnixMilli(c.sample)) > freshness {
			continue // never ran, or nothing new: absent
		}
		present++
		ran := time.UnixMilli(c.run)
		stands := c.run < c.sample
		if i == clockInspector {
			stands = now.Sub(ran) > patience
		}
		clock := Clock{Name: names[i], Running: !stands}
		if stands {
			standing++
			clock.Stopped = ran
		}
		if ran.After(last) {
			last = ran
		}
		out.Clocks = append(out.Clocks, clock)
	}
	return last, present, standing
}

// patience is how long no file may be written before that means something: two
// and a half dumps, or half as long again as this job usually takes.
func (d *progress) patience(p *progressJob) time.Duration {
	return max(d.o.Dump*5/2, min(p.writeGap*3/2, 5*time.Minute))
}

// resume ends a stop and learns how long it was.
func (p *progressJob) resume(t *Tick) {
	if !p.watched.IsZero() && t.Time.Sub(p.since) >= pauseLeast {
		p.pauses = append(p.pauses, t.Time.Sub(p.since))
		if len(p.pauses) > pauseKept {
			p.pauses = p.pauses[1:]
		}
	}
	p.watched, p.still, p.evidence, p.writes, p.computes = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	p.graph, p.usual = seqGraph{}, nil
	clear(p.members)
}

// talkers are the clocks that show communication.
func talkers() [5]int { return [...]int{clockInspector, clockNIC, clockSteps, clockRAS, clockPlugin} }

// offered says that there is a clock that would show communication.
func (p *progressJob) offered() bool {
	for _, i := range talkers() {
		if p.clocks[i].sample != 0 {
			return true
		}
	}
	return false
}

// communicates says that a clock shows communication at its newest sample.
// Where no clock could, tensor activity stands for it.
func (p *progressJob) communicates() bool {
	for _, i := range talkers() {
		if c := &p.clocks[i]; c.run != 0 && (c.run >= c.sample || i == clockInspector && c.sample-c.run < 75_000) {
			return true
		}
	}
	c := &p.clocks[clockTensor]
	return !p.offered() && c.run != 0 && c.run >= c.sample
}

// gap says that too much is missing to judge a job: a source that failed, or
// more than half of its hosts not reported.
func gap(t *Tick, j *signals.Job) bool {
	missing := map[string]bool{}
	for _, g := range t.Gaps {
		if g.Host == "" && g.Reason == "source_down" {
			return true
		}
		missing[g.Host] = true
	}
	n := 0
	for _, h := range j.Hosts {
		if missing[h] {
			n++
		}
	}
	return 2*n > len(j.Hosts)
}
