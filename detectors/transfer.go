package detectors

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// transfer finds communicators whose transfer itself is slow. The least time of
// all members is about the pure transfer, because the last to arrive does not
// wait; it is compared with the group's own past and with groups of the same
// role. See docs/detectors/transfer.md.
type transfer struct {
	win   *windows
	o     TransferOptions
	chart chart
	// noise is the autocorrelation of transfer times across hosts and inside.
	noise [2]correlation
	peers lists[transferRole, float64] // ln of the transfer times, sorted
	xs    []float64
}

// transferRole is what must be equal for two groups to be peers.
type transferRole struct {
	job            string
	kind           signals.GroupKind
	op, size, algo string
	ranks, nodes   int32
}

// transferState is the state of one channel.
type transferState struct {
	own    baseline
	before float32 // residual of the window before, 0 unknown
	tau    float64 // s, of the window closed last; NaN if it is no transfer time
	peer   float64 // s, median of the peers; NaN without
	score  float64
	since  int64 // ms, first exceedance against peers
	count  int32 // peers
	hits   uint8
	far    uint8 // windows in a row far beyond the limits
	lowest int32 // member with the least mean in the last window
	stable uint8 // windows in a row with the same host lowest
	slow   bool  // against peers
	slower bool  // against its own past
}

const (
	// transferEffect is the least slowness that matters: against the own past,
	// and against peers, which may move a little more or less data each.
	transferEffect = 0.10
	peerEffect     = 0.15
	// transferFar is how often the effect and the score of the limits two
	// windows in a row must have to be believed without a third.
	transferFar = 2.5
	// transferFloor is the least scale of ln(time) between groups: 2 %.
	transferFloor = 0.02
	peerScore     = 5.0
	// calm is how far the median may lie above the least before the least is
	// believed only with a stable lowest member: if the last to arrive
	// rotates, even the least mean contains waiting.
	calm = 1.5
)

func newTransfer(o Options, w *windows) *transfer {
	return &transfer{
		win: w,
		o:   o.Transfer,
		chart: chart{
			lambda: o.Transfer.EWMA.Lambda, limit: o.Transfer.EWMA.Limit, period: o.Dump, phi: o.Transfer.EWMA.Phi,
			floor: o.Transfer.EWMA.ScaleFloor, effect: o.Transfer.Effect, warmUp: o.Transfer.EWMA.WarmUp,
		},
		peers: lists[transferRole, float64]{},
	}
}

// Name implements Detector.
func (d *transfer) Name() string { return "transfer" }

// Observe implements Detector.
func (d *transfer) Observe(t *Tick, r *Report) {
	for _, ch := range d.win.closed {
		if transfers(ch) {
			d.measure(t, ch)
		}
	}
	if len(d.win.closed) > 0 {
		d.group()
	}
	for _, ch := range d.win.closed {
		if transfers(ch) && !math.IsNaN(ch.transfer.tau) {
			d.compare(ch)
		}
	}
	at := len(r.Findings)
	for _, ch := range d.win.channels {
		if transfers(ch) && ch.seq > 0 && !outdated(t.Time, ch) {
			d.report(r, ch)
		}
	}
	slices.SortFunc(r.Findings[at:], func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Entity.Op, b.Entity.Op),
			cmp.Compare(a.Entity.Size, b.Entity.Size), cmp.Compare(a.Entity.Algo, b.Entity.Algo))
	})
}

// transfers says that the least time of a channel can be its transfer time.
// Embedding groups are left out: they have two members, first and last stage,
// whose arrivals depend on the schedule of the pipeline.
func transfers(ch *channel) bool {
	return symmetric(ch.op) && ch.group.Kind != signals.GroupEmbed &&
		ch.group.Derived != signals.DerivedNot && len(ch.members) > 1
}

// measure takes the least mean as the transfer time, where that is sound, and
// compares it with the group's past.
func (d *transfer) measure(t *Tick, ch *channel) {
	s := &ch.transfer
	s.tau = math.NaN()
	d.xs = d.xs[:0]
	best := -1
	for i := range ch.members {
		if m := ch.members[i].mean; !math.IsNaN(m) {
			d.xs = append(d.xs, m)
			if best < 0 || m < ch.members[best].mean {
				best = i
			}
		}
	}
	if len(d.xs) < 2 || 2*len(d.xs) < len(ch.members) {
		return
	}
	if s.stable > 0 && ch.op != "AllGather" && int(s.lowest) < len(ch.members) {
		if m := &ch.members[s.lowest]; math.IsNaN(m.mean) && m.idle < 4 {
			return // the last to arrive did not report: all that is left waited
		}
	}
	least := ch.members[best].mean
	if s.stable > 0 && int(s.lowest) < len(ch.members) && ch.members[s.lowest].thing.Host == ch.members[best].thing.Host {
		s.stable = min(s.stable+1, 250)
	} else {
		s.stable = 1
	}
	s.lowest = int32(best)
	if ch.op != "AllGather" && s.stable < 3 && Median(d.xs) > calm*least {
		return
	}
	s.tau = least
	if ch.seq > skipSamples {
		d.learn(t, ch, math.Log(least))
	}
}

