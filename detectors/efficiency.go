package detectors

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// efficiency measures what each kind of operation across hosts costs a job, and
// compares its bandwidth with what the links of its hosts carry and with what
// other jobs of its shape reach. It speaks only of what is steady since the job
// was first seen: a loss with an onset is a degradation, which others find. See
// docs/detectors/efficiency.md.
type efficiency struct {
	o      EfficiencyOptions
	win    *windows
	shapes *shapes
	rails  *rails
	jobs   map[string]*effJob
	rates  map[signals.EntityID]float64 // operations per second of a member, smoothed
	ticks  int
	read   time.Time // when counts were read last
}

// effKind is one kind of operation of a job.
type effKind struct {
	op, size, algo string
	ranks, nodes   int32
}

type effJob struct {
	seen  time.Time
	kinds map[effKind]*effSeries
	on    *Finding // what was said last, for the hysteresis
}

// effSeries is what is known of one kind.
type effSeries struct {
	tick  []float64 // transfer times of the groups whose window closed now, s
	ring  []float64 // medians of windows, newest last, s
	early float64   // median of the first windows, s
	seen  int
	wire  float64 // bytes on the busiest hop of an operation
	bytes float64 // of the message, 0 unknown
	ops   float64 // per second and rank; NaN unknown
	perH  int     // members on one host
	last  time.Time
}

const (
	// effSkip windows at the start of a job mean nothing; effLeast make a
	// statement, about ten minutes; effRing are kept.
	effSkip, effLeast, effRing = 10, 20, 40
	// effShare and effPart are the defaults of EfficiencyOptions, effRelease
	// how far a statement may recover before it is taken back.
	effShare, effPart, effRelease = 0.2, 0.6, 1.15
	// effSteady is how much slower than its first windows a kind may be.
	effSteady = 1.2
	// effMemory is how long a kind without operations counts as used.
	effMemory = 10 * time.Minute
	// hopLatency is what a hop between hosts costs at least, launch and
	// protocol included, in seconds: NCCL's tuning model (src/graph/tuning.cc)
	// has 2.7 µs for LL and 14 µs for Simple per network hop of a ring.
	hopLatency = 5e-6
	// effEvery is every how many ticks counts and sizes are read: they hardly
	// change. It is odd, so that dumps of every other tick are seen as well.
	effEvery = 5
	// opsTime is the time constant of the rate of operations.
	opsTime = 2 * time.Minute
)

func newEfficiency(o Options, w *windows, s *shapes) *efficiency {
	return &efficiency{
		o: o.Efficiency, win: w, shapes: s, rails: newRails(), jobs: map[string]*effJob{}, rates: map[signals.EntityID]float64{},
	}
}

// Name implements Detector.
func (d *efficiency) Name() string { return "efficiency" }

// Observe implements Detector.
func (d *efficiency) Observe(t *Tick, r *Report) {
	d.rails.update(t)
	for id := range d.jobs {
		if j := t.JobByID(id); j == nil || j.Ended {
			delete(d.jobs, id)
		}
	}
	d.transfers(t)
	if d.ticks++; d.ticks%effEvery == 0 {
		d.wires(t)
		d.counts(t)
	}
	for _, id := range sortedKeys(d.jobs) {
		d.report(t, r, id, d.jobs[id])
	}
}

// transfers takes the transfer times of the windows that closed.
func (d *efficiency) transfers(t *Tick) {
	var touched []*effSeries
	for _, ch := range d.win.closed {
		g := ch.group
		if g.NNodes == 1 || g.Job == "" || !transfers(ch) || !(ch.transfer.tau > 0) {
			continue
		}
		s := d.series(t, g.Job, effKind{ch.op, ch.size, ch.algo, g.NRanks, g.NNodes})
		if s == nil {
			continue
		}
		s.last, s.perH = t.Time, membersPerHost(ch)
		if len(s.tick) == 0 {
			touched = append(touched, s)
		}
		s.tick = append(s.tick, ch.transfer.tau)
	}
	for _, s := range touched {
		tau := Median(s.tick)
		s.tick = s.tick[:0]
		if s.seen++; s.seen <= effSkip {
			continue
		}
		if len(s.ring) == effRing {
			s.ring = slices.Delete(s.ring, 0, 1)
		}
		if s.ring = append(s.ring, tau); len(s.ring) == effLeast/2 && s.early == 0 {
			s.early = medianOf(s.ring)
		}
	}
}

