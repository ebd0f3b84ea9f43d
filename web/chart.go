package web

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/promapi"
)

// Size of a chart in its own units, and the area of the curves in it. Labels of
// the value axis stand inside, so that they can grow on a phone.
const (
	chartWidth, chartHeight       = 760.0, 240.0
	plotLeft, plotRight           = 10.0, 750.0
	plotTop, plotBottom           = 26.0, 204.0
	axisTicks, maxRows      int   = 4, 13
	day                           = 24 * time.Hour
	xTicks                  int64 = 6
)

// chart is what a template needs to draw the curves.
type chart struct {
	ID string // of its text in the page
	// Missing says why there is nothing to draw.
	Missing    string
	Title      string
	Text       string // for those who cannot see it
	Expression string
	Unit       string
	Suspect    []string // paths
	Median     string
	Band       string
	Y, X       []tick
	Marks      []tick // onset and end
	Peers      int
	Rows       []figures
	// Whole says that the whole job is drawn: nobody is suspected.
	Whole bool
}

// tick is a line of the grid, or a mark.
type tick struct {
	At    float64
	Label string
}

// figures is one row of the table that says the same in numbers.
type figures struct {
	At                         time.Time
	Suspect, Median, Low, High string
}

// Width and Height are the size of the drawing.
func (c *chart) Width() float64  { return chartWidth }
func (c *chart) Height() float64 { return chartHeight }

// Top and Bottom bound the area of the curves.
func (c *chart) Top() float64    { return plotTop }
func (c *chart) Bottom() float64 { return plotBottom }
func (c *chart) Left() float64   { return plotLeft }
func (c *chart) Right() float64  { return plotRight }

// chart draws the decisive signal of an incident, or says why it cannot. It is
// nil only where no charts are wanted.
func (s *Site) chart(ctx context.Context, inc *incidents.Incident, st *State) *chart {
	if s.opts.Querier == nil {
		return nil
	}
	if st == nil || st.Plots == nil {
		return &chart{Missing: "The series are known after the first evaluation."}
	}
	set, now := s.opts.Settings().withDefaults(), s.opts.Now()
	w := window(inc, set, now)
	id, plot, ok := plotted(inc, st.Plots, peerHosts(inc, st), w.Step)
	if !ok {
		return &chart{Missing: "No series shows what decided: it follows from several signals, or they are gone."}
	}
	key := inc.ID + plot.Source + plot.Thing + plot.Peers
	// Whoever comes second must not lose the chart since the first went away.
	got, err := s.charts.get(key, now, func() (*curves, error) { return s.ask(context.WithoutCancel(ctx), id, plot, w) })
	switch {
	case err != nil:
		return &chart{Missing: "The source could not be asked: " + firstLine(err.Error()), Expression: plot.Thing}
	case got.empty():
		return &chart{Missing: "The source has no samples for this time.", Expression: got.expression}
	}
	return got.draw(inc)
}

// peerHosts are the hosts of the job that is harmed, none if they are too many
// to be listed or unknown: then all hosts are peers.
func peerHosts(inc *incidents.Incident, st *State) []string {
	j := st.job(inc.Verdict.Job)
	if j == nil || len(j.Hosts) < 2 || len(j.Hosts) > maxPeerHosts {
		return nil
	}
	return j.Hosts
}

func (c *curves) draw(inc *incidents.Incident) *chart {
	lo, hi := c.span()
	f := frame{start: c.start.UnixMilli(), end: c.end.UnixMilli()}
	factor, unit := scaleOf(max(math.Abs(lo), math.Abs(hi)), c.unit)
	step := nice((hi - lo) * factor / float64(axisTicks))
	f.lo, f.hi = math.Floor(lo*factor/step)*step/factor, math.Ceil(hi*factor/step)*step/factor
	if f.hi <= f.lo {
		f.hi = f.lo + step/factor
	}
	out := &chart{
		ID: "chart-text", Expression: c.expression, Unit: unit, Peers: c.peers, Whole: len(c.suspect) == 0,
		Title: plain(c.signal.String()), Median: f.path(c.median), Band: f.band(c.low, c.high),
	}
	for _, s := range c.suspect {
		out.Suspect = append(out.Suspect, f.path(s))
	}
	for v := f.lo * factor; v <= f.hi*factor*(1+1e-9); v += step {
		out.Y = append(out.Y, tick{f.y(v / factor), strings.TrimSpace(trim(v) + " " + unit)})
	}
	out.X = f.times()
	out.mark(&f, inc.StartedAt, "onset")
	if inc.State == incidents.Resolved {
		out.mark(&f, inc.ResolvedAt, "end")
	}
	out.Rows = c.table()
	out.Text = c.describe(inc)
	return out
}

func (c *chart) mark(f *frame, t time.Time, what string) {
	if ms := t.UnixMilli(); ms >= f.start && ms <= f.end {
		c.Marks = append(c.Marks, tick{f.x(ms), what})
	}
}

