package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/rules"
	"github.com/collwatch/collwatch/sim"
)

// BenchmarkCost measures on a real Prometheus what one evaluation of each
// generated group costs in processor time, beside a z-score rule over an hour
// on every series and beside the median and band rules of Grafana's
// promql-anomaly-detection (adaptive and robust), on the series of one simulated
// cluster. It prints a table.
//
// Expressions are asked one by one as count(expression), so that neither the
// encoding of answers nor the writing of results counts on any side. Of Grafana's
// rules the bands and the seasonal group are left out, and a day's windows hold
// what there is, so theirs is a lower bound.
func BenchmarkCost(b *testing.B) {
	for _, c := range []struct {
		hosts int
		day   bool
	}{{25, true}, {250, false}} {
		b.Run(fmt.Sprintf("hosts=%d", c.hosts), func(b *testing.B) { cost(b, c.hosts, c.day) })
	}
}

// costly is a server with an hour of a cluster's series, what the rules record
// of it, and copies of the series for Grafana's rules.
type costly struct {
	b      *testing.B
	db     *embedprom.DB
	server *realserver.Server
	at     time.Time
	names  []string // raw metrics
	series int
}

func cost(b *testing.B, hosts int, day bool) {
	c := &costly{b: b}
	dir := b.TempDir()
	var err error
	c.db, err = embedprom.Open(embedprom.Options{Dir: dir})
	require.NoError(b, err)
	c.simulate(hosts)
	groups := c.record()
	c.copies(day)
	require.NoError(b, c.db.Close())
	c.server = realserver.StartPrometheus(b, "", "--storage.tsdb.path="+dir, "--query.max-samples=200000000", "--query.timeout=10m")

	var z, adaptive, robust []string
	for _, m := range c.names {
		z = append(z, fmt.Sprintf("(%s - avg_over_time(%s[1h])) / stddev_over_time(%s[1h])", m, m, m))
	}
	const pick, copied = `{anomaly_name!="",anomaly_select=""}`, "anomaly:select"
	selects := strings.Repeat(pick+" > 0 or ", 4) + pick + " > 0"
	adaptive = []string{selects, "avg_over_time(" + copied + "[1h])", "stddev_over_time(" + copied + "[1h])", "avg_over_time(" + copied + "[26h])"}
	median := "quantile_over_time(0.5, " + copied + "[1d])"
	robust = []string{selects, median, median, "quantile_over_time(0.5, " + copied + "[1h])"}

	for b.Loop() {
		fmt.Printf("\n%d series of %d hosts; processor time of one evaluation\n", c.series, hosts)
		total := 0.0
		for _, g := range groups {
			ms := c.cpu(g.exprs)
			total += ms
			fmt.Printf("| `%s` | %d | %.0f ms |\n", g.name, len(g.exprs), ms)
		}
		fmt.Printf("| all generated groups | | %.0f ms, %.1f µs a series |\n", total, total*1000/float64(c.series))
		for _, x := range []struct {
			name  string
			exprs []string
		}{{"z-score over 1 h", z}, {"Grafana adaptive, without bands", adaptive}, {"Grafana robust, without bands", robust}} {
			ms := c.cpu(x.exprs)
			fmt.Printf("| %s | %d | %.0f ms, %.1f µs a series |\n", x.name, len(x.exprs), ms, ms*1000/float64(c.series))
			b.ReportMetric(ms/total, strings.Fields(x.name)[len(strings.Fields(x.name))-1]+"/ours")
		}
		b.ReportMetric(total*1000/float64(c.series), "µs/series")
	}
}

func (c *costly) simulate(hosts int) {
	s, ok := sim.Find("N00")
	require.True(c.b, ok)
	s.After = 0
	sink := c.db.Appender()
	run, err := s.New(sim.Params{Seed: 1, Hosts: hosts, Onset: 65 * time.Minute, Start: time.Unix(1_767_312_000, 0)}, sink)
	require.NoError(c.b, err)
	require.NoError(c.b, run.Cluster.Run(c.b.Context(), run.Until))
	require.NoError(c.b, sink.Commit())
	c.at = run.Cluster.Start().Add(run.Until)
	c.names, err = c.db.Querier().LabelValues(c.b.Context(), "__name__", nil, windowOf(c.db))
	require.NoError(c.b, err)
	for _, m := range c.names {
		c.series += c.ask(m).Len()
	}
}