func membersPerHost(ch *channel) int {
	hosts := map[string]int{}
	most := 1
	for i := range ch.members {
		h := ch.members[i].thing.Host
		hosts[h]++
		most = max(most, hosts[h])
	}
	return most
}

// series returns what is known of a kind, nil if its job is none.
func (d *efficiency) series(t *Tick, job string, k effKind) *effSeries {
	if j := t.JobByID(job); j == nil || j.Ended {
		return nil
	}
	j := d.jobs[job]
	if j == nil {
		j = &effJob{seen: t.Time, kinds: map[effKind]*effSeries{}}
		d.jobs[job] = j
	}
	s := j.kinds[k]
	if s == nil {
		s = &effSeries{ops: math.NaN()}
		j.kinds[k] = s
	}
	return s
}

// wires learns how many bytes an operation moves over the busiest hop: bus
// bandwidth times duration, which is the same for all members, however long
// each waited. No formula of an operation is needed for it.
func (d *efficiency) wires(t *Tick) {
	bus, exec := t.Frame(signals.CollBusBandwidth), t.Frame(signals.CollExecTime)
	for i := range bus.Len() {
		id := bus.Entity[i]
		s := d.known(t.Entities.Of(id))
		row := exec.Row(id)
		if s == nil || row < 0 {
			continue
		}
		if w := bus.Value[i] * exec.Value[row]; w > 0 && !math.IsInf(w, 1) {
			if s.wire == 0 {
				s.wire = w
			}
			s.wire += 0.05 * (w - s.wire)
		}
		if row < len(exec.Bytes) && exec.Bytes[row] > 0 {
			s.bytes = exec.Bytes[row]
		}
	}
}

// known is the series of a member's kind, nil if there is none.
func (d *efficiency) known(e signals.Entity) *effSeries {
	j := d.jobs[e.Job]
	if j == nil || e.NNodes == 1 {
		return nil
	}
	return j.kinds[effKind{e.Op, e.Size, e.Algo, e.NRanks, e.NNodes}]
}

// counts reads how often members do each operation, where an exporter counts.
func (d *efficiency) counts(t *Tick) {
	f := t.Frame(signals.CollOps)
	if f.Len() == 0 {
		return
	}
	weight := 1 - math.Exp(-max(t.Time.Sub(d.read), time.Second).Seconds()/opsTime.Seconds())
	d.read = t.Time
	sums, n := map[*effSeries]float64{}, map[*effSeries]float64{}
	for i, id := range f.Entity {
		s := d.known(t.Entities.Of(id))
		if s == nil || !(f.Value[i] >= 0) {
			continue
		}
		rate, seen := d.rates[id]
		if !seen {
			rate = f.Value[i]
		}
		rate += weight * (f.Value[i] - rate)
		d.rates[id] = rate
		sums[s] += rate
		n[s]++
	}
	for s, sum := range sums {
		s.ops = sum / n[s]
	}
}

// tau is the usual transfer time now, NaN while too little is known.
func (s *effSeries) tau() float64 {
	if len(s.ring) < effLeast {
		return math.NaN()
	}
	return medianOf(s.ring)
}

// report says which kind of operation costs a job most for no good reason.
func (d *efficiency) report(t *Tick, r *Report, id string, j *effJob) {
	var worst *Finding
	var kinds []effKind
	for k, s := range j.kinds {
		if t.Time.Sub(s.last) <= effMemory {
			kinds = append(kinds, k)
		}
	}
	slices.SortFunc(kinds, compareKinds)
	job := t.JobByID(id)
	for _, k := range kinds {
		f, ok := d.judge(job, k, j.kinds[k], len(kinds) == 1, j.on)
		if ok && (worst == nil || f.lost() > worst.lost()) {
			worst = &f
		}
	}
	if j.on = worst; worst != nil {
		worst.Since = job.FirstSeen
		if worst.Since.IsZero() {
			worst.Since = j.seen
		}
		r.Findings = append(r.Findings, *worst)
	}
}

// lost is the part of a job's time that would be won at the speed expected.
func (f *Finding) lost() float64 { return f.Share * (1 - f.Value/f.Expected) }

func compareKinds(a, b effKind) int {
	return cmp.Or(strings.Compare(a.op, b.op), strings.Compare(a.size, b.size), strings.Compare(a.algo, b.algo),
		cmp.Compare(a.ranks, b.ranks), cmp.Compare(a.nodes, b.nodes))
}

