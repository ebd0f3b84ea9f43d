package web

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

const (
	// maxCurves bounds the series of the suspect that are drawn.
	maxCurves = 8
	// maxPoints is the number of steps of a chart.
	maxPoints = 120
	// maxChart bounds the time that a chart shows: longer ones hide the onset.
	maxChart = 24 * time.Hour
	// maxPeerHosts bounds the hosts that are listed in a query.
	maxPeerHosts = 48
)

// curves are the figures behind a chart. Values are in the signal's unit.
type curves struct {
	signal     signals.ID
	unit       string
	expression string
	peers      int
	suspect    []curve
	median     curve
	low, high  curve // 10th and 90th percentile of the peers
	start, end time.Time
}

type curve []promapi.Sample

// empty says that there is nothing to draw.
func (c *curves) empty() bool { return len(c.suspect) == 0 && len(c.median) == 0 }

// plotted finds the evidence whose signal can be drawn: the decisive one if
// possible.
func plotted(inc *incidents.Incident, p *signals.Plots, hosts []string, step time.Duration) (signals.ID, signals.Plot, bool) {
	for _, decisive := range []bool{true, false} {
		for _, e := range inc.Verdict.Evidence {
			if e.Decisive != decisive {
				continue
			}
			entity := e.Entity
			if entity.Host == "" && entity.Kind != signals.KindSwitchPort && len(inc.NamedSuspects()) > 0 {
				entity = about(entity, inc.NamedSuspects()[0])
			}
			if plot, ok := p.Of(e.Signal, entity, hosts, step); ok {
				return e.Signal, plot, true
			}
		}
	}
	return signals.None, signals.Plot{}, false
}

// about points a statement that names no host at the suspect.
func about(e signals.Entity, s diagnosis.Suspect) signals.Entity {
	e.Host = s.Node
	if e.Device == "" && (s.Kind == "gpu" || s.Kind == "nic") {
		e.Device = s.Device
	}
	return e
}

// Expression returns the PromQL that shows an incident, "" where none is known.
// It is what Renderer.Expression asks for.
func (s *State) Expression(inc *incidents.Incident) string {
	if s == nil {
		return ""
	}
	_, plot, ok := plotted(inc, s.Plots, nil, 0)
	if !ok {
		return ""
	}
	if plot.Thing == "" {
		return plot.Peers
	}
	return plot.Thing
}

// window is the time that the chart of an incident shows.
func window(inc *incidents.Incident, set Settings, now time.Time) promapi.Window {
	end := now.Add(-set.QueryOffset)
	if inc.State == incidents.Resolved {
		end = inc.ResolvedAt.Add(10 * time.Minute)
		if limit := now.Add(-set.QueryOffset); end.After(limit) {
			end = limit
		}
	}
	start := inc.StartedAt.Add(-set.ChartBefore)
	if end.Sub(start) > maxChart {
		end = start.Add(maxChart)
	}
	step := max(set.Interval, (end.Sub(start) / maxPoints).Truncate(set.Interval)).Truncate(time.Millisecond)
	return promapi.Window{Start: start, End: end, Step: max(step, time.Second)}
}

var errNoSource = errors.New("the source of the signal is not configured any more")

// ask runs the queries of one chart.
func (s *Site) ask(ctx context.Context, id signals.ID, plot signals.Plot, w promapi.Window) (*curves, error) {
	q := s.opts.Querier(plot.Source)
	if q == nil {
		return nil, errNoSource
	}
	ctx, cancel := chartContext(ctx)
	defer cancel()
	out := &curves{signal: id, unit: plot.Unit, expression: plot.Thing, start: w.Start, end: w.End}
	var g errgroup.Group
	one := func(expr string, dst *curve) {
		g.Go(func() error {
			list, err := fetch(ctx, q, expr, w, 1)
			if len(list) > 0 {
				*dst = list[0]
			}
			return err
		})
	}
	if plot.Thing != "" {
		g.Go(func() (err error) {
			out.suspect, err = fetch(ctx, q, plot.Thing, w, maxCurves)
			return err
		})
	} else {
		out.expression = plot.Peers
	}
	var count curve
	one("quantile(0.5, "+plot.Peers+")", &out.median)
	one("quantile(0.1, "+plot.Peers+")", &out.low)
	one("quantile(0.9, "+plot.Peers+")", &out.high)
	one("count("+plot.Peers+")", &count)
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, c := range count {
		out.peers = max(out.peers, int(c.V))
	}
	return out, nil
}

// fetch returns the first series of an answer. Labels are not looked at: the
// numbers of label sets may change while we read.
func fetch(ctx context.Context, q promapi.Querier, expr string, w promapi.Window, limit int) ([]curve, error) {
	var res promapi.Result
	if err := q.Range(ctx, expr, w, &res); err != nil {
		return nil, err
	}
	var out []curve
	for i := range min(res.Len(), limit) {
		c := slices.DeleteFunc(slices.Clone(res.Of(i)), func(x promapi.Sample) bool { return math.IsNaN(x.V) || math.IsInf(x.V, 0) })
		if len(c) > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// chartCache keeps charts for a minute, so that many readers of one page cost
// the server one set of queries.
type chartCache struct {
	mu   sync.Mutex
	byID map[string]*cached
}

type cached struct {
	once   sync.Once
	at     time.Time
	curves *curves
	err    error
}

const (
	cacheFor = time.Minute
	maxCache = 64
)

// get returns what was made within the last minute, or makes it. Readers of
// the same page wait for one another.
func (c *chartCache) get(key string, now time.Time, build func() (*curves, error)) (*curves, error) {
	c.mu.Lock()
	if c.byID == nil {
		c.byID = map[string]*cached{}
	}
	for k, e := range c.byID {
		if age := now.Sub(e.at); age >= cacheFor || age < 0 {
			delete(c.byID, k)
		}
	}
	e := c.byID[key]
	if e == nil {
		if len(c.byID) >= maxCache {
			clear(c.byID)
		}
		e = &cached{at: now}
		c.byID[key] = e
	}
	c.mu.Unlock()
	e.once.Do(func() { e.curves, e.err = build() })
	return e.curves, e.err
}
