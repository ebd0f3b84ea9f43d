package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// inside compares the bandwidth of communicators within a host with the other
// hosts of the job. One lost lane of an NVLink is 5 %, too little for a single
// window; averaged over a quarter of an hour it stands out.
type inside struct {
	sums map[insideKey]*insideSum
	low  map[insideKey]*streak
	// spread is how far the means of the hosts of one job and operation (host
	// is empty) lie apart by chance: the mean square over the last half hour,
	// because the spread of four hosts at one instant is often near nothing.
	spread map[insideKey]float64

	rows table[insideRow] // by member of a communicator
	now  []*insideSum     // those with rows at this tick
}

// insideRow leads from a member to what it is a part of, nil if it is within no host.
type insideRow struct {
	sum    *insideSum
	device int // of sum
}

// insideKey is one host's part in one kind of operation of one job.
type insideKey struct {
	job, host, op, size, algo string
	ranks                     int32
}

type insideSum struct {
	level float64 // exponentially weighted mean of ln(bandwidth)
	// devices are the GPUs seen, and seen their newest stamps. The figure of a group
	// is that of its last member to arrive, which waits for nobody; where not
	// all members are seen it may not be among them, and what is left is
	// waiting and no bandwidth.
	devices []string
	seen    []int64
	n       int
	last    int64
	now     []float64 // ln(bandwidth) of the rows of this tick
	ranks   int32
	gone    bool // forgotten
}

const (
	insideTime   = 5 * time.Minute // time constant of the mean
	insideLeast  = 12 * time.Minute
	insideEffect = 0.035
	insideSigmas = 5.0
	insidePeers  = 4
	insideFloor  = 0.004     // spread of the means on tidy clusters
	insideSlow   = 1.0 / 120 // per tick: half an hour at the usual 15 s
	insideSkip   = 10        // samples at the start of a job that mean nothing
)

func newInside() *inside {
	return &inside{sums: map[insideKey]*insideSum{}, low: map[insideKey]*streak{}, spread: map[insideKey]float64{}}
}

func (d *inside) Name() string { return "inside" }

// Observe implements [Detector].
func (d *inside) Observe(t *Tick, r *Report) {
	f := t.Frames[signals.CollBusBandwidth]
	if f.Len() > 0 {
		d.now = d.now[:0]
		var stamp int64
		for i, id := range f.Entity {
			if !(f.Value[i] > 0) {
				continue
			}
			row := d.row(t, id)
			s := row.sum
			if s == nil {
				continue
			}
			if len(s.now) == 0 {
				d.now = append(d.now, s)
			}
			s.now = append(s.now, math.Log(f.Value[i]))
			s.seen[row.device] = f.Stamp[i]
			stamp = max(stamp, f.Stamp[i])
		}
		for _, s := range d.now {
			if s.complete(stamp) {
				s.add(slices.Max(s.now), stamp)
			}
			s.now = s.now[:0]
		}
		if len(d.now) > 0 {
			d.compare(t)
		}
	}
	d.report(t, r)
}

// row finds what a member is a part of.
func (d *inside) row(t *Tick, id signals.EntityID) insideRow {
	row := d.rows.at(id)
	if row != nil && (row.sum == nil || !row.sum.gone) {
		return *row
	}
	if row == nil {
		row = d.rows.put(id)
	}
	e := t.Entities.Of(id)
	if e.NNodes != 1 || e.Job == "" {
		return *row
	}
	k := insideKey{e.Job, e.Host, e.Op, e.Size, e.Algo, e.NRanks}
	s := d.sums[k]
	if s == nil {
		s = &insideSum{ranks: k.ranks}
		d.sums[k] = s
	}
	*row = insideRow{s, slices.Index(s.devices, e.Device)}
	if row.device < 0 {
		row.device = len(s.devices)
		s.devices, s.seen = append(s.devices, e.Device), append(s.seen, 0)
	}
	return *row
}

// complete says whether as many GPUs as the communicator has were seen of late.
func (s *insideSum) complete(stamp int64) bool {
	n := int32(0)
	for _, seen := range s.seen {
		if stamp-seen <= columnAge.Milliseconds() {
			n++
		}
	}
	return n >= s.ranks
}

