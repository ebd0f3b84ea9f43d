package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/contrib/grafana"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/rules"
)

// TestOwnMetricsAreWhatOthersRead: every query of the dashboard about collwatch
// returns series of a running daemon, and every rule about it is on metrics that
// the daemon has.
func TestOwnMetricsAreWhatOthersRead(t *testing.T) {
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	at, n := time.Now().Truncate(time.Second), 0
	for text := range scrapes(t, 4) {
		// As if they were a minute apart.
		n++
		load(t, db, text, at.Add(time.Duration(n)*time.Minute))
	}
	at = at.Add(4 * time.Minute)
	rows := func(expr string) int {
		var r promapi.Result
		require.NoError(t, db.Querier().Instant(t.Context(), expr, at, &r), expr)
		return r.Len()
	}
	files, err := grafana.Dashboards()
	require.NoError(t, err)
	asked := 0
	for _, f := range files {
		for _, q := range f.Queries {
			if f.Name == "collwatch.json" {
				asked++
				if rows(q.Expr) == 0 {
					t.Errorf("%s: no series from %s", q.Panel, q.Expr)
				}
			}
		}
	}
	require.Greater(t, asked, 20)

	out, err := rules.Generate(rules.Default())
	require.NoError(t, err)
	names := 0
	for _, f := range out.Files {
		if f.Name != "collwatch-self.yaml" {
			continue
		}
		for _, m := range metricsIn(t, f.Data) {
			names++
			if strings.HasPrefix(m, "collwatch_slack_") || strings.HasPrefix(m, "collwatch_exporter_") {
				continue // with a channel, and another program
			}
			if rows("{__name__=\""+m+"\"}") == 0 {
				t.Errorf("a rule is on %s, which the daemon does not have", m)
			}
		}
	}
	require.Greater(t, names, 15)
}

// metricsIn lists the metrics that a generated file reads.
func metricsIn(t *testing.T, data []byte) []string {
	t.Helper()
	seen := map[string]bool{}
	var out []string
	for _, p := range rules.Lint("f", data, rules.LintOptions{Metrics: []string{}}) {
		if p.ID == "uncovered" {
			name := strings.Fields(p.Text)[2]
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// scrapes runs a daemon on a simulated cluster and returns what it serves, again
// and again.
func scrapes(t *testing.T, n int) func(yield func([]byte) bool) {
	t.Helper()
	alertmanager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "[]")
	}))
	t.Cleanup(alertmanager.Close)
	file := filepath.Join(t.TempDir(), "collwatch.toml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "[global]\ninterval = \"1s\"\nstate_dir = %q\n[[source]]\nname = \"sim\"\nurl = %q\n[[alertmanager.target]]\nurl = %q\n",
		t.TempDir(), history(t), alertmanager.URL), 0o600))
	address := "127.0.0.1:" + realserver.FreePort(t)
	ctx, stop := context.WithCancel(t.Context())
	var log bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"run", "--config", file, "--web.listen-address=" + address}, io.Discard, &log)
	}()
	t.Cleanup(func() {
		stop()
		require.Equal(t, exitOK, <-done, &log)
	})
	get := func(path string) (int, []byte) {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			return 0, nil
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, body
	}
	return func(yield func([]byte) bool) {
		for range n {
			before := ""
			var body []byte
			require.Eventually(t, func() bool { // another evaluation than the last
				code := 0
				code, body = get("/metrics")
				now := line(body, "collwatch_evaluations_total ")
				if before == "" {
					before = now
				}
				return code == http.StatusOK && now != before && bytes.Contains(body, []byte("collwatch_coverage_entities{")) && bytes.Contains(body, []byte("collwatch_state_last_save"))
			}, time.Minute, 50*time.Millisecond)
			if !yield(body) {
				return
			}
		}
	}
}

// line is the line that begins so.
func line(text []byte, prefix string) string {
	for l := range strings.Lines(string(text)) {
		if strings.HasPrefix(l, prefix) {
			return l
		}
	}
	return ""
}

// load writes an exposition into the storage with a time of our own.
func load(t *testing.T, db *embedprom.DB, text []byte, at time.Time) {
	t.Helper()
	p, sink := parser.NewParser(parser.Options{}), db.Appender()
	for l := range strings.Lines(string(text)) {
		l = strings.TrimSpace(l)
		cut := strings.LastIndexByte(l, ' ')
		if strings.HasPrefix(l, "#") || cut < 0 {
			continue
		}
		ls, err := p.ParseMetric(l[:cut])
		require.NoError(t, err, l)
		var value float64
		_, err = fmt.Sscan(l[cut+1:], &value)
		require.NoError(t, err, l)
		pairs := []string{"instance", "mon0:9876", "job", "collwatch"}
		for k, v := range ls.Map() {
			pairs = append(pairs, k, v)
		}
		require.NoError(t, sink.Append(sink.Series(pairs...), at.UnixMilli(), value))
	}
	require.NoError(t, sink.Commit())
}