// judge compares one kind with what is possible. alone says that no other kind
// of the job crosses hosts, before is what was said at the last tick.
func (d *efficiency) judge(job *signals.Job, k effKind, s *effSeries, alone bool, before *Finding) (Finding, bool) {
	tau := s.tau()
	if math.IsNaN(tau) || s.wire == 0 || s.early == 0 || tau > effSteady*s.early {
		return Finding{}, false
	}
	part, share := d.o.Part, d.o.Share
	if before != nil && before.Entity.Op == k.op && before.Entity.Size == k.size && before.Entity.Algo == k.algo {
		part, share = part*effRelease, share/effRelease
	}
	host := d.rails.of(job, s.perH)
	f := Finding{
		Detector: d.Name(), Pattern: BelowPossible, Signal: signals.CollBusBandwidth, Job: job.ID, Hosts: job.Hosts, Direction: signals.Down,
		Entity: signals.Entity{Kind: signals.KindJob, Job: job.ID, Op: k.op, Size: k.size, Algo: k.algo, NRanks: k.ranks, NNodes: k.nodes},
		Value:  s.wire / tau, Score: math.NaN(), Windows: len(s.ring), Count: s.ops, Share: s.ops * tau,
	}
	if math.IsNaN(s.ops) && alone && host.tx > 0 {
		// Nobody counts, but all bytes of the NICs belong to this kind.
		f.Share = host.tx / (f.Value * float64(max(1, host.gpus/max(1, s.perH))))
	}
	if !(f.Share >= share) {
		return f, false
	}
	f.Share = min(f.Share, 1)
	return f, d.explain(&f, k, s, tau, host, part)
}

// explain finds why a kind is slower than it could be, and how fast that is.
func (d *efficiency) explain(f *Finding, k effKind, s *effSeries, tau float64, host railUse, part float64) bool {
	f.Expected = host.limit
	if host.limit > 0 && f.Value < part*host.limit {
		f.Code = CodeBelowLinks
		hops := 2 * float64(k.nodes-1)
		if k.nodes == 0 {
			hops = 0
		}
		switch {
		case host.used == 1 && host.there > 1 && s.perH > 1:
			f.Code = CodeSingleRail
			f.Entity.Detail = host.device
			f.Peers = host.there
			return true
		case s.wire/host.limit < hops*hopLatency && tau > 2*s.wire/host.limit:
			f.Code = CodeSmallMessages
			f.Expected, f.Score = host.limit, s.bytes
			return true
		}
	}
	own, same, other, algo, peers := d.peers(f.Job, k)
	if host.limit > 0 { // peers with faster links are no measure
		same, other = min(same, host.limit), min(other, host.limit)
	}
	// The level of a job includes waiting for late members; its transfer does
	// not. A job is inefficient only if that is slow as well.
	own = max(own, f.Value)
	switch {
	case other > 0 && own < part*other && !(same > part*other):
		f.Code, f.Entity.Detail, f.Peers = CodeOtherAlgorithm, algo, peers
		f.Value, f.Expected = own, other
		return true
	case same > 0 && own < part*same:
		f.Code, f.Peers = CodeBelowBest, peers
		f.Value, f.Expected = own, same
		return true
	}
	return f.Code == CodeBelowLinks
}

// peers are the best bandwidths of other jobs of the same shape, with the same
// and with another algorithm, and the job's own by the same measure; 0 where
// unknown.
func (d *efficiency) peers(job string, k effKind) (own, same, other float64, algo string, n int) {
	if d.shapes == nil {
		return
	}
	pool := ""
	for key, jobs := range d.shapes.jobs {
		if j := jobs[job]; j != nil && key.kind() == k {
			pool = key.pool
			own = max(own, numberOr0(j.level()))
		}
	}
	for key, jobs := range d.shapes.jobs {
		mine := key.kind()
		alike := mine == k
		mine.algo = k.algo
		if key.pool != pool || mine != k {
			continue
		}
		for id, j := range jobs {
			v := numberOr0(j.level())
			if id == job || v == 0 {
				continue
			}
			n++
			if alike {
				same = max(same, v)
			} else if v > other {
				other, algo = v, key.algo
			}
		}
	}
	return
}

func (k shapeKey) kind() effKind { return effKind{k.op, k.size, k.algo, k.ranks, k.nodes} }

func numberOr0(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// Renumber implements [Renumberer].
func (d *efficiency) Renumber(to []signals.EntityID, _ int) { d.rates = renumberMap(d.rates, to) }