func (s *insideSum) add(x float64, stamp int64) {
	dt := time.Duration(stamp-s.last) * time.Millisecond
	s.n++
	if s.n <= insideSkip || dt > insideTime {
		s.level, s.last = x, stamp
		return
	}
	s.level += (1 - math.Exp(-dt.Seconds()/insideTime.Seconds())) * (x - s.level)
	s.last = stamp
}

// compare sets each host against the others of the same job and operation.
func (d *inside) compare(t *Tick) {
	groups := map[insideKey][]insideKey{}
	for k, s := range d.sums {
		if age := t.Time.UnixMilli() - s.last; age > columnAge.Milliseconds() {
			if age > 100*columnAge.Milliseconds() {
				s.gone = true
				delete(d.sums, k)
			}
			continue
		}
		if s.n > 2*insideSkip {
			all := k
			all.host = ""
			groups[all] = append(groups[all], k)
		}
	}
	for all := range d.spread {
		if len(groups[all]) == 0 {
			delete(d.spread, all)
		}
	}
	for all, keys := range groups {
		if len(keys) < insidePeers {
			continue
		}
		xs := make([]float64, 0, len(keys))
		for _, k := range keys {
			xs = append(xs, d.sums[k].level)
		}
		mid := medianOf(xs)
		off := make([]float64, 0, len(xs))
		for _, x := range xs {
			off = append(off, math.Abs(x-mid))
		}
		scale := d.scale(all, 1.4826*medianOf(off))
		for _, k := range keys {
			s := d.sums[k]
			st := d.low[k]
			if st == nil {
				st = &streak{}
			}
			gap := mid - s.level
			limit := max(insideEffect, insideSigmas*scale)
			if t.Time.Sub(unixMilli(st.since)) >= insideLeast && st.windows > 0 {
				limit /= 2 // told: only what was low all the time gets here
			}
			st.hold(gap >= limit, s.last, math.Exp(s.level), math.Exp(mid))
			if st.windows == 0 {
				delete(d.low, k)
			} else {
				d.low[k] = st
			}
		}
	}
}

// scale returns the spread to judge by, from that of this instant and those
// before.
func (d *inside) scale(all insideKey, now float64) float64 {
	before, known := d.spread[all]
	if !known {
		before = now * now
	}
	d.spread[all] = before + insideSlow*(now*now-before)
	return max(insideFloor, now, math.Sqrt(d.spread[all]))
}

func (d *inside) report(t *Tick, r *Report) {
	worst := map[string]insideKey{}
	for k, st := range d.low {
		s := d.sums[k]
		if s == nil || t.Time.UnixMilli()-s.last > 3*columnAge.Milliseconds() {
			delete(d.low, k)
			continue
		}
		if t.Time.Sub(unixMilli(st.since)) < insideLeast {
			continue
		}
		if w, ok := worst[k.host]; !ok || st.value/st.against < d.low[w].value/d.low[w].against {
			worst[k.host] = k
		}
	}
	hosts := make([]string, 0, len(worst))
	for host := range worst {
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	for _, host := range hosts {
		k := worst[host]
		st := d.low[k]
		peers := 0
		for x := range d.sums {
			if x.host != host && x.job == k.job && x.op == k.op && x.size == k.size && x.algo == k.algo && x.ranks == k.ranks {
				peers++
			}
		}
		r.Findings = append(r.Findings, Finding{
			Detector: d.Name(), Pattern: PeerOutlier, Signal: signals.CollBusBandwidth,
			Entity: signals.Entity{Kind: signals.KindHost, Host: host, Op: k.op, Size: k.size, Algo: k.algo}, Job: k.job,
			Direction: signals.Down, Value: st.value, Expected: st.against, Score: math.NaN(), Peers: peers, Windows: int(st.windows),
			Since: unixMilli(st.since), Code: CodeInsideBelow,
		})
	}
}

// Renumber implements [Renumberer].
func (d *inside) Renumber(to []signals.EntityID, _ int) { d.rows.renumber(to) }
