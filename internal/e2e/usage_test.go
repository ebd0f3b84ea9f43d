package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// usage is what the daemon has used since its start, by its own metrics.
type usage struct {
	cpu, ticks, wall float64 // s, number, s
	rows, resident   float64 // now
}

func (r *rig) usage() usage {
	r.t.Helper()
	m := r.metrics()
	return usage{
		cpu: m["process_cpu_seconds_total"], ticks: m["collwatch_evaluations_total"], wall: m["collwatch_evaluation_duration_seconds_sum"],
		rows: m["collwatch_series_seen"], resident: m["process_resident_memory_bytes"],
	}
}

// awaitTick waits for evaluation n and returns its time. It looks in the middle of
// intervals: to ask for metrics costs the daemon more than a small evaluation.
func (r *rig) awaitTick(n float64) time.Time {
	r.t.Helper()
	for range 10 {
		middle := time.Now().Truncate(r.size.interval).Add(r.size.interval / 2)
		if left := time.Until(middle); left > 0 {
			time.Sleep(left)
		}
		if r.metric("collwatch_evaluations_total") >= n {
			return time.Now().Truncate(r.size.interval)
		}
		time.Sleep(r.size.interval / 2)
	}
	r.t.Fatalf("evaluation %v did not come", n)
	return time.Time{}
}

// metrics are the daemon's metrics without labels.
func (r *rig) metrics() map[string]float64 { return metricsOf(r.t, "http://"+r.address+"/metrics") }

// metric is one of them, which must be there.
func (r *rig) metric(name string) float64 { return metric(r.t, "http://"+r.address+"/metrics", name) }

func metric(tb testing.TB, url, name string) float64 {
	tb.Helper()
	v, ok := metricsOf(tb, url)[name]
	require.True(tb, ok, "%s has no %s", url, name)
	return v
}

func metricsOf(tb testing.TB, url string) map[string]float64 {
	tb.Helper()
	resp, err := http.Get(url)
	require.NoError(tb, err)
	defer resp.Body.Close()
	out := map[string]float64{}
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		name, value, _ := strings.Cut(sc.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = v
		}
	}
	require.NoError(tb, sc.Err())
	return out
}

// processorTime is what a process has used so far, in seconds.
func processorTime(t testing.TB, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	// The name in parentheses may hold anything; fields are counted behind it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const perSecond = 100 // USER_HZ on every Linux
	user, err := strconv.ParseFloat(fields[11], 64)
	require.NoError(t, err)
	system, err := strconv.ParseFloat(fields[12], 64)
	require.NoError(t, err)
	return (user + system) / perSecond
}

// peakMemory is the most that was resident, in bytes.
func peakMemory(t testing.TB, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			require.NoError(t, err)
			return kb * 1024
		}
	}
	return 0
}