func (c *costly) ask(expr string) *promapi.Result {
	var r promapi.Result
	require.NoError(c.b, c.db.Querier().Instant(c.b.Context(), expr, c.at, &r), expr)
	return &r
}

type costGroup struct {
	name  string
	exprs []string
}

// record evaluates the rules once and writes what they record as if it had been
// so for an hour.
func (c *costly) record() []costGroup {
	o := rules.Default()
	o.Metrics, o.Single = c.names, true
	out, err := rules.Generate(o)
	require.NoError(c.b, err)
	var all []costGroup
	for _, g := range parse(c.b, out.Files[0].Data).Groups {
		group := costGroup{name: g.Name}
		for _, r := range g.Rules {
			group.exprs = append(group.exprs, r.Expr)
			if r.Record == "" {
				continue
			}
			rows, sink := c.ask(r.Expr), c.db.Appender()
			for i, ref := range rows.Refs {
				pairs := []string{"__name__", r.Record}
				for _, l := range c.db.Querier().Interner().Labels(ref) {
					if l.Name != "__name__" {
						pairs = append(pairs, l.Name, l.Value)
					}
				}
				c.write(sink, pairs, rows.Of(i)[0].V, time.Hour, 30*time.Second)
			}
			require.NoError(c.b, sink.Commit())
		}
		all = append(all, group)
	}
	return all
}

func (c *costly) write(sink *embedprom.Sink, pairs []string, v float64, span, step time.Duration) {
	h := sink.Series(pairs...)
	for at := c.at.Add(-span); !at.After(c.at); at = at.Add(step) {
		require.NoError(c.b, sink.Append(h, at.UnixMilli(), v*(1+float64(at.Unix()%97)/1e4)))
	}
}

// copies are the series as Grafana's rules want them, each minute.
func (c *costly) copies(day bool) {
	span := time.Hour
	if day {
		span = 24 * time.Hour
	}
	for _, m := range c.names {
		rows, sink := c.ask(m), c.db.Appender()
		for i, ref := range rows.Refs {
			pairs := []string{"__name__", "anomaly:select", "anomaly_name", m}
			for _, l := range c.db.Querier().Interner().Labels(ref) {
				if l.Name != "__name__" {
					pairs = append(pairs, l.Name, l.Value)
				}
			}
			c.write(sink, pairs, 1+rows.Of(i)[0].V, span, time.Minute)
		}
		require.NoError(c.b, sink.Commit())
	}
}

// cpu asks the server for expressions and returns its processor time in ms, the
// least of three times.
func (c *costly) cpu(exprs []string) float64 {
	least := -1.0
	for range 3 {
		before := ticksOf(c.b, c.server.Pid())
		for _, e := range exprs {
			c.query("count(" + e + ")")
		}
		if ms := float64(ticksOf(c.b, c.server.Pid())-before) * 10; least < 0 || ms < least {
			least = ms
		}
	}
	return least
}

func (c *costly) query(expr string) {
	ctx, cancel := context.WithTimeout(c.b.Context(), 10*time.Minute)
	defer cancel()
	form := strings.NewReader(url.Values{"query": {expr}, "time": {strconv.FormatInt(c.at.Unix(), 10)}}.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.URL+"/api/v1/query", form)
	require.NoError(c.b, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.b, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.b, err)
	var a struct{ Status, Error string }
	require.NoError(c.b, json.Unmarshal(body, &a))
	require.Equal(c.b, "success", a.Status, "%s: %s", expr, a.Error)
}

// ticksOf is the processor time of a process so far, in hundredths of a second.
func ticksOf(b *testing.B, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	require.NoError(b, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(b, err)
	return user + system
}
