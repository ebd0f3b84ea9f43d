package detectors

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// windows averages the times of collectives over windows in which (nearly) all
// members of a communicator reported, so that members can be compared.
//
// Members dump on phases of their own, and an operation that is rarer than the
// dumps is absent from most of them. A window therefore ends when it is one
// dump old and four fifths of the members have something in it; it is as long
// as the slowest operation makes it. It is no detector in itself: lateness and
// transfer read the channels that closed at this tick.
type windows struct {
	dump     time.Duration
	channels map[channelKey]*channel
	rows     [2]States[rowRef] // collectives, P2P
	closed   []*channel
	every    map[string]int64 // ms between windows of the rarest operation of a job
	ticks    uint32
}

// channelKey names one kind of operation of one communicator. Sizes and
// algorithms are kept apart: a mean over a mix moves with the mix.
type channelKey struct{ group, op, size, algo string }

// channel is one kind of operation of one communicator.
type channel struct {
	channelKey
	group   *signals.Group
	members []member

	start, end int64 // ms: of the open window, and when the last one closed
	began      int64 // ms: start of the window closed last
	every      int64 // ms between the last two closes
	seq        int   // number of closed windows
	newest     int64 // ms: stamp of the newest sample
	dead       bool

	late     []lateState // of lateness, one per member
	transfer transferState
}

// member is one GPU of a channel.
type member struct {
	thing signals.Entity
	sum   float64
	n     int32
	idle  int32   // closed windows in a row without a sample
	mean  float64 // s, of the window closed last; NaN if it was absent
	prev  float64 // s, of the window before
}

// last is the mean of the window closed last.
func (m *member) last() float64 { return m.mean }

// recent is the mean of the last two closed windows, NaN without any.
func (m *member) recent() float64 {
	switch {
	case math.IsNaN(m.mean):
		return m.prev
	case math.IsNaN(m.prev):
		return m.mean
	}
	return (m.mean + m.prev) / 2
}

// rowRef leads from a row of a frame to its member, and knows the dump seen
// last: each dump is scraped several times.
type rowRef struct {
	ch     *channel
	last   float64 // value of the newest dump
	stamp  int64   // ms, when it was first seen
	member int32
	thing  signals.EntityID
}

func newWindows(o Options) *windows {
	return &windows{dump: o.Dump, channels: map[channelKey]*channel{}, every: map[string]int64{}}
}

// Name implements Detector.
func (w *windows) Name() string { return windowsName }

const windowsName = "windows"

// Observe implements Detector. It reports nothing.
func (w *windows) Observe(t *Tick, _ *Report) {
	w.ticks++
	w.closed = w.closed[:0]
	w.collect(t, t.Frame(signals.CollExecTime), &w.rows[0])
	w.collect(t, t.Frame(signals.P2PExecTime), &w.rows[1])
	now := t.Time.UnixMilli()
	clear(w.every)
	for _, ch := range w.channels {
		if !pointToPoint(ch.op) { // whose windows follow the others'
			w.every[ch.group.Job] = max(w.every[ch.group.Job], ch.every)
		}
	}
	for key, ch := range w.channels {
		switch {
		case now-ch.newest > channelMemory.Milliseconds():
			ch.dead = true
			delete(w.channels, key)
		case w.ready(ch, now):
			ch.close(now)
			w.closed = append(w.closed, ch)
		}
	}
	slices.SortFunc(w.closed, compareChannels)
}

func compareChannels(a, b *channel) int {
	return cmp.Or(cmp.Compare(a.channelKey.group, b.channelKey.group), cmp.Compare(a.op, b.op),
		cmp.Compare(a.size, b.size), cmp.Compare(a.algo, b.algo))
}

// channelMemory is how long a channel without samples is remembered.
const channelMemory = 15 * time.Minute

// Renumber implements Renumberer.
func (w *windows) Renumber(to []signals.EntityID, count int) {
	for i := range w.rows {
		w.rows[i].Renumber(to, count)
		for j := range w.rows[i].list {
			w.rows[i].list[j].thing = Gone
		}
	}
}

