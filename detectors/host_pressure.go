package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// hostPressure compares pressure and load of a host with the hosts of its job,
// or with all hosts if it has none. Pressure that all hosts have is how the job
// is.
type hostPressure struct {
	rules []pressureRule
	high  []map[signals.EntityID]streak
}

type pressureRule struct {
	signal       signals.ID
	code         string
	floor, ratio float64
}

const pressureWindows = 3

func newHostPressure() *hostPressure {
	d := &hostPressure{rules: []pressureRule{
		{signals.HostCPUPressure, CodeCPUPressure, 0.15, 4},
		{signals.HostIOPressure, CodeIOPressure, 0.15, 4},
		{signals.HostMemPressure, CodeMemPressure, 0.05, 4},
		{signals.HostIRQPressure, CodeIRQPressure, 0.1, 4},
		{signals.HostLoad, CodeLoad, 16, 3},
	}}
	for range d.rules {
		d.high = append(d.high, map[signals.EntityID]streak{})
	}
	return d
}

func (d *hostPressure) Name() string { return "host_pressure" }

// Observe implements [Detector].
func (d *hostPressure) Observe(t *Tick, r *Report) {
	for i, rule := range d.rules {
		c := t.column(rule.signal)
		if t.Frames[rule.signal].Len() > 0 {
			d.judge(t, i, c)
		}
		d.report(t, r, i, c)
	}
}

func (d *hostPressure) judge(t *Tick, i int, c *column) {
	rule := d.rules[i]
	groups := map[*signals.Job][]float64{}
	ids := c.sorted()
	for _, id := range ids {
		j := t.jobOf(id)
		groups[j] = append(groups[j], c.row(id).value)
	}
	medians := make(map[*signals.Job]float64, len(groups))
	for j, values := range groups {
		medians[j] = medianOf(values)
	}
	for _, id := range ids {
		j := t.jobOf(id)
		s, row := d.high[i][id], c.row(id)
		limit := max(rule.floor, rule.ratio*medians[j])
		if s.windows > 0 {
			limit /= 2
		}
		s.hold(len(groups[j]) >= clockPeers && row.value >= limit, row.stamp, row.value, medians[j])
		keepStreak(d.high[i], id, s)
	}
}

func (d *hostPressure) report(t *Tick, r *Report, i int, c *column) {
	var ids []signals.EntityID
	for id, s := range d.high[i] {
		if _, ok := c.get(id); ok && s.windows >= pressureWindows {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		s, e := d.high[i][id], t.Entities.Of(id)
		f := Finding{
			Detector: d.Name(), Pattern: PeerOutlier, Signal: c.signal, Entity: e, Direction: signals.Up, Value: s.value,
			Expected: s.against, Score: math.NaN(), Windows: int(s.windows), Since: unixMilli(s.since), Code: d.rules[i].code,
		}
		if j := t.JobOf(e); j != nil {
			f.Job, f.Peers = j.ID, max(0, len(j.Hosts)-1)
		}
		r.Findings = append(r.Findings, f)
	}
}

// Renumber implements [Renumberer].
func (d *hostPressure) Renumber(to []signals.EntityID, _ int) {
	for i := range d.high {
		d.high[i] = renumberMap(d.high[i], to)
	}
}
