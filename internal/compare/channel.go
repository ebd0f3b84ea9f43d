package compare

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// channelKey is one kind of operation of one communicator.
type channelKey struct {
	group string
	Key
}

// channel gathers what the members of a communicator show until (nearly) all
// did, because only then they can be compared: a window of a rare operation is
// as long as it takes.
type channel struct {
	each    func(*Window)
	things  []signals.Entity // of the members
	row     *row
	op      string
	known   bool // the membership is known
	members []*member
	index   map[signals.Entity]int
	start   int64 // ms: first value of the open window, 0 if it is empty
	lowest  int   // member with the least mean in the window before
	stable  int   // windows in a row with the same lowest
}

// member is one GPU in a channel.
type member struct {
	ch   *channel
	job  string
	dump [kinds]int64 // ms, of the newest dump per kind of value
	acc  [kinds]mean
	idle int // closed windows in a row without a value
}

// mean accumulates.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum += v; m.n++ }

func (m *mean) value() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.sum / float64(m.n)
}

// The kinds of values of a member.
const (
	kindTime = iota
	kindBandwidth
	kindLeast
	kindBytes
	kinds
)

func kindOf(id signals.ID) int {
	switch id {
	case signals.CollBusBandwidth, signals.P2PBusBandwidth:
		return kindBandwidth
	case signals.CollTransferTime:
		return kindLeast
	}
	return kindTime
}

func (ch *channel) member(thing signals.Entity, job string) *member {
	if i, ok := ch.index[thing]; ok {
		return ch.members[i]
	}
	m := &member{ch: ch, job: job}
	ch.index[thing] = len(ch.members)
	ch.members = append(ch.members, m)
	ch.things = append(ch.things, thing)
	return m
}

func (m *member) add(id signals.ID, v, bytes float64, now int64) {
	kind := kindOf(id)
	m.acc[kind].add(v)
	if kind == kindTime && bytes > 0 {
		m.acc[kindBytes].add(bytes)
	}
	if m.ch.start == 0 {
		m.ch.start = now
	}
}

const (
	// memberShare is the part of the active members that must have shown a value.
	memberShare = 0.8
	// longest is after how many windows one closes with whoever is there.
	longest = 10
	// idleAfter is after how many windows a silent member is no longer waited
	// for.
	idleAfter = 4
	// calm is how far the median may lie above the least before the least is
	// believed only with a stable lowest member: if the last to arrive rotates,
	// even the least mean contains waiting (15 times the transfer on the public
	// trace with random sequence lengths).
	calm = 1.5
	// stableFor is how many windows in a row make a lowest member stable.
	stableFor = 3
)

// ready says whether the open window may close.
func (ch *channel) ready(now, window int64) bool {
	if ch.start == 0 || now-ch.start < window {
		return false
	}
	if now-ch.start >= longest*window {
		return true
	}
	active, fresh := 0, 0
	for _, m := range ch.members {
		switch {
		case m.acc[kindTime].n+m.acc[kindBandwidth].n > 0:
			active++
			fresh++
		case m.idle < idleAfter:
			active++
		}
	}
	return float64(fresh) >= memberShare*float64(active)
}

// close turns the open window into one value per metric for the row.
func (ch *channel) close(now int64) {
	from := ch.start
	ch.start = 0
	var times, bands, leasts []float64
	bytes, lowest := mean{}, -1
	for i, m := range ch.members {
		if t := m.acc[kindTime].value(); !math.IsNaN(t) {
			if lowest < 0 || t < ch.members[lowest].acc[kindTime].value() {
				lowest = i
			}
			times = append(times, t)
		}
		if v := m.acc[kindBandwidth].value(); !math.IsNaN(v) {
			bands = append(bands, v)
		}
		if v := m.acc[kindLeast].value(); !math.IsNaN(v) {
			leasts = append(leasts, v)
		}
		if v := m.acc[kindBytes].value(); !math.IsNaN(v) {
			bytes.add(v)
		}
	}
	out := window{at: now}
	out.set(Time, average(times))
	out.set(Bandwidth, median(bands))
	if ch.comparable(len(times)) {
		ch.split(&out, times, leasts, lowest)
	}
	out.bytes = bytes.value()
	if ch.each != nil && len(times) > 0 {
		ch.each(ch.window(from, now, times))
	}
	for _, m := range ch.members {
		m.idle++
		if m.acc[kindTime].n+m.acc[kindBandwidth].n > 0 {
			m.idle = 0
		}
		m.acc = [kinds]mean{}
	}
	ch.row.put(&out)
}

// comparable says that a window has enough members of a known communicator
// whose operations end together.
func (ch *channel) comparable(seen int) bool {
	least := max(2, int(math.Ceil(memberShare*float64(ch.row.NRanks))))
	return ch.known && ch.row.symmetric() && seen >= least
}

// split separates transfer and waiting: the last to arrive does not wait.
func (ch *channel) split(out *window, times, leasts []float64, lowest int) {
	if lowest == ch.lowest {
		ch.stable++
	} else {
		ch.lowest, ch.stable = lowest, 1
	}
	mean, least := average(times), slices.Min(times)
	out.set(Lateness, 1-least/mean)
	switch {
	case len(leasts) == len(times):
		// An exported minimum is a direct estimate.
		out.set(Transfer, slices.Min(leasts))
	case ch.op == "AllGather", ch.stable >= stableFor, median(times) <= calm*least:
		out.set(Transfer, least)
	}
}

func average(xs []float64) float64 {
	m := mean{}
	for _, x := range xs {
		m.add(x)
	}
	return m.value()
}

// Window is what the members of one communicator showed in one window.
type Window struct {
	// From and At are its first value and its end.
	From, At time.Time
	Key      Key
	// Members and their mean times in seconds, NaN for who showed none.
	Members []signals.Entity
	Times   []float64
	// Comparable says that enough members of a known communicator are there, and
	// that their operations end together: the differences of times are waiting.
	Comparable bool

	seen []float64
}

func (ch *channel) window(from, now int64, times []float64) *Window {
	w := &Window{
		From: time.UnixMilli(from).UTC(), At: time.UnixMilli(now).UTC(), Key: ch.row.Key, Members: ch.things, Times: make([]float64, len(ch.members)),
		Comparable: ch.comparable(len(times)), seen: times,
	}
	for i, m := range ch.members {
		w.Times[i] = m.acc[kindTime].value()
	}
	return w
}

// Mean is the mean time of the members.
func (w *Window) Mean() float64 { return average(w.seen) }

// Median is the median time of the members.
func (w *Window) Median() float64 { return median(w.seen) }

// Least is the time of the member that waited least.
func (w *Window) Least() float64 { return slices.Min(w.seen) }
