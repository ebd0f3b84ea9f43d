package exporter

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// busyNode writes the files of 8 processes with 32 communicators each, as a node of 8 GPUs with a rich layout has them.
func busyNode(t testing.TB, dir string, processes, comms int) {
	t.Helper()
	for p := range processes {
		img := newImage(comms)
		img.u32(headPid, uint32(1000+p))
		for i := range comms {
			at := img.open(i, uint64(i+1)<<40|0xabc, p, 64, fmt.Sprintf("group %d", i))
			img.text(at+commGPU, fmt.Sprintf("GPU-%08x-0000-0000-0000-000000000000", p))
			img.u64(at+commEnqueuedSeq+8*2, 5000)
			img.u64(at+commCompletedSeq+8*2, 4990)
			img.u64(at+commEnqueuedSeq+8*1, 900)
			img.u64(at+commCompletedSeq+8*1, 900)
			img.key(at, 16, keyBits(2, 25, 2, 3), 5000, 4990, 2_000_000)
			img.key(at, 17, keyBits(2, 14, 1, 1), 800, 800, 50_000)
			img.key(at, 18, keyBits(1, 27, 2, 3), 900, 900, 4_000_000)
			for n := range uint64(10) {
				img.op(at, 1<<38|n, 16, 4991+n, 8<<32, 50e9, 0)
			}
		}
		img.write(t, dir, fmt.Sprintf("nccl-%d.shm", p))
	}
}

func scrapeOf(t testing.TB, dir string) func() string {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	e, err := New(Options{Dir: dir, Node: "gpu-014", Grace: time.Hour, Limits: DefaultLimits(), Logger: logger, Registry: prometheus.NewRegistry()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	h, err := Handler(e, nil, logger)
	require.NoError(t, err)
	return func() string {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		body, err := io.ReadAll(rec.Body)
		require.NoError(t, err)
		return string(body)
	}
}

// BenchmarkScrape is one answer for 8 processes of 32 communicators; the goal is 50 ms.
func BenchmarkScrape(b *testing.B) {
	dir := b.TempDir()
	busyNode(b, dir, 8, 32)
	scrape := scrapeOf(b, dir)
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = len(scrape())
	}
	b.ReportMetric(float64(size), "bytes/scrape")
	b.ReportMetric(float64(seriesOfARank(b)), "series/rank")
}

// seriesOfARank counts what a rank with 4 communicators of 3 kinds of operation has with default settings.
func seriesOfARank(t testing.TB) (n int) {
	t.Helper()
	dir := t.TempDir()
	busyNode(t, dir, 1, 4)
	for name, series := range parseView(t, scrapeOf(t, dir)()) {
		if strings.HasPrefix(name, prefix) {
			n += len(series)
		}
	}
	return n
}

// TestSeriesPerRank: a job of 4 communicators stays below 400 series a rank with default settings.
func TestSeriesPerRank(t *testing.T) {
	n := seriesOfARank(t)
	require.Greater(t, n, 100)
	require.LessOrEqual(t, n, 400)
}
