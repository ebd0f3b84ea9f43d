package e2e

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
)

var (
	printFigures = flag.Bool("figures", false, "measure what an evaluation costs, which takes a quarter of an hour, and print a table")
	figureHosts  = flag.String("figures.hosts", "26,260,780", "sizes to measure, in hosts of about 385 series each")
)

const (
	figureInterval = 15 * time.Second
	figureWarmUp   = 30 * time.Minute
	figureTicks    = 8 // measured; the first two are not
)

const figureConfig = `
[global]
interval = "15s"
query_offset = "1s"
state_dir = %q
cluster = "figures"
warm_up = %q

[[source]]
name = "prometheus"
url = %q

[signals]
scrape = "15s"
`

// TestFigures prints what an evaluation costs the daemon and a real Prometheus, by
// the number of series. The series are written beforehand, those to come as well, so
// that neither scrapes nor a simulator share the processors with what is measured.
func TestFigures(t *testing.T) {
	if !*printFigures {
		t.Skip("a measurement, no test: run it with -args -figures")
	}
	var all []figures
	daemon := &rig{t: t, dir: t.TempDir()}
	daemon.build()
	for size := range strings.SplitSeq(*figureHosts, ",") {
		var hosts int
		_, err := fmt.Sscan(size, &hosts)
		require.NoError(t, err)
		t.Run(size+" hosts", func(t *testing.T) { all = append(all, measure(t, daemon.bin, hosts)) })
	}
	report(os.Stdout, all)
}

// figures are those of one size.
type figures struct {
	series, rows    float64 // in the answers, and in the frames
	client          float64 // s of CPU a tick
	server, bare    float64 // s of CPU a tick, and of bare instant queries of the same series
	wall, thrown    float64 // s a tick, and for the same queries with their answers thrown away
	resident, peak  float64 // bytes
	warm, firstTick float64 // s from start to the first evaluation with history, of CPU and of time
	idle            float64 // s of CPU of the server per s
}

func measure(t *testing.T, bin string, hosts int) (f figures) {
	prom := history(t, hosts)
	began := processorTime(t, prom.Pid())
	time.Sleep(5 * time.Second) // the span measured, not a wait for something
	f.idle = (processorTime(t, prom.Pid()) - began) / 5

	r := &rig{t: t, size: size{interval: figureInterval}, dir: t.TempDir(), bin: bin, log: &syncBuffer{}}
	r.address = freeAddress(t)
	r.config = filepath.Join(r.dir, "collwatch.toml")
	require.NoError(t, os.WriteFile(r.config, fmt.Appendf(nil, figureConfig, filepath.Join(r.dir, "state"), figureWarmUp, prom.URL), 0o600))
	start := time.Now()
	r.start()
	f.firstTick = time.Since(start).Seconds()
	f.warm = processorTime(t, r.daemon.Process.Pid)
	r.awaitTick(2)

	queries := askedQueries(t, prom.URL)
	span, from := time.Now(), r.usage()
	serverFrom, bare, thrown := processorTime(t, prom.Pid()), 0.0, 0.0
	for i := range figureTicks {
		at := r.awaitTick(from.ticks + float64(i) + 1)
		before := processorTime(t, prom.Pid())
		f.series, _ = ask(t, prom.URL, bareQueries(queries), at)
		bare += processorTime(t, prom.Pid()) - before
		before = processorTime(t, prom.Pid())
		_, took := ask(t, prom.URL, queries, at)
		thrown += took.Seconds()
		serverFrom += processorTime(t, prom.Pid()) - before // not the daemon's
	}
	to := r.usage()
	n := to.ticks - from.ticks
	f.bare, f.thrown = bare/figureTicks, thrown/figureTicks
	f.server = (processorTime(t, prom.Pid()) - serverFrom - bare - f.idle*time.Since(span).Seconds()) / n
	f.client, f.wall = (to.cpu-from.cpu)/n, (to.wall-from.wall)/n
	f.rows, f.resident, f.peak = to.rows, to.resident, peakMemory(t, r.daemon.Process.Pid)
	return f
}

