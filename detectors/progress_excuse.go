package detectors

import (
	"time"

	"github.com/collwatch/collwatch/signals"
)

// checkpoint notes that hosts of a job show the I/O of a checkpoint. One host alone
// may be busy for reasons of its own, and must not hide that a job of many hangs:
// it counts as long as it is seen to write for all of them, which is to say that
// not all of its GPUs spin in a collective, as those of a victim do.
func (d *progress) checkpoint(t *Tick, j *signals.Job, p *progressJob) {
	busy := 0
	for _, host := range j.Hosts {
		if d.levels.saves(t, host) {
			busy++
			if !d.levels.spins(t, j, host, p.watched) {
				p.writes = t.Time
			}
		}
	}
	if busy > 0 && 2*busy >= len(j.Hosts) {
		p.evidence = t.Time
	}
}

// saves says that a host has pressure well above its usual, or a storage card that
// is busy.
func (l *levels) saves(t *Tick, host string) bool {
	h := l.hosts[host]
	if h == nil {
		return false
	}
	if h.io != Gone {
		if s, ok := l.byID(t.Time, levelIO, h.io); ok && float64(s.value) >= max(pressureBusy, 3*float64(s.usual)) {
			return true
		}
	}
	busiest := l.busiest(h)
	for _, id := range h.nics {
		s, ok := l.byID(t.Time, levelNIC, id)
		if ok && s.usual < computeShare*busiest && float64(s.value) >= max(storageBusy, storageRise*float64(s.usual)) {
			return true
		}
	}
	return false
}

// spins says that all GPUs of a job on a host spin, or that nothing since then
// tells otherwise. Where utilisation is not reported it cannot be said.
func (l *levels) spins(t *Tick, j *signals.Job, host string, since time.Time) bool {
	known := false
	for _, g := range j.GPUs {
		if g.Host != host {
			continue
		}
		if s, ok := l.get(t, levelUtil, g); ok {
			known = true
			if s.value < spinning && s.stamp >= since.UnixMilli() {
				return false
			}
		}
	}
	return known
}

// computes notes that a GPU of a job that stands computes: its rank evaluates, and
// the others wait for it. A value may be older than its sample, so that those of the
// first moments tell what was before. Where tensor activity is not reported, power
// tells.
func (d *progress) computes(t *Tick, j *signals.Job, p *progressJob) {
	if p.still.IsZero() {
		return
	}
	least := p.still.Add(gpuCollection).UnixMilli()
	for _, g := range j.GPUs {
		kind := levelTensor
		s, ok := d.levels.get(t, kind, g)
		if !ok {
			kind = levelPower
			s, ok = d.levels.get(t, kind, g)
		}
		if ok && s.usual > 0 && s.stamp >= least && !s.low(kind) {
			p.computes = later(p.computes, time.UnixMilli(s.stamp))
		}
	}
}

// gpuCollection is how much older than its sample a value of a GPU may be: DCGM
// collects every 30 s.
const gpuCollection = 30 * time.Second

// excuse says why a stop may be all right.
func (d *progress) excuse(now time.Time, p *progressJob, out *JobProgress) {
	until := out.Since.Add(d.o.Progress.PauseLimit)
	switch {
	case !p.evidence.IsZero() || now.Sub(p.writes) <= freshness:
		out.Phase, out.PhaseSince, out.PhaseUntil = PhaseCheckpoint, out.Since, until
		return
	case now.Sub(p.computes) <= freshness:
		out.Phase, out.PhaseSince, out.PhaseUntil = PhaseOneComputes, out.Since, until
		return
	case len(p.pauses) < pauseRuns:
		return
	}
	longest := time.Duration(0)
	for _, pause := range p.pauses {
		longest = max(longest, pause)
	}
	until = out.Since.Add(min(longest*5/4+30*time.Second, d.o.Progress.PauseLimit))
	if now.Before(until) {
		out.Phase, out.PhaseSince, out.PhaseUntil = PhaseLearnedPause, out.Since, until
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
