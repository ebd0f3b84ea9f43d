package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/sim"
)

// blocks returns the fenced blocks of one language in a page, without their
// indentation.
func blocks(page, language string) []string {
	var out []string
	fence := regexp.MustCompile("(?ms)^( *)```" + language + "\n(.*?)^ *```")
	for _, m := range fence.FindAllStringSubmatch(page, -1) {
		out = append(out, strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n"))
	}
	return out
}

// TestReadmeCommandsWork does what the five minutes of the README say, with its
// own configuration, against the API of a Prometheus that holds a simulated
// cluster. Targets of make are tested as such: they have to exist.
func TestReadmeCommandsWork(t *testing.T) {
	if raceDetector {
		t.Skip("the commands are built without the race detector")
	}
	text, err := os.ReadFile(filepath.Join(repo(t), "README.md"))
	require.NoError(t, err)
	makefile, err := os.ReadFile(filepath.Join(repo(t), "Makefile"))
	require.NoError(t, err)
	server, alertmanager := history(t), httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(alertmanager.Close)
	page := strings.NewReplacer(
		"prometheus.example.org:9090", strings.TrimPrefix(server, "http://"),
		"alertmanager.example.org:9093", strings.TrimPrefix(alertmanager.URL, "http://"),
		"2026-01-02T00:00:00Z", "2026-01-01T00:10:00Z", // a day takes minutes
	).Replace(string(text))

	t.Chdir(t.TempDir())
	file := blocks(page, "toml")
	require.Len(t, file, 1)
	require.NoError(t, os.WriteFile("collwatch.toml", []byte(file[0]), 0o600))

	ran := map[string]int{}
	for _, block := range blocks(page, "sh") {
		for line := range strings.SplitSeq(strings.ReplaceAll(block, "\\\n", " "), "\n") {
			line, _, _ = strings.Cut(line, "#")
			args := strings.Fields(line)
			switch {
			case len(args) == 0:
			case args[0] == "make":
				require.Contains(t, string(makefile), "\n"+args[1]+":", line)
				ran["make"]++
			case args[0] == "bin/collwatch" && args[1] == "run":
				ran["run"]++
				runUntilReady(t, args[1:])
			default:
				require.Equal(t, "bin/collwatch", args[0], line)
				ran[args[1]]++
				var out, log bytes.Buffer
				require.Equal(t, exitOK, run(t.Context(), args[1:], &out, &log), "%s:\n%s", line, &log)
			}
		}
	}
	require.Equal(t, map[string]int{"make": 3, "check-config": 1, "coverage": 1, "replay": 1, "run": 1}, ran)
}

// history serves two times of a simulated cluster, that of the README's example
// and the last ten minutes, and returns the address.
func history(t *testing.T) string {
	t.Helper()
	s, ok := sim.Find("S01")
	require.True(t, ok)
	s.After = 0
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, start := range []time.Time{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Now().Add(-10 * time.Minute)} {
		om := sim.NewOpenMetrics()
		sr, err := s.New(sim.Params{Seed: 1, Start: start, Onset: 10 * time.Minute}, om)
		require.NoError(t, err)
		require.NoError(t, sr.Cluster.Run(t.Context(), sr.Until))
		var text bytes.Buffer
		require.NoError(t, om.Write(&text))
		_, err = db.LoadOpenMetrics(t.Context(), &text, nil)
		require.NoError(t, err)
	}
	server := httptest.NewServer(apiserver.Handler(db))
	t.Cleanup(server.Close)
	return server.URL
}

// runUntilReady runs the daemon on a free port until it says that it is ready,
// then ends it as a service manager would.
func runUntilReady(t *testing.T, args []string) {
	t.Helper()
	address := "127.0.0.1:" + realserver.FreePort(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var log bytes.Buffer
	done := make(chan int, 1)
	go func() { done <- run(ctx, append(args, "--web.listen-address="+address), io.Discard, &log) }()
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond)
	stop()
	require.Equal(t, exitOK, <-done, &log)
}
