package detectors

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Codes of Late findings.
const (
	// CodeLate is a GPU that was on time and then became the one that all
	// others wait for, while it waits for nobody.
	CodeLate = "late"
	// CodeLateSinceStart is the same without an onset: it was so in the first
	// windows seen. In a group whose members are only guessed to have the same
	// role this can be how the job is built.
	CodeLateSinceStart = "late_since_start"
)

// jobHost is a host as far as one job uses it.
type jobHost struct{ job, host string }

// candidate is a member of a channel that is late and waits for nobody.
type candidate struct {
	ch *channel
	i  int
}

func (c candidate) state() *lateState   { return &c.ch.late[c.i] }
func (c candidate) gpu() signals.Entity { return c.ch.members[c.i].thing }

// report adds the late roots of all jobs to r.
func (d *lateness) report(t *Tick, r *Report) {
	var found []candidate
	sizes := map[string]int{}
	unsettled := map[jobHost]bool{}
	for _, ch := range d.win.channels {
		if !d.comparable(ch) {
			continue
		}
		sizes[ch.group.Job] = max(sizes[ch.group.Job], len(ch.members))
		if outdated(t.Time, ch) {
			continue
		}
		for i := range ch.late {
			switch s := &ch.late[i]; {
			case s.named && s.root:
				found = append(found, candidate{ch, i})
			case !s.named && s.single > 0:
				unsettled[jobHost{ch.group.Job, ch.members[i].thing.Host}] = true
			}
		}
	}
	found = slices.DeleteFunc(found, func(c candidate) bool {
		s := c.state()
		s.told = s.told || !unsettled[jobHost{c.ch.group.Job, c.gpu().Host}]
		return !s.told
	})
	d.together(found)
	for _, c := range lowestPerGPU(found) {
		r.Findings = append(r.Findings, d.finding(c))
	}
	for _, id := range sortedKeys(d.jobs) {
		d.rotation(r, id, sizes[id])
	}
}

// outdated says that a channel has not closed a window for so long that what
// it showed is no longer about now: the job pauses, or stands.
func outdated(now time.Time, ch *channel) bool {
	every := time.Duration(ch.every) * time.Millisecond
	return now.Sub(time.UnixMilli(ch.end)) > max(5*time.Minute, 3*every)
}

// checkRoot decides whether a late member waits for nobody itself, and whether
// its gap matters against the waiting that a pipeline causes anyway. A member
// that was a root has to wait in two windows in a row to be none.
func (d *lateness) checkRoot(ch *channel, i int) {
	s, gpu := &ch.late[i], ch.members[i].thing
	ratio, _ := d.waits.ratio(gpu, ch.members)
	small := float64(s.gap) < minGapOfReceive*d.waits.typical(gpu, ch.members)
	switch {
	case (ratio <= d.o.Lateness.WaitsRatio || math.IsNaN(ratio)) && !small:
		s.root, s.victim = true, 0
	case !s.root:
	default:
		s.victim++
		s.root = s.victim < 2
	}
}

// lowestPerGPU keeps one candidate a GPU, the one with the lowest ratio, in
// the order of hosts and devices.
func lowestPerGPU(cs []candidate) []candidate {
	slices.SortFunc(cs, func(a, b candidate) int {
		x, y := a.gpu(), b.gpu()
		return cmp.Or(cmp.Compare(x.Host, y.Host), cmp.Compare(x.Device, y.Device),
			cmp.Compare(a.state().ratio, b.state().ratio), compareChannels(a.ch, b.ch))
	})
	return slices.CompactFunc(cs, func(a, b candidate) bool { return a.gpu() == b.gpu() })
}

func (d *lateness) finding(c candidate) Finding {
	s, m := c.state(), &c.ch.members[c.i]
	f := Finding{
		Detector: d.Name(), Pattern: Late, Signal: signals.CollExecTime,
		Entity: signals.Entity{
			Kind: signals.KindComm, Host: m.thing.Host, Device: m.thing.Device, Job: c.ch.group.Job,
			Comm: c.ch.group.Comm, Op: c.ch.op, Size: c.ch.size, Algo: c.ch.algo,
			NRanks: c.ch.group.NRanks, NNodes: c.ch.group.NNodes,
		},
		Group: c.ch.group.ID, Job: c.ch.group.Job, Direction: signals.Down,
		Value: m.recent(), Expected: m.recent() + float64(s.gap), Score: math.NaN(),
		Peers: len(c.ch.members) - 1, Windows: max(int(s.single), int(s.mild), d.o.Lateness.Run),
		Since: time.UnixMilli(s.since), Code: CodeLate,
	}
	if s.since == 0 { // named by means of two windows, of which one alone said little
		f.Since = time.UnixMilli(c.ch.began)
	}
	if s.sinceStart() {
		f.Code = CodeLateSinceStart
	}
	f.Alike = alike(c, f.Expected)
	for gpu := range d.with[jobHost{c.ch.group.Job, m.thing.Host}] {
		if gpu != m.thing && !slices.Contains(f.Alike, gpu) {
			f.Alike = append(f.Alike, gpu)
		}
	}
	slices.SortFunc(f.Alike, func(a, b signals.Entity) int { return cmp.Compare(a.Device, b.Device) })
	return f
}

// together remembers which GPUs of a host were late in this episode. Their
// groups close at different times, so that one of them is the last to be
// cleared; it is no more to blame than the others were. One that turned out to
// wait itself is forgotten.
func (d *lateness) together(found []candidate) {
	late := map[jobHost]map[signals.Entity]bool{}
	for _, c := range found {
		at := jobHost{c.ch.group.Job, c.gpu().Host}
		if late[at] == nil {
			if late[at] = d.with[at]; late[at] == nil {
				late[at] = map[signals.Entity]bool{}
			}
		}
		late[at][c.gpu()] = true
	}
	for _, ch := range d.win.channels {
		for i := range ch.late {
			if s := &ch.late[i]; s.named && !s.root {
				delete(late[jobHost{ch.group.Job, ch.members[i].thing.Host}], ch.members[i].thing)
			}
		}
	}
	d.with = late
}

// alike returns the GPUs of the candidate's host that are late by at least half
// as much: it may be the latest of them by chance, and the host is what they
// have in common.
func alike(c candidate, expected float64) []signals.Entity {
	late, half := &c.ch.members[c.i], expected-float64(c.state().gap)/2
	var out []signals.Entity
	for i := range c.ch.members {
		if m := &c.ch.members[i]; i != c.i && m.thing.Host == late.thing.Host && m.recent() < half {
			out = append(out, m.thing)
		}
	}
	return out
}

// rotation reports a job whose late members change.
func (d *lateness) rotation(r *Report, job string, size int) {
	j := d.jobs[job]
	for _, op := range sortedKeys(j.ops) {
		m := j.ops[op]
		if size == 0 || !m.rotates(size) {
			continue
		}
		r.Findings = append(r.Findings, Finding{
			Detector: d.Name(), Pattern: RotatingLate, Signal: signals.CollExecTime,
			Entity: signals.Entity{Kind: signals.KindJob, Job: job, Op: op}, Job: job, Direction: signals.Down,
			Value: m.late / m.windows * float64(size), Expected: 0, Score: math.NaN(), Peers: len(m.hosts),
			Windows: int(m.windows) / size, Since: time.UnixMilli(j.began),
		})
		return
	}
}
