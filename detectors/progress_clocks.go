package detectors

import (
	"math"
	"time"

	"github.com/collwatch/collwatch/signals"
)

const (
	// activeShare is the share of the GPUs of a job that must be active for
	// the job to be: one rank that evaluates or writes is no progress.
	activeShare = 0.15
	// tensorLow, powerLow and nicLow are shares of the usual level below
	// which a GPU or NIC is not working. A GPU that spins in a collective draws
	// about a quarter of its training power, an idle one a tenth.
	tensorLow   = 0.15
	tensorFloor = 0.02
	powerLow    = 0.6
	nicLow      = 0.05
)

// mark notes a sample of a clock, and whether it shows progress.
func (c *clockState) mark(stamp int64, runs bool) {
	c.sample = max(c.sample, stamp)
	if runs {
		c.run = max(c.run, stamp)
	}
}

// readGPUs reads the clocks of a job that are levels of GPUs and NICs.
func (d *progress) readGPUs(t *Tick, j *signals.Job, p *progressJob) {
	var seen, active [2]int
	var stamp [2]int64
	for _, id := range p.gpus.of(t, j) {
		for k, kind := range [...]int{levelTensor, levelPower} {
			s, ok := d.levels.byID(t.Time, kind, id)
			if !ok {
				continue
			}
			seen[k]++
			stamp[k] = max(stamp[k], s.stamp)
			if !s.low(kind) {
				active[k]++
			}
		}
	}
	for k, clock := range [...]int{clockTensor, clockPower} {
		if seen[k] > 0 && 3*seen[k] >= len(j.GPUs) {
			p.clocks[clock].mark(stamp[k], float64(active[k]) >= max(1, activeShare*float64(seen[k])))
		}
	}
	d.readNICs(t, j, p)
}

// gpuIDs are the numbers of the GPUs of a job, which are looked up when the job has
// others or things got numbers.
type gpuIDs struct {
	ids      []signals.EntityID
	first    *signals.Entity // of the job's list, which is a new one when it changes
	entities *signals.Entities
	n, known int
}

// of lists those that have a number.
func (g *gpuIDs) of(t *Tick, j *signals.Job) []signals.EntityID {
	if len(j.GPUs) == 0 {
		return nil
	}
	if g.first == &j.GPUs[0] && g.n == len(j.GPUs) && g.entities == t.Entities && g.known == t.Entities.Len() {
		return g.ids
	}
	g.first, g.n, g.entities, g.known = &j.GPUs[0], len(j.GPUs), t.Entities, t.Entities.Len()
	g.ids = g.ids[:0]
	for _, e := range j.GPUs {
		if id, ok := t.Entities.Find(e); ok {
			g.ids = append(g.ids, id)
		}
	}
	return g.ids
}

// low says that a GPU does not work, by tensor activity or power.
func (s level) low(kind int) bool {
	switch kind {
	case levelTensor:
		return float64(s.value) < max(tensorFloor, tensorLow*float64(s.usual))
	case levelPower:
		return float64(s.value) < powerLow*float64(s.usual)
	}
	return false
}

func (d *progress) readNICs(t *Tick, j *signals.Job, p *progressJob) {
	var value, usual float64
	var count int
	var stamp int64
	for _, host := range j.Hosts {
		if t.byHost[host] != j {
			continue // shared host: its NICs carry others too
		}
		v, u, n, s := d.levels.nics(t.Time, host)
		value, usual, count, stamp = value+v, usual+u, count+n, max(stamp, s)
	}
	if count > 0 {
		p.clocks[clockNIC].mark(stamp, value > max(nicFloor*float64(count), nicLow*usual))
	}
}

// readCounters reads the clocks that are rows of their own: files, steps, RAS
// and operations.
func (d *progress) readCounters(t *Tick) {
	d.readFiles(t)
	d.readDeltas(t, t.Frame(signals.StepCount), clockSteps)
	d.readDeltas(t, t.Frame(signals.CollOps), clockPlugin)
	f := t.Frame(signals.RASCount)
	for i := range f.Len() {
		if p := d.of(t, f.Entity[i]); p != nil {
			moved := len(f.Changed) > i && f.Changed[i] != 0 && f.Stamp[i]-f.Changed[i] < d.o.Interval.Milliseconds()
			p.clocks[clockRAS].mark(f.Stamp[i], moved)
		}
	}
}

// of returns the state of the running job that an entity works for.
func (d *progress) of(t *Tick, id signals.EntityID) *progressJob {
	j := t.jobOf(id)
	if j == nil || j.Ended {
		return nil
	}
	return d.jobs[j.ID]
}

// readFiles follows the newest file of each job.
func (d *progress) readFiles(t *Tick) {
	f := t.Frame(signals.InspectorAge)
	for i := range f.Len() {
		p := d.of(t, f.Entity[i])
		if p == nil || math.IsNaN(f.Value[i]) {
			continue
		}
		written := f.Stamp[i] - int64(f.Value[i]*1000)
		j := t.jobOf(f.Entity[i])
		if !j.FirstSeen.IsZero() && written < j.FirstSeen.UnixMilli() && p.clocks[clockInspector].run == 0 {
			continue // a file that a former job left behind
		}
		p.file(written, f.Stamp[i])
	}
	// A log that is turned into series has no file with a time: its sequence
	// numbers come in on and on, and tell by standing that nothing new does.
	f = t.Frame(signals.CollSequence)
	for i := range f.Len() {
		if e := t.Entities.Of(f.Entity[i]); e.Detail != "" || len(f.Changed) <= i {
			continue // the plugin's: it has a clock of its own
		}
		if p := d.of(t, f.Entity[i]); p != nil {
			p.file(f.Changed[i], f.Stamp[i])
		}
	}
	for _, id := range []signals.ID{signals.CollExecTime, signals.P2PExecTime} {
		f := t.Frame(id)
		for i := range f.Len() {
			if len(f.Dump) <= i || f.Dump[i] == 0 {
				break
			}
			if p := d.of(t, f.Entity[i]); p != nil {
				p.file(f.Dump[i], max(f.Stamp[i], f.Dump[i]))
			}
		}
	}
}

// file notes that a file was written, as seen at stamp, and learns how long
// the job takes between two files.
func (p *progressJob) file(written, stamp int64) {
	c := &p.clocks[clockInspector]
	c.sample = max(c.sample, stamp)
	if written <= c.run {
		return
	}
	if c.run != 0 && p.watched.IsZero() {
		between := time.Duration(written-c.run) * time.Millisecond
		p.writeGap = max(between, p.writeGap*999/1000)
	}
	c.run = written
}

// readDeltas reads a counter that grows with progress.
func (d *progress) readDeltas(t *Tick, f *signals.Frame, clock int) {
	for i := range f.Len() {
		if i >= len(f.Delta) || math.IsNaN(f.Delta[i]) {
			continue
		}
		if p := d.of(t, f.Entity[i]); p != nil {
			p.clocks[clock].mark(f.Stamp[i], f.Delta[i] > 0)
		}
	}
}
