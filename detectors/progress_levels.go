package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// levels knows what each GPU, NIC and host does now and what it does while its
// job goes on. What "low" means differs by model, cap and job, so it is learned.
type levels struct {
	now   [levelKinds]States[level]
	hosts map[string]*hostTraffic
	// dirty are the entities with a new sample at this tick, by kind.
	dirty [levelKinds][]signals.EntityID
	rates []float64
}

// level is one series. 24 bytes.
type level struct {
	stamp int64   // ms, of the newest sample
	value float32 // newest
	usual float32 // while the job goes on, 0 unknown
	n     uint16
}

const (
	levelTensor = iota
	levelPower
	levelUtil
	levelMemory
	levelNIC
	levelIO
	levelKinds
)

func levelSignals() [levelKinds]signals.ID {
	return [...]signals.ID{
		signals.GPUTensorActive, signals.GPUPower, signals.GPUUtil, signals.GPUMemUsed, signals.NICTx, signals.HostIOPressure,
	}
}

// hostTraffic lists the NICs of a host, and its pressure series.
type hostTraffic struct {
	nics []signals.EntityID
	io   signals.EntityID
}

const (
	// storageBusy is the least rate of a storage card that counts as a
	// checkpoint, in B/s, and storageRise how far above its usual rate.
	storageBusy = 3e8
	storageRise = 4.0
	// pressureBusy is the least I/O pressure of a checkpoint.
	pressureBusy = 0.1
	// computeShare is the least share of the busiest NIC of a host that makes
	// a NIC one that carries collectives.
	computeShare = 0.2
	// nicFloor is the rate below which a NIC carries nothing but chatter.
	nicFloor = 1e6
)

func newLevels() *levels { return &levels{hosts: map[string]*hostTraffic{}} }

func (l *levels) renumber(to []signals.EntityID, count int) {
	for i := range l.now {
		l.now[i].Renumber(to, count)
	}
	clear(l.hosts)
}

// update takes the new samples of a tick.
func (l *levels) update(t *Tick) {
	for kind, id := range levelSignals() {
		l.dirty[kind] = l.dirty[kind][:0]
		f := t.Frame(id)
		for i := range f.Len() {
			v := f.Value[i]
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				continue
			}
			eid := f.Entity[i]
			s := l.now[kind].At(eid)
			if s.stamp == 0 {
				l.enlist(kind, eid, t.Entities.Of(eid))
			}
			s.value, s.stamp = float32(v), f.Stamp[i]
			l.dirty[kind] = append(l.dirty[kind], eid)
		}
	}
}

// enlist remembers NICs and pressure by host.
func (l *levels) enlist(kind int, id signals.EntityID, e signals.Entity) {
	if kind != levelNIC && kind != levelIO {
		return
	}
	h := l.hosts[e.Host]
	if h == nil {
		h = &hostTraffic{io: Gone}
		l.hosts[e.Host] = h
	}
	if kind == levelIO {
		h.io = id
		return
	}
	h.nics = append(h.nics, id)
}

// learn moves the usual levels of what works for a job that goes on. The usual
// level of a GPU is a high one: a step has quiet parts.
func (l *levels) learn(t *Tick, running func(job string) bool) {
	for kind := range l.dirty {
		for _, id := range l.dirty[kind] {
			j := t.jobOf(id)
			if j == nil || !running(j.ID) {
				continue
			}
			s := l.now[kind].At(id)
			if s.n < math.MaxUint16 {
				s.n++
			}
			weight := max(0.02, 1/float32(s.n))
			if kind != levelNIC && kind != levelIO && s.value > s.usual {
				weight = max(weight, 0.2)
			}
			s.usual += weight * (s.value - s.usual)
		}
	}
}

// get returns the level of an entity if it has a fresh sample.
func (l *levels) get(t *Tick, kind int, e signals.Entity) (level, bool) {
	id, ok := t.Entities.Find(e)
	if !ok {
		return level{}, false
	}
	return l.byID(t.Time, kind, id)
}

func (l *levels) byID(now time.Time, kind int, id signals.EntityID) (level, bool) {
	s := l.now[kind].Peek(id)
	if s == nil || s.stamp == 0 || now.Sub(time.UnixMilli(s.stamp)) > freshness {
		return level{}, false
	}
	return *s, true
}

// nics sums the compute NICs of a host: what they carry and what they usually
// do, with the newest stamp.
func (l *levels) nics(now time.Time, host string) (value, usual float64, count int, stamp int64) {
	h := l.hosts[host]
	if h == nil {
		return 0, 0, 0, 0
	}
	busiest := l.busiest(h)
	l.rates = l.rates[:0]
	for _, id := range h.nics {
		s, ok := l.byID(now, levelNIC, id)
		if !ok || s.usual < computeShare*busiest {
			continue
		}
		value, usual, count, stamp = value+float64(s.value), usual+float64(s.usual), count+1, max(stamp, s.stamp)
		l.rates = append(l.rates, float64(s.value))
	}
	if busiest == 0 && count > 0 {
		// Nobody knows yet which of them carry collectives: one busy card
		// among many is the storage card.
		slices.Sort(l.rates)
		value = l.rates[(len(l.rates)-1)/2] * float64(count)
	}
	return value, usual, count, stamp
}

// busiest is the largest usual rate of the NICs of a host, 0 while unknown.
func (l *levels) busiest(h *hostTraffic) float32 {
	out := float32(0)
	for _, id := range h.nics {
		out = max(out, l.now[levelNIC].At(id).usual)
	}
	return out
}

// keep lists the usual levels of the parts of a job.
func (l *levels) keep(t *Tick, j *signals.Job) []keptLevel {
	var out []keptLevel
	l.each(t, j, func(kind int, e signals.Entity, s *level) {
		if s.usual > 0 {
			out = append(out, keptLevel{levelSignals()[kind].String(), e.Host, e.Device, e.Port, s.usual})
		}
	})
	return out
}

// recall takes usual levels of the parts of a job that have a sample and none.
func (l *levels) recall(t *Tick, j *signals.Job, kept []keptLevel) {
	by := make(map[keptLevel]float32, len(kept))
	for _, k := range kept {
		usual := k.Usual
		k.Usual = 0
		if usual > 0 && !math.IsInf(float64(usual), 0) {
			by[k] = usual
		}
	}
	l.each(t, j, func(kind int, e signals.Entity, s *level) {
		if usual, ok := by[keptLevel{levelSignals()[kind].String(), e.Host, e.Device, e.Port, 0}]; ok && s.usual == 0 {
			s.usual = usual
		}
	})
}

// each goes over the levels of a job that have a sample.
func (l *levels) each(t *Tick, j *signals.Job, f func(kind int, e signals.Entity, s *level)) {
	visit := func(kind int, id signals.EntityID) {
		if s := l.now[kind].Peek(id); s != nil && s.stamp != 0 {
			f(kind, t.Entities.Of(id), s)
		}
	}
	for _, g := range j.GPUs {
		if id, ok := t.Entities.Find(g); ok {
			for _, kind := range [...]int{levelTensor, levelPower, levelUtil, levelMemory} {
				visit(kind, id)
			}
		}
	}
	for _, name := range j.Hosts {
		h := l.hosts[name]
		if h == nil || t.byHost[name] != j {
			continue
		}
		for _, id := range h.nics {
			visit(levelNIC, id)
		}
		if h.io != Gone {
			visit(levelIO, h.io)
		}
	}
}
