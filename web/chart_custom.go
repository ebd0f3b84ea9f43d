package web

import (
	"context"
	"strconv"

	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/signals"
)

// maxOwn is how many signals of the user's own are drawn: each costs the source
// as much as the chart of what decided.
const maxOwn = 2

// ownCharts draw the signals of the user's own that are in the evidence. What
// cannot be drawn is left out: the statement stands in the evidence anyway.
func (s *Site) ownCharts(ctx context.Context, inc *incidents.Incident, st *State) []*chart {
	if s.opts.Querier == nil || s.opts.Custom == nil {
		return nil
	}
	var out []*chart
	seen := map[string]bool{}
	now := s.opts.Now()
	w := window(inc, s.opts.Settings().withDefaults(), now)
	// One time for all of them: a slow source must not hold the page up. Whoever
	// comes second must not lose a chart since the first went away.
	ctx, cancel := chartContext(context.WithoutCancel(ctx))
	defer cancel()
	for _, e := range inc.Verdict.Evidence {
		if e.Signal != signals.Custom || seen[e.Entity.Detail] || len(seen) == maxOwn {
			continue
		}
		plot, ok := s.opts.Custom(e.Entity, peerHosts(inc, st))
		if !ok {
			continue
		}
		seen[e.Entity.Detail] = true
		key := inc.ID + plot.Source + plot.Thing + plot.Peers
		got, err := s.charts.get(key, now, func() (*curves, error) { return s.ask(ctx, e.Signal, plot, w) })
		if err != nil || got.empty() {
			continue
		}
		c := got.draw(inc)
		c.Title, c.ID = plain(e.Entity.Detail), "chart-text-"+strconv.Itoa(len(out)+2)
		out = append(out, c)
	}
	return out
}
