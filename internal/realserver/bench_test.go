package realserver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/promapi"
)

const (
	wideSeries = 100_000
	wideBase   = int64(1_700_000_000_000)
	wideSpan   = int64(600_000)
)

// wideServer is a real Prometheus with 100,000 series of 12 labels that were
// scraped every 15 s for ten minutes.
func wideServer(b *testing.B) *realserver.Server {
	b.Helper()
	data := b.TempDir()
	db, err := embedprom.Open(embedprom.Options{Dir: data})
	require.NoError(b, err)
	s := db.Appender()
	for i := range wideSeries {
		s.Series("__name__", "nccl_inspector_collective_seconds", "cluster", "train-1", "collective", "AllReduce",
			"comm", fmt.Sprintf("0x7f%08x", i/64), "device", fmt.Sprintf("mlx5_%d", i%8), "gpu", fmt.Sprint(i%8),
			"instance", fmt.Sprintf("gpu-%04d.example.net:9100", i/8), "job", "nccl", "job_id", "48213",
			"node", fmt.Sprintf("gpu-%04d", i/8), "rank", fmt.Sprint(i), "size", "64MiB")
	}
	for t := wideBase; t <= wideBase+wideSpan; t += 15_000 {
		for h := range uint32(wideSeries) {
			require.NoError(b, s.Append(h, t+int64(h%15_000), 0.0123+float64((int64(h)+t)%977)/1e5))
		}
		require.NoError(b, s.Commit())
	}
	require.NoError(b, db.Close())
	return realserver.StartPrometheus(b, "", "--storage.tsdb.path="+data)
}

// serverCPU is the processor time of a process so far.
func serverCPU(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	// The name in parentheses may hold anything; fields are counted behind it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	utime, err := strconv.ParseInt(fields[11], 10, 64)
	require.NoError(b, err)
	stime, err := strconv.ParseInt(fields[12], 10, 64)
	require.NoError(b, err)
	return time.Duration(utime+stime) * tick
}

func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWideQuery asks a real Prometheus for 100,000 series and reports what
// that costs the server and this process, by window. The answer is decoded, or
// thrown away for comparison.
func BenchmarkWideQuery(b *testing.B) {
	prom := wideServer(b)
	const metric = "nccl_inspector_collective_seconds"
	at := time.UnixMilli(wideBase + wideSpan)
	newClient := func(gzip bool) *promapi.Client {
		c, err := promapi.New(promapi.Config{Name: "real", URL: prom.URL, Gzip: gzip, Limits: promapi.Limits{RequestsPerSecond: 1000}})
		require.NoError(b, err)
		b.Cleanup(c.Close)
		return c
	}
	plain := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	b.Cleanup(plain.CloseIdleConnections)
	measure := func(name string, ask func() error) {
		b.Run(name, func(b *testing.B) {
			require.NoError(b, ask()) // the steady state
			server, own := serverCPU(b, prom.Pid()), ownCPU(b)
			b.ResetTimer()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(b.N)
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/n, "wall-ms/op")
			b.ReportMetric(float64((serverCPU(b, prom.Pid())-server).Milliseconds())/n, "server-cpu-ms/op")
			b.ReportMetric(float64((ownCPU(b)-own).Milliseconds())/n, "client-cpu-ms/op")
		})
	}
	for _, window := range []string{"", "[30s]", "[45s]", "[60s]", "[90s]", "[5m]"} {
		expr := metric + window
		c := newClient(false)
		var r promapi.Result
		measure("decoded/"+expr, func() error { return c.Instant(b.Context(), expr, at, &r) })
		require.Equal(b, wideSeries, r.Len())
		measure("thrown_away/"+expr, func() error { return discard(plain, prom.URL, expr, at) })
	}
	var r promapi.Result
	c := newClient(true)
	measure("gzip/"+metric, func() error { return c.Instant(b.Context(), metric, at, &r) })
}

func discard(client *http.Client, base, expr string, at time.Time) error {
	resp, err := client.PostForm(base+"/api/v1/query", url.Values{"query": {expr}, "time": {fmt.Sprint(at.Unix())}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
