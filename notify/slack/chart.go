package slack

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"github.com/collwatch/collwatch/incidents"
)

// How the suspect is drawn against its peers.
const (
	ChartNative = "native" // Slack's own chart, a picture where Slack refuses it
	ChartPNG    = "png"    // a picture
	ChartText   = "text"   // a line of block characters
	ChartNone   = "none"
)

// Series is the course of the signal that decided. All lists have the length of
// Times; NaN is a missing value.
type Series struct {
	Title string // of the signal, such as "NIC rate"
	Unit  string // of the values, such as "GB/s"
	// Text says in a sentence what is drawn.
	Text            string
	Times           []time.Time // rising
	Suspect, Median []float64   // Suspect is empty if nobody is named
	Peers           int         // behind the median
	Onset           time.Time
}

// chartPoints is what Slack's chart takes, chartWait how long figures may take.
// Without figures it is tried again after a pause, a few times.
const (
	chartPoints = 20
	chartWait   = 10 * time.Second
	chartTries  = 3
	chartPause  = 20 * time.Second
)

// chart answers in the thread, once, with the course of the signal. The message
// itself never waits for it: it is posted long before.
func (c *channel) chart(ctx context.Context, it *item) error {
	s := c.shot(it)
	key := it.thread + "/chart"
	done := func(r *record) { r.Charted, r.Charting = true, time.Time{} }
	if !s.rec.Charting.IsZero() {
		ts, err := c.search(ctx, s.rec.Channel, s.rec.TS, key, s.rec.Charting)
		if err != nil {
			return err
		}
		if ts != "" {
			c.n.change(it, done)
			return nil
		}
	}
	series, ok := c.figures(ctx, &s.inc)
	if !ok {
		if c.missed(it) >= chartTries {
			c.n.change(it, done)
		}
		return nil
	}
	m := &Message{Text: series.words(), Thread: s.rec.TS, Key: key}
	if c.n.opts.Chart == ChartNative && !c.plainCharts {
		m.Chart = &series
	}
	now := c.n.opts.Now()
	c.n.change(it, func(r *record) { r.Charting = now })
	_, _, err := c.api.PostMessage(ctx, s.rec.Channel, m)
	if m.Chart != nil && refusedContent(err) {
		// A workspace that does not have charts yet; the next call tries without.
		c.plainCharts = true
		c.n.change(it, func(r *record) { r.Charting = time.Time{} })
		return err
	}
	if err != nil && !definite(err) {
		return err
	}
	// Done before the picture: one that is missing is better than one twice.
	c.n.change(it, done)
	if err != nil || m.Chart != nil || c.n.opts.Chart == ChartText {
		return err
	}
	return c.picture(ctx, &s.rec, &series)
}

// figures asks for what is drawn, and for no longer than chartWait. Without it
// the message is whole.
func (c *channel) figures(ctx context.Context, inc *incidents.Incident) (Series, bool) {
	asking, cancel := context.WithTimeout(ctx, chartWait)
	defer cancel()
	series, ok := c.n.opts.Series(asking, inc)
	series = series.thin(chartPoints)
	series.Title = cmp.Or(cut(oneLine(series.Title), 50), "value")
	return series, ok && len(series.Times) >= 2
}

// missed notes that there were no figures, as right after a start, and how often
// that was so.
func (c *channel) missed(it *item) int {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	it.chartTries++
	it.chartAt = c.n.opts.Now().Add(chartPause)
	return it.chartTries
}

// picture adds the chart as a file to its words.
func (c *channel) picture(ctx context.Context, rec *record, series *Series) error {
	picture, err := series.png()
	if err != nil {
		return nil //nolint:nilerr // the words are there; figures that cannot be drawn are no failure of Slack
	}
	err = c.api.UploadFile(ctx, rec.Channel, rec.TS, series.Title, picture)
	if err != nil {
		c.log.Info("slack takes no picture; the scope is files:write", "err", err)
	}
	return nil
}

// wantsChart says that a chart is due. The caller holds the lock.
func (c *channel) wantsChart(it *item) bool {
	if wait := it.chartAt.Sub(c.n.opts.Now()); wait > 0 && wait <= chartPause { // longer: the clock stepped back
		return false
	}
	return c.n.opts.Series != nil && c.n.opts.Chart != ChartNone && !it.rec.Charted && it.rec.TS != "" && it.rec.Held == nil &&
		!it.over() && !it.plain && !c.storm.on
}

