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

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
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
// encoding of answers nor the writing of results counts on any side. Grafana's
// rules find 26 hours of a sample a minute; their bands and the seasonal group are
// left out, so theirs is a lower bound.
func BenchmarkCost(b *testing.B) {
	for _, hosts := range []int{25, 250} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) { cost(b, hosts) })
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

func cost(b *testing.B, hosts int) {
	var err error
	dir := b.TempDir()
	c := &costly{b: b}
	c.db, err = embedprom.Open(embedprom.Options{Dir: dir})
	require.NoError(b, err)
	c.simulate(hosts)
	groups := c.record()
	c.copies(dir)
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

// record evaluates the rules and writes what they record as if it had been so
// for an hour. What reads its own past, directly or over others, has no rows at
// first, so there are several rounds.
func (c *costly) record() []costGroup {
	o := rules.Default()
	o.Metrics, o.Single = c.names, true
	out, err := rules.Generate(o)
	require.NoError(c.b, err)
	var all []costGroup
	written := map[string]bool{}
	for round := range 3 {
		for _, g := range parse(c.b, out.Files[0].Data).Groups {
			group := costGroup{name: g.Name}
			for _, r := range g.Rules {
				group.exprs = append(group.exprs, r.Expr)
				if r.Record != "" && !written[r.Record] {
					written[r.Record] = c.keep(r.Record, r.Expr)
				}
			}
			if round == 0 {
				all = append(all, group)
			}
		}
	}
	return all
}

// keep writes what an expression yields under a name, and says whether there was
// anything.
func (c *costly) keep(name, expr string) bool {
	rows, sink := c.ask(expr), c.db.Appender()
	for i, ref := range rows.Refs {
		c.write(sink, c.labelsOf(ref, name), rows.Of(i)[0].V, time.Hour, 30*time.Second)
	}
	require.NoError(c.b, sink.Commit())
	return rows.Len() > 0
}

// labelsOf are the labels of a series under another name, with further ones.
func (c *costly) labelsOf(ref promapi.Ref, name string, more ...string) []string {
	pairs := append([]string{"__name__", name}, more...)
	for _, l := range c.db.Querier().Interner().Labels(ref) {
		if l.Name != "__name__" {
			pairs = append(pairs, l.Name, l.Value)
		}
	}
	return pairs
}

func (c *costly) write(sink *embedprom.Sink, pairs []string, v float64, span, step time.Duration) {
	h := sink.Series(pairs...)
	for at := c.at.Add(-span); !at.After(c.at); at = at.Add(step) {
		require.NoError(c.b, sink.Append(h, at.UnixMilli(), wavy(v, at)))
	}
}

// wavy is a value with a hundredth of noise, so that samples take as much room as
// those of a server.
func wavy(v float64, at time.Time) float64 { return v * (1 + float64(at.Unix()%97)/1e4) }

// The history of Grafana's rules. What is older than the head goes into a block,
// as a server would have it, and needs no log that is read at the start.
const (
	history  = 26 * time.Hour
	inHead   = 70 * time.Minute
	sampling = time.Minute
)

// copies are the series as Grafana's rules want them, each minute.
func (c *costly) copies(dir string) {
	block, err := tsdb.NewBlockWriter(promslog.NewNopLogger(), dir, 2*history.Milliseconds())
	require.NoError(c.b, err)
	for _, m := range c.names {
		rows, sink, app := c.ask(m), c.db.Appender(), block.Appender(c.b.Context())
		for i, ref := range rows.Refs {
			pairs := c.labelsOf(ref, "anomaly:select", "anomaly_name", m)
			v := 1 + rows.Of(i)[0].V
			c.write(sink, pairs, v, inHead, sampling)
			id, ls := storage.SeriesRef(0), labels.FromStrings(pairs...)
			for at := c.at.Add(-history); at.Before(c.at.Add(-inHead)); at = at.Add(sampling) {
				id, err = app.Append(id, ls, at.UnixMilli(), wavy(v, at))
				require.NoError(c.b, err)
			}
		}
		require.NoError(c.b, sink.Commit())
		require.NoError(c.b, app.Commit())
	}
	_, err = block.Flush(c.b.Context())
	require.NoError(c.b, err)
	require.NoError(c.b, block.Close())
}

// cpu asks the server for expressions and returns its processor time in ms, the
// least of three times, or the first that takes long enough to be exact.
func (c *costly) cpu(exprs []string) float64 {
	least := -1.0
	for range 3 {
		before := ticksOf(c.b, c.server.Pid())
		for _, e := range exprs {
			c.query("count(" + e + ")")
		}
		ms := float64(ticksOf(c.b, c.server.Pid())-before) * 10
		if least < 0 || ms < least {
			least = ms
		}
		if ms > 20_000 {
			break
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
