package realserver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/promapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, url string) *promapi.Client {
	t.Helper()
	c, err := promapi.New(promapi.Config{Name: "real", URL: url, Limits: promapi.Limits{RequestsPerSecond: 1000}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func rows(q promapi.Querier, r *promapi.Result) []string {
	all := make([]string, 0, r.Len())
	for i, ref := range r.Refs {
		all = append(all, fmt.Sprint(q.Interner().Labels(ref), r.Of(i)))
	}
	slices.Sort(all)
	return all
}

// A text file of a node travels through a real node_exporter and a real
// Prometheus into the client.
func TestScrapeAndQuery(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.prom"), []byte("demo_metric{note=\"a \\\"b\\\" }\"} 42.5\n"), 0o644))
	node := realserver.StartNodeExporter(t, dir)
	prom := realserver.StartPrometheus(t, fmt.Sprintf(`
global: {scrape_interval: 1s}
scrape_configs:
- job_name: node
  static_configs: [{targets: [%q]}]
`, strings.TrimPrefix(node.URL, "http://")))
	c := newClient(t, prom.URL)

	var r promapi.Result
	require.Eventually(t, func() bool {
		require.NoError(t, c.Instant(t.Context(), "demo_metric", time.Now(), &r))
		return r.Len() == 1
	}, time.Minute, 200*time.Millisecond)
	require.Equal(t, `a "b" }`, c.Interner().Get(r.Refs[0], "note"))
	require.Equal(t, 42.5, r.Of(0)[0].V)

	require.NoError(t, c.Instant(t.Context(), `node_textfile_mtime_seconds`, time.Now(), &r))
	require.Equal(t, 1, r.Len())
	vs, err := c.LabelValues(t.Context(), "job", []string{"up"}, promapi.Window{Start: time.Now().Add(-time.Hour), End: time.Now()})
	require.NoError(t, err)
	require.Equal(t, []string{"node"}, vs)

	for expr, class := range map[string]promapi.Class{
		"up{":   promapi.ClassConfig,
		`"up"`:  promapi.ClassConfig,
		"up":    promapi.ClassUnknown, // no error
		"up+on": promapi.ClassConfig,
	} {
		require.Equal(t, class, promapi.ClassOf(c.Instant(t.Context(), expr, time.Now(), &r)), expr)
	}
}

// The embedded engine and a real server give the same answers for the same
// data.
func TestEmbeddedEqualsReal(t *testing.T) {
	data := t.TempDir()
	db, err := embedprom.Open(embedprom.Options{Dir: data})
	require.NoError(t, err)
	const base = int64(1_700_000_000_000)
	s := db.Appender()
	for i := range 5 {
		h := s.Series("__name__", "m", "node", fmt.Sprint(i), "note", "é \" }\n")
		for at := base; at < base+3_000_000; at += 15_000 {
			require.NoError(t, s.Append(h, at+int64(i*13), float64(at%977)/float64(i+1)))
		}
		require.NoError(t, s.Stale(h, base+3_000_100))
		require.NoError(t, s.Commit())
	}
	require.NoError(t, db.Close())

	embedded, err := embedprom.OpenTSDB(data, embedprom.Options{})
	require.NoError(t, err)
	q := embedded.Querier()
	exprs := []string{"m", "m[90s]", "m[45m]", `m{node!="1"}[50m]`, "m[1m] offset 7s", `sum by (node) (rate(m[2m]))`, `m{node=~"1|2"} * 2`, `count(m)`}
	times := []int64{base, base + 100_013, base + 1_500_000, base + 3_000_050, base + 3_000_200}
	window := promapi.Window{Start: time.UnixMilli(base), End: time.UnixMilli(base + 3_600_000), Step: 30 * time.Second}
	want := answers(t, q, exprs, times, window)
	require.NoError(t, embedded.Close())

	prom := realserver.StartPrometheus(t, "global: {external_labels: {region: eu}}", "--storage.tsdb.path="+data)
	require.Equal(t, want, answers(t, newClient(t, prom.URL), exprs, times, window))

	// The same as chunks, by remote read.
	chunks, err := promapi.New(promapi.Config{Name: "real", URL: prom.URL, Chunks: true, Limits: promapi.Limits{RequestsPerSecond: 1000}})
	require.NoError(t, err)
	defer chunks.Close()
	require.Equal(t, want, answers(t, chunks, exprs, times, window))
	resp, err := http.Get(prom.URL + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	http.DefaultClient.CloseIdleConnections()
	require.Regexp(t, `(?m)^prometheus_http_requests_total\{code="200",handler="/api/v1/read"\} ([5-9]|\d\d)$`, string(text))
}

func answers(t *testing.T, q promapi.Querier, exprs []string, times []int64, w promapi.Window) [][]string {
	t.Helper()
	var all [][]string
	var r promapi.Result
	for _, expr := range exprs {
		for _, at := range times {
			require.NoError(t, q.Instant(t.Context(), expr, time.UnixMilli(at), &r))
			all = append(all, rows(q, &r))
		}
	}
	require.NoError(t, q.Range(t.Context(), "m", w, &r))
	return append(all, rows(q, &r))
}

// Two Alertmanagers form a cluster, take an alert, and survive a crash.
func TestAlertmanagers(t *testing.T) {
	const config = "route: {receiver: none}\nreceivers: [{name: none}]\n"
	a := realserver.StartAlertmanager(t, config)
	b := realserver.StartAlertmanager(t, config, a.Cluster)
	require.Eventually(t, func() bool { return len(peers(t, b.URL)) == 2 }, time.Minute, 200*time.Millisecond)
	resp, err := http.Post(a.URL+"/api/v2/alerts", "application/json", bytes.NewReader([]byte(`[{"labels":{"alertname":"X"}}]`)))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	a.Reload(config + "# changed\n")
	a.Kill()
	a.Restart()
	require.NotEmpty(t, peers(t, a.URL))
	http.DefaultClient.CloseIdleConnections()
}

func peers(t *testing.T, url string) []any {
	t.Helper()
	resp, err := http.Get(url + "/api/v2/status")
	require.NoError(t, err)
	defer resp.Body.Close()
	var st struct {
		Cluster struct {
			Peers []any `json:"peers"`
		} `json:"cluster"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&st))
	return st.Cluster.Peers
}