// thin keeps at most n points, evenly, the last among them.
func (s Series) thin(n int) Series {
	total := len(s.Times)
	if total <= n {
		return s
	}
	out := s
	out.Times, out.Suspect, out.Median = nil, nil, nil
	for i := range n {
		k := i * (total - 1) / (n - 1)
		out.Times = append(out.Times, s.Times[k])
		if len(s.Suspect) > 0 {
			out.Suspect = append(out.Suspect, s.Suspect[k])
		}
		if len(s.Median) > 0 {
			out.Median = append(out.Median, s.Median[k])
		}
	}
	return out
}

// words is the chart as text: a line of eight block characters survives in the
// preview of a phone and costs nothing.
func (s *Series) words() string {
	top := 0.0
	for _, list := range [][]float64{s.Suspect, s.Median} {
		for _, v := range list {
			if !math.IsNaN(v) {
				top = max(top, v)
			}
		}
	}
	lines := []string{escape(oneLine(s.Text), maxLead)}
	if len(s.Suspect) > 0 {
		lines = append(lines, "`"+spark(s.Suspect, top)+"` suspect")
	}
	if len(s.Median) > 0 {
		lines = append(lines, "`"+spark(s.Median, top)+"` "+peersName(s.Peers))
	}
	return strings.Join(lines, "\n") + fmt.Sprintf("\n%s to %s, onset %s", hm(s.Times[0]), hm(s.Times[len(s.Times)-1]), clock(s.Onset))
}

func hm(t time.Time) string { return t.UTC().Format("15:04") }

// peersName has at most the 20 characters of a legend.
func peersName(n int) string {
	if n < 2 {
		return "peers"
	}
	return fmt.Sprintf("median of %d peers", min(n, 9999))
}

// spark draws values from zero to a top as block characters.
func spark(values []float64, top float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			b.WriteRune(' ')
		case top <= 0:
			b.WriteRune(blocks[0])
		default:
			b.WriteRune(blocks[min(int(max(v, 0)/top*float64(len(blocks))), len(blocks)-1)])
		}
	}
	return b.String()
}

// block is the chart in Slack's own form. Its points are the times at which all
// lines have a value, as Slack demands.
func (s *Series) block() slackapi.Block {
	layout := "15:04"
	if s.Times[1].Sub(s.Times[0]) < time.Minute {
		layout = "15:04:05"
	}
	var names []string
	seen := map[string]bool{}
	suspect := slackapi.DataVisualizationDataSeries{Name: "suspect"}
	median := slackapi.DataVisualizationDataSeries{Name: peersName(s.Peers)}
	for i, t := range s.Times {
		name := t.UTC().Format(layout)
		if seen[name] {
			name = t.UTC().Format("01-02 15:04:05")
		}
		if seen[name] || missing(s.Suspect, i) || missing(s.Median, i) {
			continue
		}
		seen[name] = true
		names = append(names, name)
		if len(s.Suspect) > 0 {
			suspect.Data = append(suspect.Data, slackapi.NewDataVisualizationDataPoint(name, rounded(s.Suspect[i])))
		}
		if len(s.Median) > 0 {
			median.Data = append(median.Data, slackapi.NewDataVisualizationDataPoint(name, rounded(s.Median[i])))
		}
	}
	var lines []slackapi.DataVisualizationDataSeries
	for _, l := range []slackapi.DataVisualizationDataSeries{suspect, median} {
		if len(l.Data) > 0 {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	axis := slackapi.NewDataVisualizationAxisConfig(names...).WithYLabel(cut(oneLine(s.Unit), 50)).WithXLabel("UTC, onset " + hm(s.Onset))
	return &slackapi.DataVisualizationBlock{
		Type: slackapi.MBTDataVisualization, Title: s.Title, Chart: slackapi.NewDataVisualizationLineChart(axis, lines...),
	}
}

func missing(list []float64, i int) bool { return len(list) > 0 && math.IsNaN(list[i]) }

// rounded keeps three digits: nobody reads more in a chart.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}
