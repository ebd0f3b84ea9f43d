package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// fallback finds jobs across hosts whose bytes go through sockets while their
// NICs carry nothing: a plugin that was not loaded, a blocked port.
type fallback struct {
	jobs map[string]*streak
}

const (
	socketsBusy     = 1e8 // B/s of sockets per host
	socketsWindows  = 8
	nicsIdle        = 1e6 // B/s over all NICs of a host
	fallbackHostMin = 2
)

func newFallback() *fallback {
	return &fallback{jobs: map[string]*streak{}}
}

func (d *fallback) Name() string { return "fallback" }

// Observe implements [Detector].
func (d *fallback) Observe(t *Tick, r *Report) {
	nic, net := t.column(signals.NICTx), t.column(signals.HostNetTx)
	if net.rows.len() == 0 || nic.rows.len() == 0 {
		return
	}
	rdma, sockets := d.perHost(t, nic), d.perHost(t, net)
	var ids []string
	for _, j := range t.Jobs {
		if j.Ended || len(j.Hosts) < fallbackHostMin {
			continue
		}
		least, all := math.Inf(1), true
		for _, h := range j.Hosts {
			n, okN := rdma[h]
			s, okS := sockets[h]
			all = all && okN && okS && n < nicsIdle && s > socketsBusy
			least = min(least, s)
		}
		st := d.jobs[j.ID]
		if st == nil {
			st = &streak{}
			d.jobs[j.ID] = st
		}
		st.hold(all, t.Time.UnixMilli(), least, math.NaN())
		if st.windows >= socketsWindows {
			ids = append(ids, j.ID)
		}
	}
	for id := range d.jobs {
		if t.JobByID(id) == nil {
			delete(d.jobs, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		st := d.jobs[id]
		r.Findings = append(r.Findings, Finding{
			Detector: d.Name(), Pattern: Fact, Signal: signals.HostNetTx, Entity: signals.Entity{Kind: signals.KindJob, Job: id}, Job: id,
			Hosts: t.JobByID(id).Hosts, Direction: signals.Up, Value: st.value, Expected: math.NaN(), Score: math.NaN(),
			Windows: int(st.windows), Since: unixMilli(st.since), Code: CodeSocketsOnly,
		})
	}
}

// perHost sums a column by host.
func (d *fallback) perHost(t *Tick, c *column) map[string]float64 {
	out := map[string]float64{}
	for _, id := range c.sorted() {
		out[t.Entities.Of(id).Host] += c.row(id).value
	}
	return out
}
