package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/exporter"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/sim"
)

// sandbox is the folder that the pages' commands run in.
type sandbox struct {
	t *testing.T
	// replace turns paths, addresses and placeholders of the pages into those of
	// the test.
	replace *strings.Replacer
	pages   http.Handler // of a daemon
	root    string       // of the repository
}

// newYear is when the jobs of the pages run: it is what the pages say.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newSandbox makes a folder with a configuration, recorded series, files of a
// fabric and dumps of a hang, and goes there.
func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	root := repo(t)
	samples := filepath.Join(root, "topology", "parse", "testdata")
	t.Chdir(t.TempDir())
	server := strings.TrimPrefix(docServer(t), "http://")
	alertmanager := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(alertmanager.Close)
	text := "[global]\nstate_dir = \"state\"\n[[source]]\nname = \"prometheus.example.org:9090\"\nurl = \"http://" + server +
		"\"\nlimits.requests_per_second = 10000\n[[alertmanager.target]]\nurl = \"" + alertmanager.URL + "\"\n"
	for _, file := range []string{"collwatch.toml", "config.example.toml"} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	t.Setenv("COLLWATCH_CONFIG", "collwatch.toml")
	require.NoError(t, os.Mkdir(".collwatch", 0o700))
	for from, to := range map[string]string{"ibnetdiscover/simulated.in": "fabric.txt", "csv/cables.in": "plan.csv"} {
		data, err := os.ReadFile(filepath.Join(samples, from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, data, 0o600))
	}
	own := "groups: [{name: mine, rules: [{alert: PortDown, expr: 'node_infiniband_state_id < 4', for: 1m}]}]\n"
	require.NoError(t, os.WriteFile("my-rules.yaml", []byte(own), 0o600))
	docDumps(t)
	pages := docDaemon(t)
	site := httptest.NewServer(pages)
	t.Cleanup(site.Close)
	return &sandbox{t: t, root: root, pages: pages, replace: strings.NewReplacer(
		"http://monitoring.example.org:9876", site.URL,
		"--config FILE", "--config collwatch.toml", " JOB@FROM..ONSET", " 48213@2026-01-01T00:02:00Z..2026-01-01T00:07:00Z",
		" JOB@ONSET..TO", " 48300@2026-01-01T00:14:00Z..2026-01-01T00:19:00Z", "OLDJOB", "48213", "GOODJOB", "48213",
		" JOB", " 48300", "DUMP...", "nccl_trace_rank_*", "/shared/dumps", "dumps", "HOST", "gpu-001",
		"/etc/collwatch/config.toml", "collwatch.toml", "/etc/prometheus/rules", "rules", `"$JOB"`, "48300",
		"2026-01-01T00:20:00Z", "2026-01-01T00:05:00Z", "2026-01-02T00:00:00Z", "2026-01-01T00:10:00Z", // a day takes minutes
	)}
}

// docServer holds the two jobs of the pages in the past, writes the first of them
// to past.om.gz, and has the second in the last minutes as well.
func docServer(t *testing.T) string {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	past := func(to sim.Sink, start time.Time) {
		const length = 10 * time.Minute
		shape := sim.R16(2)
		a, b := shape.Jobs[0], sim.TensorData("48300", 2, 8)
		a.EndAt, b.StartAt, b.InitFor = length.Seconds(), length.Seconds()+60, 30
		b.Phases[3].Comm.Bandwidth /= 1.25
		c, err := sim.New(sim.Options{Seed: 5, Start: start, Shape: shape, Jobs: []sim.JobSpec{a, b}, Dialect: sim.Full(), Noise: sim.DefaultNoise()}, to)
		require.NoError(t, err)
		require.NoError(t, c.Run(t.Context(), 2*length))
	}
	sink := db.Appender()
	past(sink, newYear)
	past(sink, time.Now().Add(-20*time.Minute))
	require.NoError(t, sink.Commit())
	om := sim.NewOpenMetrics()
	past(om, newYear)
	f, err := os.Create("past.om.gz")
	require.NoError(t, err)
	require.NoError(t, om.WriteGzip(f))
	require.NoError(t, f.Close())
	server := httptest.NewServer(apiserver.Handler(db))
	t.Cleanup(server.Close)
	return server.URL
}

// docDaemon is a daemon whose pages can be asked for.
func docDaemon(t *testing.T) http.Handler {
	t.Helper()
	cfg, err := loadConfig("collwatch.toml")
	require.NoError(t, err)
	cfg.Global.StateDir = t.TempDir()
	d, err := newDaemon("collwatch.toml", cfg, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.store.Close()) })
	return d.server().Handler
}

// curl asks our own servers for the addresses that a page gives; those of others
// are left alone.
func (s *sandbox) curl(l docLine, line string) {
	s.t.Helper()
	method := http.MethodGet
	var address *url.URL
	for i, word := range shellWords(s.t, line) {
		if word == "POST" && i > 0 {
			method = http.MethodPost
		}
		if u, err := url.Parse("http://" + strings.TrimPrefix(word, "http://")); err == nil && u.Hostname() == "localhost" {
			address = u
		}
	}
	if address == nil {
		return
	}
	h := s.pages
	if address.Port() == "9436" {
		h = docExporter(s.t)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, address.RequestURI(), &bytes.Buffer{}))
	require.Less(s.t, w.Code, 300, "%s: %s: %s", l.page, line, w.Body)
}

// docExporter is an exporter on a node without jobs.
func docExporter(t *testing.T) http.Handler {
	t.Helper()
	log, dir := slog.New(slog.DiscardHandler), t.TempDir()
	e, err := exporter.New(exporter.Options{Dir: dir, Node: "gpu-001", Limits: exporter.DefaultLimits(), Registry: prometheus.NewRegistry(), Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	control, err := exporter.OpenControl(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	h, err := exporter.Handler(e, control, log)
	require.NoError(t, err)
	return h
}

// docDumps writes the flight recorder's dumps of two ranks of which one never
// started the operation that the other waits in.
func docDumps(t *testing.T) {
	t.Helper()
	for rank, seqs := range [][]int{{1, 2, 3}, {1, 2}} {
		var entries []string
		for _, seq := range seqs {
			state := "completed"
			if seq == 3 {
				state = "started"
			}
			entries = append(entries, fmt.Sprintf(`{"pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": %d, "profiling_name": "nccl:all_reduce",
				"state": %q, "input_sizes": [[1024]], "input_dtypes": ["Float"], "time_created_ns": 1767225600000000000, "timeout_ms": 600000}`, seq, state))
		}
		text := fmt.Sprintf(`{"version": "2.10", "rank": %d, "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "entries": [%s]}`,
			rank, strings.Join(entries, ","))
		require.NoError(t, os.MkdirAll("dumps", 0o700))
		for _, name := range []string{"nccl_trace_rank_%d", "dumps/rank_%d"} {
			require.NoError(t, os.WriteFile(fmt.Sprintf(name, rank), []byte(text), 0o600))
		}
	}
}