// span returns the lowest and highest value; zero is in it unless the curves
// lie far from it and close together.
func (c *curves) span() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, list := range append([]curve{c.median, c.low, c.high}, c.suspect...) {
		for _, x := range list {
			lo, hi = min(lo, x.V), max(hi, x.V)
		}
	}
	if lo > 0 && (hi-lo) > 0.1*hi {
		lo = 0
	}
	if lo == hi {
		if lo > 0 {
			lo = 0
		}
		if lo == hi {
			hi = lo + 1
		}
	}
	return lo, hi
}

// nice rounds a step of an axis up to 1, 2 or 5 times a power of ten.
func nice(x float64) float64 {
	if x <= 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= x*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// describe says what the chart shows in one sentence.
func (c *curves) describe(inc *incidents.Incident) string {
	value := func(l curve, after bool) float64 {
		v, onset := []float64{}, inc.StartedAt.UnixMilli()
		for _, x := range l {
			if (x.T >= onset) == after {
				v = append(v, x.V)
			}
		}
		return median(v)
	}
	text := fmt.Sprintf("Over %s: ", span(c.end.Sub(c.start).Round(time.Minute)))
	if len(c.suspect) > 0 {
		text += "the suspect's median is " + turn(value(c.suspect[0], false), value(c.suspect[0], true), c.unit, " the onset", " it") + "; "
	}
	return text + fmt.Sprintf("the median of %d peers is %s.", c.peers,
		turn(value(c.median, false), value(c.median, true), c.unit, "", ""))
}

// table samples the curves at some times, for those who prefer numbers.
func (c *curves) table() []figures {
	base := c.median
	if len(c.suspect) > 0 {
		base = c.suspect[0]
	}
	if len(base) == 0 {
		return nil
	}
	at := func(l curve, t int64) string {
		for _, x := range l {
			if x.T == t {
				return quantity(x.V, c.unit)
			}
		}
		return "–"
	}
	var out []figures
	every := max(1, (len(base)+maxRows-1)/maxRows)
	for i := 0; i < len(base); i += every {
		t := base[i].T
		row := figures{At: time.UnixMilli(t), Suspect: "–", Median: at(c.median, t), Low: at(c.low, t), High: at(c.high, t)}
		if len(c.suspect) > 0 {
			row.Suspect = at(c.suspect[0], t)
		}
		out = append(out, row)
	}
	return out
}

// frame maps times and values to the drawing.
type frame struct {
	start, end int64 // Unix ms
	lo, hi     float64
}

func (f *frame) x(t int64) float64 {
	return round1(plotLeft + (plotRight-plotLeft)*float64(t-f.start)/float64(max(1, f.end-f.start)))
}

func (f *frame) y(v float64) float64 {
	return round1(plotBottom - (plotBottom-plotTop)*(v-f.lo)/(f.hi-f.lo))
}

func round1(v float64) float64 { return math.Round(v*10) / 10 }

// path is a line that is broken where samples are missing.
func (f *frame) path(c curve) string {
	var b strings.Builder
	gap := gapOf(c)
	for i, p := range c {
		cmd := "L"
		if i == 0 || p.T-c[i-1].T > gap {
			cmd = "M"
		}
		fmt.Fprintf(&b, "%s%g %g", cmd, f.x(p.T), f.y(p.V))
	}
	return b.String()
}

// gapOf is the distance of two samples above which a line breaks.
func gapOf(c curve) int64 {
	least := int64(math.MaxInt64 / 4)
	for i := 1; i < len(c); i++ {
		least = min(least, c[i].T-c[i-1].T)
	}
	return least * 5 / 2
}

// band is the area between two curves, over the times that both have.
func (f *frame) band(low, high curve) string {
	at := map[int64]float64{}
	for _, p := range low {
		at[p.T] = p.V
	}
	var up, down []promapi.Sample
	for _, p := range high {
		if v, ok := at[p.T]; ok {
			up, down = append(up, p), append(down, promapi.Sample{T: p.T, V: v})
		}
	}
	if len(up) < 2 {
		return ""
	}
	var b strings.Builder
	for i, p := range up {
		fmt.Fprintf(&b, "%s%g %g", map[bool]string{true: "M", false: "L"}[i == 0], f.x(p.T), f.y(p.V))
	}
	for _, d := range slices.Backward(down) {
		fmt.Fprintf(&b, "L%g %g", f.x(d.T), f.y(d.V))
	}
	return b.String() + "Z"
}

// times are the ticks of the time axis, on round times.
func (f *frame) times() []tick {
	length := time.Duration(f.end-f.start) * time.Millisecond
	step := day
	for _, d := range []time.Duration{
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if int64(length/d) <= xTicks {
			step = d
			break
		}
	}
	var out []tick
	ms := step.Milliseconds()
	for t := (f.start/ms + 1) * ms; t <= f.end; t += ms {
		out = append(out, tick{f.x(t), time.UnixMilli(t).UTC().Format("15:04")})
	}
	return out
}