// learn judges a transfer time by the group's past. The limit follows the
// autocorrelation that such times show here.
func (d *transfer) learn(t *Tick, ch *channel, x float64) {
	s, family := &ch.transfer, 0
	if ch.group.NNodes == 1 {
		family = 1
	}
	d.chart.phi = d.noise[family].phi(d.o.EWMA.Phi)
	frozen := t.Frozen(signals.Entity{Kind: signals.KindComm, Job: ch.group.Job})
	u := s.own.update(x, ch.end, &d.chart, frozen)
	if math.IsNaN(u) || frozen || s.own.flags != 0 {
		u = 0 // a change is no noise
	} else if s.before != 0 {
		d.noise[family].add(float64(s.before), u)
	}
	s.before = float32(u)
}

// group sorts the transfer times of all channels that have one by role.
func (d *transfer) group() {
	d.peers.reset()
	for _, ch := range d.win.channels {
		if transfers(ch) && ch.seq > 0 && !math.IsNaN(ch.transfer.tau) && ch.transfer.tau > 0 {
			d.peers.add(ch.role(), math.Log(ch.transfer.tau))
		}
	}
	sortLists(d.peers)
}

func (ch *channel) role() transferRole {
	g := ch.group
	return transferRole{g.Job, g.Kind, ch.op, ch.size, ch.algo, g.NRanks, g.NNodes}
}

// compare sets a channel against the groups of the same role.
func (d *transfer) compare(ch *channel) {
	s := &ch.transfer
	x := math.Log(s.tau)
	w, ok := withoutValue(d.peers[ch.role()], x)
	if !ok {
		return // it has no transfer time itself
	}
	s.count, s.peer = int32(w.len()), math.NaN()
	hit := false
	if w.len() >= 2 {
		others := w.spread()
		s.peer, s.score = math.Exp(others.mid), others.score(x, transferFloor)
		effect := d.o.PeerEffect
		if s.slow {
			effect /= 2
		}
		if x-others.mid > transferFar*math.Log1p(d.o.PeerEffect) && s.score > transferFar*d.o.PeerScore {
			s.far = min(s.far+1, 250)
		} else {
			s.far = 0
		}
		hit = x-others.mid > math.Log1p(effect) && s.score > d.o.PeerScore/2 && (s.slow || s.score > d.o.PeerScore)
	}
	s.hits <<= 1
	if hit {
		s.hits |= 1
		if !s.slow && s.hits&0b1110 == 0 {
			s.since = ch.began
		}
	}
	s.slow = lasting(s.slow, s.hits) || s.far >= 2 && s.hits&0b11 == 0b11
	s.slower = lasting(s.slower && s.own.flags&flagUp != 0, s.own.hits)
}

// lasting says whether exceedances last: three of four windows to begin, none
// of three to end. Recorded jobs have single steps with transfers 20 % longer.
func lasting(was bool, hits uint8) bool {
	if was {
		return hits&0b111 != 0
	}
	return bits.OnesCount8(hits&0b1111) >= 3
}

// report says what is slow. A group slow against its past and its peers is one
// finding, with the peers' figure, which is the better reference.
func (d *transfer) report(r *Report, ch *channel) {
	s := &ch.transfer
	self := s.slower && s.own.z > 0
	if math.IsNaN(s.tau) || (!s.slow && !self) {
		return
	}
	g := ch.group
	f := Finding{
		Detector: d.Name(), Pattern: SlowTransfer, Signal: signals.CollExecTime,
		Entity: signals.Entity{
			Kind: signals.KindComm, Job: g.Job, Comm: g.Comm, Op: ch.op, Size: ch.size, Algo: ch.algo,
			NRanks: g.NRanks, NNodes: g.NNodes,
		},
		Group: g.ID, Job: g.Job, Direction: signals.Up, Value: s.tau,
	}
	if s.slow {
		f.Expected, f.Score, f.Peers, f.Since = s.peer, s.score, int(s.count), time.UnixMilli(s.since)
		f.Windows = bits.OnesCount8(s.hits)
	}
	if self {
		expected := math.Exp(s.own.level)
		if !s.slow || s.tau/expected > f.Value/f.Expected {
			f.Expected, f.Score, f.Peers = expected, float64(s.own.z), 0
		}
		f.Windows = max(f.Windows, bits.OnesCount8(s.own.hits))
		if since := time.UnixMilli(s.own.since); f.Since.IsZero() || since.Before(f.Since) {
			f.Since = since
		}
	}
	r.Findings = append(r.Findings, f)
}