// collect adds the new dumps of a frame to their channels.
func (w *windows) collect(t *Tick, f *signals.Frame, rows *States[rowRef]) {
	ages := t.Frame(signals.InspectorAge)
	stale := (2*w.dump + w.dump/2).Seconds()
	for i := range f.Len() {
		id, v := f.Entity[i], f.Value[i]
		if !(v > 0) || math.IsInf(v, 1) {
			continue
		}
		ref := rows.At(id)
		if ref.ch == nil || ref.ch.dead || (uint32(id)+w.ticks)%16 == 0 {
			w.place(t, id, ref)
		}
		if ref.ch == nil {
			continue
		}
		at := f.Stamp[i]
		if len(f.Dump) > i && f.Dump[i] != 0 {
			at = f.Dump[i]
			if at == ref.stamp {
				continue // the same dump, read again
			}
		} else {
			if ref.thing != Gone && ages.Len() > 0 && ages.Get(ref.thing) > stale {
				continue // a frozen file: no completion since, and no time either
			}
			if v == ref.last && at-ref.stamp < w.dump.Milliseconds()*9/10 {
				continue // the same value, scraped again
			}
		}
		ref.last, ref.stamp = v, at
		ref.ch.add(int(ref.member), v, at)
	}
}

// add is one new dump of a member.
func (ch *channel) add(i int, v float64, at int64) {
	m := &ch.members[i]
	m.sum += v
	m.n++
	if ch.start == 0 || at < ch.start {
		ch.start = at
	}
	ch.newest = max(ch.newest, at)
}

// place finds the channel and the member of a row. Rows whose communicator is
// not known have none.
func (w *windows) place(t *Tick, id signals.EntityID, ref *rowRef) {
	gi, ok := t.GroupOf[id]
	if !ok || int(gi) >= len(t.Groups) {
		ref.ch = nil
		return
	}
	e, g := t.Entities.Of(id), t.Groups[gi]
	key := channelKey{group: g.ID, op: e.Op, size: e.Size, algo: e.Algo}
	ch := w.channels[key]
	if ch == nil {
		ch = &channel{channelKey: key, newest: t.Time.UnixMilli()}
		w.channels[key] = ch
	}
	ch.group = g
	thing := e.Thing()
	ref.ch, ref.member = ch, int32(ch.index(thing))
	ref.thing = Gone
	if tid, ok := t.Entities.Find(thing); ok {
		ref.thing = tid
	}
}

// index returns the number of a thing among the members, adding it.
func (ch *channel) index(thing signals.Entity) int {
	for i := range ch.members {
		if ch.members[i].thing == thing {
			return i
		}
	}
	ch.members = append(ch.members, member{thing: thing, mean: math.NaN(), prev: math.NaN()})
	ch.late = append(ch.late, lateState{})
	return len(ch.members) - 1
}

// ready says whether the open window may close: as soon as all active members
// have shown a dump, at one dump of age with four fifths of them, at four dumps
// with half of them, and after twenty with whoever is there. Waiting for the age
// where nobody is missing would make windows of one and a half dumps out of
// dumps on two phases: some members twice, the others once. Transfers between two ranks come in
// phases of a step, so that their windows are as long as a step.
func (w *windows) ready(ch *channel, now int64) bool {
	if ch.start == 0 {
		return false
	}
	age := time.Duration(now-ch.start) * time.Millisecond
	if age < w.dump/2 {
		return false
	}
	if pointToPoint(ch.op) && age < min(time.Duration(w.every[ch.group.Job])*time.Millisecond, 20*w.dump) {
		return false
	}
	active, fresh := 0, 0
	for i := range ch.members {
		if m := &ch.members[i]; m.n > 0 {
			active++
			fresh++
		} else if m.idle < 4 {
			active++
		}
	}
	if ch.seq == 0 && age < 2*w.dump {
		active = max(active, int(ch.group.NRanks)) // members not seen yet
	}
	switch {
	case age >= 20*w.dump:
		return fresh > 0
	case age >= 4*w.dump:
		return 2*fresh >= active
	case age < w.dump:
		return fresh == active
	}
	return 5*fresh >= 4*active
}

// close turns the sums of the open window into means.
func (ch *channel) close(now int64) {
	for i := range ch.members {
		m := &ch.members[i]
		m.prev = m.mean
		m.mean = math.NaN()
		m.idle++
		if m.n > 0 {
			m.mean = m.sum / float64(m.n)
			m.idle = 0
		}
		m.sum, m.n = 0, 0
	}
	if ch.seq > 0 {
		ch.every = now - ch.end
	}
	ch.began, ch.end, ch.start = ch.start, now, 0
	ch.seq++
}
