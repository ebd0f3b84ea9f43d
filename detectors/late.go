package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// lateness finds the GPU that everybody waits for: the one that waits least.
//
// In a symmetric collective the ends of all members coincide, so the member
// that arrives last has the shortest time: wait = time - least time. Its ratio
// to the median of its role peers is low. See docs/detectors/lateness.md.
type lateness struct {
	o     Options
	win   *windows
	waits *waits
	jobs  map[string]*lateJob
	piped map[string]bool // jobs with a pipeline
	// pressed are the hosts with a finding about pressure of their own.
	pressed map[string]bool
	// with are the GPUs of a job's host that were late in one episode.
	with map[jobHost]map[signals.Entity]bool
	tmp  []float64
	tmp2 []float64
}

// The limits of lateness. They were tried on 30 s means of recorded jobs with
// 40 step orders and dump phases each: on a job with random sequence lengths a
// ratio of 0.7 in three single windows named an innocent worker in 8 to 14 of
// 40 runs; the two rules here named nobody there, and found a slowed worker in
// every run of another job.
const (
	lateStrong = 0.5 // in lateStrongRun windows in a row
	lateWeak   = 0.7 // in lateWeakRun disjoint means of two windows in a row
	// lateCleared is where a named member is on time again: half the way back
	// from lateStrong.
	lateCleared = 0.75
	// lateStart is the largest ratio believed early when no window without
	// lateness was ever seen; above it, lateStartRun windows are needed.
	lateStart    = 0.35
	lateStartRun = 24

	lateStrongRun = 3
	lateWeakRun   = 4
	// latePressedRun is how many single windows in a row at lateWeak are enough
	// where the host is under pressure that its peers do not have.
	latePressedRun = 4
	// lateMild is believed there as well, after lateMildRun windows in a row: as
	// many as a verdict about a host needs anyway. A tenth of a step in which
	// the others wait makes a ratio of 0.75 where a third of it is transfer.
	lateMild    = 0.85
	lateMildRun = 6
	// lateMildCleared is half the way back from lateMild.
	lateMildCleared = 0.92

	// waitsToo is the ratio of the own receive, send or tensor-parallel time to
	// that of role peers above which a late GPU is itself waiting.
	waitsToo = 1.2
	// minGap is the least waiting, in seconds, that lateness must cause per
	// operation: launch jitter of microseconds is persistent too.
	minGap = 250e-6
	// minGapOfReceive relates the gap to the receive time of the same role:
	// what is small against the waiting that a pipeline causes anyway does not
	// matter.
	minGapOfReceive = 0.25
)

func newLateness(o Options, w *windows) *lateness {
	return &lateness{o: o, win: w, waits: newWaits(), jobs: map[string]*lateJob{}, piped: map[string]bool{}, pressed: map[string]bool{}, with: map[jobHost]map[signals.Entity]bool{}}
}

// Name implements Detector.
func (d *lateness) Name() string { return "lateness" }

