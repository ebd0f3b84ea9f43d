package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/internal/compare"
	"github.com/collwatch/collwatch/signals"
)

// Collector gathers a report while the past is read.
type Collector struct {
	r     Report
	inner *compare.Collector
	heat  map[signals.Entity]*[Columns]mean
	times map[compare.Key]*[Columns]mean
	wait  [Columns]mean
	last  time.Time
}

type mean struct {
	sum, weight float64
}

func (m *mean) add(v, weight float64) {
	m.sum += v * weight
	m.weight += weight
}

func (m *mean) value() float64 {
	if m.weight == 0 {
		return math.NaN()
	}
	return m.sum / m.weight
}

// NewCollector returns a collector for a job between two instants. dump is the
// dump period of the exporter, step the time between two snapshots.
func NewCollector(job string, from, to time.Time, dump, step time.Duration) *Collector {
	c := &Collector{
		r:    Report{Job: job, From: from.UTC(), To: to.UTC()},
		heat: map[signals.Entity]*[Columns]mean{}, times: map[compare.Key]*[Columns]mean{},
	}
	c.inner = compare.NewCollector(compare.Options{
		Source: "job " + job, Job: job, Dump: dump, Window: 2 * step, From: from, Skip: -1, Each: c.window,
	})
	return c
}

// Observe takes one snapshot. Snapshots come in the order of time.
func (c *Collector) Observe(s *signals.Snapshot) {
	c.r.Ticks++
	c.last = s.Time
	for _, j := range s.Jobs {
		if j.ID == c.r.Job {
			c.r.Hosts, c.r.GPUs = max(c.r.Hosts, len(j.Hosts)), max(c.r.GPUs, len(j.GPUs))
			c.r.Name, c.r.User = cmp.Or(j.Name, c.r.Name), cmp.Or(j.User, c.r.User)
		}
	}
	c.inner.Observe(s)
}

// Read notes of how many hosts of a cluster series were read at all.
func (c *Collector) Read(hosts, of int) { c.r.HostsRead, c.r.HostsKnown = hosts, of }

// Failed notes an evaluation that concluded nothing.
func (c *Collector) Failed() { c.r.FailedTicks++ }

// Add adds an incident.
func (c *Collector) Add(i Incident) { c.r.Incidents = append(c.r.Incidents, i) }

// window takes what the members of one communicator showed, for all columns that it
// covers: of a short job a column is shorter than a window, and one without a value
// would look like a pause.
func (c *Collector) window(w *compare.Window) {
	last := c.r.column(w.At)
	if last < 0 {
		return
	}
	for col := max(0, c.r.column(w.From)); col <= last; col++ {
		c.put(w, col)
	}
}

func (c *Collector) put(w *compare.Window, col int) {
	at := c.times[w.Key]
	if at == nil {
		at = &[Columns]mean{}
		c.times[w.Key] = at
	}
	at[col].add(w.Mean(), 1)
	if !w.Comparable {
		return
	}
	middle, least := w.Median(), w.Least()
	c.wait[col].add(1-least/w.Mean(), w.Mean())
	for i, m := range w.Members {
		if !known(w.Times[i]) {
			continue
		}
		cells := c.heat[m]
		if cells == nil {
			cells = &[Columns]mean{}
			c.heat[m] = cells
		}
		cells[col].add(max(0, 1-w.Times[i]/middle), w.Mean())
	}
}

// Report ends the collection.
func (c *Collector) Report() *Report {
	r := &c.r
	r.Record = c.inner.Record()
	c.costs()
	c.health()
	c.lateness()
	slices.SortStableFunc(r.Incidents, func(a, b Incident) int { return a.From.Compare(b.From) })
	r.advise()
	return r
}

func (c *Collector) costs() {
	for i := range c.r.Record.Rows {
		row := &c.r.Record.Rows[i]
		cost := Cost{
			Key: row.Key, Share: row.Median(compare.Share), Time: row.Median(compare.Time), Bandwidth: row.Median(compare.Bandwidth),
			Transfer: row.Median(compare.Transfer), Waiting: row.Median(compare.Lateness), Spread: math.NaN(),
		}
		if xs := slices.Sorted(slices.Values(row.Of(compare.Time))); len(xs) > 0 {
			cost.Spread = xs[(9*len(xs))/10]/cost.Time - 1
		}
		c.r.MeasuredShare = c.r.MeasuredShare || known(cost.Share)
		c.r.Costs = append(c.r.Costs, cost)
	}
	slices.SortStableFunc(c.r.Costs, func(a, b Cost) int {
		if c.r.MeasuredShare {
			return cmp.Compare(orZero(b.Share), orZero(a.Share))
		}
		return cmp.Compare(orZero(b.Time), orZero(a.Time))
	})
}

func orZero(v float64) float64 {
	if !known(v) {
		return 0
	}
	return v
}

// health puts the time of all operations over their own medians, so that
// operations of any length count alike.
func (c *Collector) health() {
	medians := map[compare.Key]float64{}
	for key, cells := range c.times {
		var xs []float64
		for i := range cells {
			if v := cells[i].value(); known(v) {
				xs = append(xs, v)
			}
		}
		slices.Sort(xs)
		if len(xs) > 0 {
			medians[key] = xs[len(xs)/2]
		}
	}
	c.r.WaitingOverall, c.r.SlowestRelative = math.NaN(), math.NaN()
	overall := mean{}
	for col := range Columns {
		p, rel := Point{At: c.r.start(col)}, mean{}
		for key, cells := range c.times {
			if v := cells[col].value(); known(v) && medians[key] > 0 {
				rel.add(v/medians[key], 1)
			}
		}
		p.Relative, p.Waiting = rel.value(), c.wait[col].value()
		if known(p.Waiting) {
			overall.add(p.Waiting, 1)
		}
		if known(p.Relative) && !(c.r.SlowestRelative >= p.Relative) {
			c.r.SlowestRelative = p.Relative
		}
		c.r.Health = append(c.r.Health, p)
	}
	c.r.WaitingOverall = overall.value()
}

// lateness makes the heat map: GPUs, or hosts if there are too many.
func (c *Collector) lateness() {
	rows := c.heat
	if len(rows) > maxRows {
		c.r.Heat.Hosts = true
		rows = map[signals.Entity]*[Columns]mean{}
		for m, cells := range c.heat {
			h := signals.Entity{Kind: signals.KindHost, Host: m.Host}
			if rows[h] == nil {
				rows[h] = &[Columns]mean{}
			}
			for i := range cells {
				rows[h][i].sum += cells[i].sum
				rows[h][i].weight += cells[i].weight
			}
		}
	}
	order := make([]signals.Entity, 0, len(rows))
	for e := range rows {
		order = append(order, e)
	}
	slices.SortFunc(order, func(a, b signals.Entity) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(len(a.Device), len(b.Device)), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Rank, b.Rank))
	})
	for _, e := range order {
		cells := make([]float64, Columns)
		for i := range cells {
			cells[i] = rows[e][i].value()
		}
		c.r.Heat.Rows = append(c.r.Heat.Rows, e.String())
		c.r.Heat.Cells = append(c.r.Heat.Cells, cells)
	}
}
