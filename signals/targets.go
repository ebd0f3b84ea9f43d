package signals

import (
	"cmp"
	"slices"
	"time"
)

// targetTable knows the scrape targets and whether they answer.
type targetTable struct {
	list  []targetState
	index map[[2]string]int32 // instance, job
	// newest is the newest sample of any target, per source: a source that
	// has no samples at all says nothing about its targets.
	newest map[string]int64
	// resumed is when a source had samples again after a gap of all targets:
	// they come back one after another.
	resumed map[string]int64
}

type targetState struct {
	instance, job string
	source        string
	lastT         int64 // newest sample of up
	upT           int64 // newest sample of up that was 1
	upSince       int64 // first of the samples of up that were 1 without a break
	up            bool
	known         bool
}

func newTargetTable() *targetTable {
	return &targetTable{index: map[[2]string]int32{}, newest: map[string]int64{}, resumed: map[string]int64{}}
}

func (t *targetTable) indexOf(instance, job string) int32 {
	k := [2]string{instance, job}
	if i, ok := t.index[k]; ok {
		return i
	}
	if len(t.list) >= maxTable {
		return -1
	}
	i := int32(len(t.list))
	t.list = append(t.list, targetState{instance: instance, job: job})
	t.index[k] = i
	return i
}

func (t *targetTable) sample(i int32, at int64, v float64, source string) {
	s := &t.list[i]
	if v == 1 && (!s.up || at-s.lastT > targetGone) {
		s.upSince = at
	}
	if n := t.newest[source]; n != 0 && at-n > targetGone {
		t.resumed[source] = at
	}
	s.lastT, s.up, s.known, s.source = at, v == 1, true, source
	if s.up {
		s.upT = at
	}
	t.newest[source] = max(t.newest[source], at)
}

const (
	// rowsGone is how long a target may answer without the rows that are
	// always there before that is a gap.
	rowsGone = 75 * 1000
	// targetGone is the same for a target that vanished altogether.
	targetGone = 75 * 1000
	// forgetTarget is when a target that is gone is taken as removed.
	forgetTarget = time.Hour
)

// gaps lists what should be there and is not.
func (r *Reader) gaps() {
	down := map[string]bool{}
	for _, q := range r.queries {
		if q.err == nil || q.skipped {
			continue
		}
		g := Gap{Source: q.src.name, Reason: "source_down", Since: q.downFrom, Err: q.err}
		if q.downFrom.IsZero() {
			g.Reason, g.Since = "incomplete", r.snap.Time
		}
		if k := g.Source + g.Reason; !down[k] {
			down[k] = true
			r.snap.Gaps = append(r.snap.Gaps, g)
		}
	}
	for _, name := range r.names {
		// The source answers, but has had nothing new from any target.
		if n := r.targets.newest[name]; n != 0 && r.now-n > rowsGone && !down[name+"source_down"] {
			down[name+"source_down"] = true
			r.snap.Gaps = append(r.snap.Gaps, Gap{Source: name, Reason: "source_down", Since: time.UnixMilli(n)})
		}
	}
	r.targetGaps(down)
	for host := range r.hostIdx {
		if r.last(ScrapeOK, Entity{Kind: KindHost, Host: host, Detail: "textfile_content"}) == 0 {
			r.snap.Gaps = append(r.snap.Gaps, Gap{Host: host, Source: "node", Reason: "stale_file", Since: r.snap.Time})
		}
	}
	slices.SortFunc(r.snap.Gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Reason, b.Reason))
	})
}

// targetGaps looks at each dialect at each target.
func (r *Reader) targetGaps(down map[string]bool) {
	seen := map[[3]string]bool{}
	add := func(host, exporter, reason string, since int64) {
		k := [3]string{host, exporter, reason}
		if host == "" || seen[k] || r.now-since > forgetTarget.Milliseconds() {
			return
		}
		seen[k] = true
		r.snap.Gaps = append(r.snap.Gaps, Gap{Host: host, Source: exporter, Reason: reason, Since: time.UnixMilli(since)})
	}
	for i := range r.pairs {
		p := &r.pairs[i]
		if p.target < 0 || p.lastT == 0 {
			continue
		}
		d := &r.book.dialects[p.dialect]
		t := &r.targets.list[p.target]
		if down[t.source+"source_down"] || down[t.source+"incomplete"] || d.Exporter == "prometheus" {
			continue
		}
		newest, resumed := r.targets.newest[t.source], r.targets.resumed[t.source]
		switch {
		case t.known && (!t.up || newest-max(t.lastT, resumed) > targetGone) && !followsHost(d):
			add(p.host, d.Exporter, "exporter_down", t.upT)
		case p.steady && t.up && newest-max(p.lastT, resumed, t.upSince) > rowsGone:
			add(p.host, d.Exporter, "zero_rows", p.lastT)
		}
	}
}

// followsHost says that the rows of a dialect come through another exporter's
// target and not from one of its own.
func followsHost(d *Dialect) bool {
	switch d.Family {
	case "inspector", "inspector_g1", "jobs":
		return true
	}
	return false
}
