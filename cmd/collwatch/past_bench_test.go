package main

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
)

// cpu reports the processor time of an iteration: wall time on a busy machine
// says little.
func cpu(b *testing.B) (done func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric((used()-before).Seconds()/float64(b.N), "cpu-s/op") }
}

// BenchmarkDay is what people wait for who ask about days: two jobs of 24 h
// compared, and the page about one of them, on 16 hosts, as whole commands against
// the API of a Prometheus. cpu-s/op is of both sides, since they share a process.
func BenchmarkDay(b *testing.B) {
	p, db := pair(b, 16, time.Now().Add(-49*time.Hour), 24*time.Hour, 1.1)
	defer p.close()
	server := httptest.NewServer(apiserver.Handler(db))
	defer server.Close()
	file := filepath.Join(b.TempDir(), "collwatch.toml")
	require.NoError(b, os.WriteFile(file, []byte("[[source]]\nname = \"p\"\nurl = \""+server.URL+"\"\n"), 0o600))
	page := filepath.Join(b.TempDir(), "report.html")
	for name, args := range map[string][]string{
		"compare": {"compare", "--config", file, "--baseline", "48213", "--candidate", "48300"},
		"report":  {"report", "--config", file, "--job", "48213", "--out", page},
	} {
		b.Run(name, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				var log bytes.Buffer
				code := run(b.Context(), args, io.Discard, &log)
				require.Contains(b, []int{exitOK, exitFindings}, code, &log)
			}
		})
	}
	// What is quick because it read nothing is no result.
	written, err := os.ReadFile(page)
	require.NoError(b, err)
	require.Contains(b, string(written), "AllReduce")
}
