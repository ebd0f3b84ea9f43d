package web

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/incidents"
)

// Figures are the numbers behind the chart of an incident, for receivers that
// draw it themselves. Lists have the length of Times; NaN is a missing value.
type Figures struct {
	Title, Unit string // values are in Unit already
	Text        string // what they show, in a sentence
	Times       []time.Time
	Suspect     []float64 // empty if nobody is named
	Median      []float64 // of the peers
	Peers       int
}

// Figures asks the source for the course of the signal that decided, as the
// page of the incident shows it. It is false where there is nothing to draw.
func (s *Site) Figures(ctx context.Context, inc *incidents.Incident) (Figures, bool) {
	st := s.opts.State()
	if s.opts.Querier == nil || st == nil || st.Plots == nil {
		return Figures{}, false
	}
	set, now := s.opts.Settings().withDefaults(), s.opts.Now()
	w := window(inc, set, now)
	id, plot, ok := plotted(inc, st.Plots, peerHosts(inc, st), w.Step)
	if !ok {
		return Figures{}, false
	}
	got, err := s.ask(ctx, id, plot, w)
	if err != nil || got.empty() {
		return Figures{}, false
	}
	return got.figures(inc), true
}

func (c *curves) figures(inc *incidents.Incident) Figures {
	lo, hi := c.span()
	factor, unit := scaleOf(max(math.Abs(lo), math.Abs(hi)), c.unit)
	f := Figures{Title: plain(c.signal.String()), Unit: unit, Text: c.describe(inc), Peers: c.peers}
	at := map[int64]bool{}
	lines := []curve{c.median}
	if len(c.suspect) > 0 {
		lines = append(lines, c.suspect[0])
	}
	for _, l := range lines {
		for _, x := range l {
			at[x.T] = true
		}
	}
	times := make([]int64, 0, len(at))
	for t := range at {
		times = append(times, t)
	}
	slices.Sort(times)
	for _, t := range times {
		f.Times = append(f.Times, time.UnixMilli(t).UTC())
	}
	along := func(l curve) []float64 {
		if len(l) == 0 {
			return nil
		}
		by := map[int64]float64{}
		for _, x := range l {
			by[x.T] = x.V * factor
		}
		out := make([]float64, len(times))
		for i, t := range times {
			v, ok := by[t]
			if !ok {
				v = math.NaN()
			}
			out[i] = v
		}
		return out
	}
	f.Median = along(c.median)
	if len(c.suspect) > 0 {
		f.Suspect = along(c.suspect[0])
	}
	return f
}