// history starts a Prometheus that has series of the past and of the next minutes.
func history(t *testing.T, hosts int) *realserver.Server {
	t.Helper()
	const past, future = figureWarmUp + 2*time.Minute, 20 * time.Minute
	data := t.TempDir()
	db, err := embedprom.Open(embedprom.Options{Dir: data})
	require.NoError(t, err)
	sink := db.Appender()
	c, err := sim.New(sim.Options{
		Seed: 42, Start: time.Now().Add(-past), Shape: sim.R16(hosts), Dialect: sim.Full(), Noise: sim.DefaultNoise(),
	}, sink)
	require.NoError(t, err)
	for at := time.Minute; at <= past+future; at += time.Minute {
		require.NoError(t, c.Run(t.Context(), at))
		require.NoError(t, sink.Commit())
	}
	require.NoError(t, db.Close())
	return realserver.StartPrometheus(t, "", "--storage.tsdb.path="+data)
}

// askedQueries are the queries of a daemon as configured here.
func askedQueries(t *testing.T, url string) (out []string) {
	t.Helper()
	c, err := promapi.New(promapi.Config{Name: "p", URL: url})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	r, err := signals.NewReader(signals.Options{Interval: figureInterval, Scrape: figureInterval}, map[string]promapi.Querier{"p": c})
	require.NoError(t, err)
	for _, q := range r.Queries() {
		out = append(out, q.Expr)
	}
	return out
}

var window = regexp.MustCompile(`\[\w+\]$`)

// bareQueries are the same selectors without a range: one sample of each series.
func bareQueries(queries []string) (out []string) {
	for _, q := range queries {
		out = append(out, window.ReplaceAllString(q, ""))
	}
	return out
}

// ask sends queries, a few at a time as the daemon does, and throws the answers away
// but for the number of series.
func ask(t *testing.T, base string, queries []string, at time.Time) (series float64, took time.Duration) {
	t.Helper()
	start, counts := time.Now(), make([]int, len(queries))
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(4)
	for i, q := range queries {
		g.Go(func() (err error) {
			counts[i], err = countSeries(ctx, base, q, at)
			return err
		})
	}
	require.NoError(t, g.Wait())
	took = time.Since(start)
	for _, n := range counts {
		series += float64(n)
	}
	return series, took
}

func countSeries(ctx context.Context, base, query string, at time.Time) (int, error) {
	form := url.Values{"query": {query}, "time": {fmt.Sprint(at.Unix())}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/query", strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept-Encoding", "identity") // as the daemon asks
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, braces := 0, make([]byte, 64<<10)
	for {
		k, err := resp.Body.Read(braces)
		for _, c := range braces[:k] {
			if c == '{' {
				n++
			}
		}
		if err == io.EOF {
			return max(0, n-2) / 2, nil // two around the result, two a series
		}
		if err != nil {
			return 0, err
		}
	}
}

// report prints the table with its bars. Bars at other sizes than theirs are left out.
func report(w io.Writer, all []figures) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name, bar string, value func(f *figures) string) {
		fmt.Fprintf(tw, "%s\t", name)
		for i := range all {
			fmt.Fprintf(tw, "%s\t", value(&all[i]))
		}
		fmt.Fprintf(tw, "%s\t\n", bar)
	}
	number := func(format string, value func(f *figures) float64) func(f *figures) string {
		return func(f *figures) string { return fmt.Sprintf(format, value(f)) }
	}
	line("series in the answers", "bar", number("%.0f", func(f *figures) float64 { return f.series }))
	line("rows in the frames", "", number("%.0f", func(f *figures) float64 { return f.rows }))
	line("daemon, CPU of a tick, ms", "150 at 100,000", number("%.0f", func(f *figures) float64 { return f.client * 1e3 }))
	line("daemon, CPU per series, µs", "1.2 × the first", number("%.2f", func(f *figures) float64 { return f.client * 1e6 / f.series }))
	line("server, CPU of a tick, ms", "", number("%.0f", func(f *figures) float64 { return f.server * 1e3 }))
	line("against bare instant queries", "1.3", number("%.2f", func(f *figures) float64 { return f.server / f.bare }))
	line("wall time of a tick, ms", "3000", number("%.0f", func(f *figures) float64 { return f.wall * 1e3 }))
	line("against answers thrown away", "1.25", number("%.2f", func(f *figures) float64 { return f.wall / f.thrown }))
	line("resident memory, MB", "150 at 100,000, 500 at 300,000", number("%.0f", func(f *figures) float64 { return f.resident / 1e6 }))
	line("its peak, reading history, MB", "", number("%.0f", func(f *figures) float64 { return f.peak / 1e6 }))
	line("start to first verdict, s", "60", number("%.0f", func(f *figures) float64 { return f.firstTick }))
	line("of it CPU of the daemon, s", "", number("%.1f", func(f *figures) float64 { return f.warm }))
	_ = tw.Flush()
}
