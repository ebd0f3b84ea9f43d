package detectors

import (
	"math"
	"time"
)

// Chart judges one series by its own past: the univariate core that detectors
// share, for measuring it alone on labelled series. It is not safe for
// concurrent use.
type Chart struct {
	b baseline
	c chart
}

// NewChart returns the chart of a series whose samples usually come period
// apart. Zero fields of o mean their defaults.
func NewChart(o EWMAOptions, period time.Duration) *Chart {
	d := Options{Transfer: TransferOptions{EWMA: o}}.withDefaults().Transfer
	return &Chart{c: chart{
		lambda: d.EWMA.Lambda, limit: d.EWMA.Limit, period: period, phi: d.EWMA.Phi, floor: d.EWMA.ScaleFloor, effect: d.Effect, warmUp: d.EWMA.WarmUp,
	}}
}

// Observe takes a value, which has to be positive, and says whether the series
// is unusual now.
func (c *Chart) Observe(at time.Time, v float64) bool {
	if !(v > 0) || math.IsInf(v, 1) {
		return c.b.flags != 0
	}
	c.b.update(math.Log(v), at.UnixMilli(), &c.c, false)
	return c.b.flags != 0
}