// Observe implements Detector.
func (d *lateness) Observe(t *Tick, r *Report) {
	for id := range d.jobs {
		if j := t.JobByID(id); j == nil || j.Ended {
			delete(d.jobs, id)
		}
	}
	clear(d.piped)
	for _, ch := range d.win.channels {
		if ch.group.Kind == signals.GroupPipeline || pointToPoint(ch.op) {
			d.piped[ch.group.Job] = true
		}
	}
	clear(d.pressed)
	for _, f := range r.Findings {
		switch f.Code {
		case CodeCPUPressure, CodeMemPressure, CodeIOPressure, CodeIRQPressure:
			d.pressed[f.Entity.Host] = true
		}
	}
	if len(d.win.closed) > 0 {
		d.waits.renew(d.win.channels)
	}
	for _, ch := range d.win.closed {
		if d.comparable(ch) {
			d.judge(d.job(ch.group.Job, ch.began), ch)
		}
	}
	d.report(t, r)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// comparable says that the members of a channel do the same work and end it
// together, so that one who waits less than the others is late. Embedding
// groups, unknown ones, and groups of all ranks of a pipeline mix stages: there
// one member is low for ever by design.
func (d *lateness) comparable(ch *channel) bool {
	g := ch.group
	if g.Derived == signals.DerivedNot || !symmetric(ch.op) {
		return false
	}
	return g.Kind == signals.GroupData || (g.Kind == signals.GroupWorld && !d.piped[g.Job])
}

// symmetric says that all members of an operation end together.
func symmetric(op string) bool {
	switch op {
	case "AllReduce", "ReduceScatter", "AllGather", "AllToAll":
		return true
	}
	return false
}

func (d *lateness) job(id string, began int64) *lateJob {
	j := d.jobs[id]
	if j == nil {
		j = newLateJob(began)
		d.jobs[id] = j
	}
	return j
}

// judge updates the members of a channel whose window has just closed.
func (d *lateness) judge(j *lateJob, ch *channel) {
	best, second := lowest(ch)
	if best < 0 || math.IsNaN(second) {
		return
	}
	host := ch.members[best].thing.Host
	apart := d.clearly(ch, best, second)
	mid, pair := d.middle(ch, best, (*member).last), d.middle(ch, best, (*member).recent)
	memory, o := j.memory(ch.op), &d.o.Lateness
	for i := range ch.members {
		m, s := &ch.members[i], &ch.late[i]
		if math.IsNaN(m.mean) {
			continue
		}
		s.ratio, s.gap = float32(m.mean/mid), float32(mid-m.mean)
		low := apart && m.thing.Host == host && m.mean < second && mid-m.mean >= minGap
		late := low && float64(s.ratio) <= o.SoftRatio
		if !late {
			memory.ended(m.thing.Host, s.single)
		}
		s.window(o, ch, low, late)
		if ch.seq%2 == 0 {
			s.windows2(o, float32(m.recent()/pair), low)
		}
		memory.window()
		s.name(o, memory.required(m.thing.Host, len(ch.members), ch.seq), d.pressed[m.thing.Host])
		if s.named {
			d.checkRoot(ch, i)
		}
	}
}

// lowest returns the member with the least mean, and the least mean among
// members on other hosts. GPUs of one host are late together when the host is.
func lowest(ch *channel) (best int, second float64) {
	best, second = -1, math.NaN()
	for i := range ch.members {
		if m := ch.members[i].mean; !math.IsNaN(m) && (best < 0 || m < ch.members[best].mean) {
			best = i
		}
	}
	if best < 0 {
		return best, second
	}
	for i := range ch.members {
		m := &ch.members[i]
		if m.thing.Host != ch.members[best].thing.Host && !math.IsNaN(m.mean) && !(m.mean >= second) {
			second = m.mean
		}
	}
	if math.IsNaN(second) { // one host: its GPUs are compared with each other
		for i := range ch.members {
			if m := ch.members[i].mean; i != best && !math.IsNaN(m) && !(m >= second) {
				second = m
			}
		}
	}
	return best, second
}

// clearly says that the least mean stands apart from the second by more than 3
// robust standard deviations of the others and 2 % of the transfer. Without
// this the smallest of a group of equals would be late in every window.
func (d *lateness) clearly(ch *channel, best int, second float64) bool {
	if math.IsNaN(second) {
		return false
	}
	d.tmp = d.tmp[:0]
	for i := range ch.members {
		m := &ch.members[i]
		if !math.IsNaN(m.mean) && m.mean >= second {
			d.tmp = append(d.tmp, m.mean)
		}
	}
	if cap(d.tmp2) < len(d.tmp) {
		d.tmp2 = make([]float64, 0, 2*len(d.tmp))
	}
	least := ch.members[best].mean
	sigma := spreadOf(d.tmp, d.tmp2).low
	return second-least > max(3*sigma, 0.02*least)
}

// middle is the median over the members on other hosts than that of best, or,
// on a single host, over all but best.
func (d *lateness) middle(ch *channel, best int, mean func(*member) float64) float64 {
	host := ch.members[best].thing.Host
	d.tmp, d.tmp2 = d.tmp[:0], d.tmp2[:0]
	for k := range ch.members {
		m := &ch.members[k]
		v := mean(m)
		switch {
		case math.IsNaN(v) || k == best:
		case m.thing.Host == host:
			d.tmp2 = append(d.tmp2, v)
		default:
			d.tmp = append(d.tmp, v)
		}
	}
	if len(d.tmp) == 0 {
		return Median(d.tmp2)
	}
	return Median(d.tmp)
}
