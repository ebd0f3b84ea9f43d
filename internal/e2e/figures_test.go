package e2e

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkDaemon runs the daemon against a real Prometheus with about 100,000
// series and prints what an evaluation costs both. It takes minutes; each
// operation is one interval of 15 s.
func BenchmarkDaemon(b *testing.B) {
	of := size{hosts: 320, interval: 15 * time.Second}
	r := startRig(b, of, alertmanagerConfig)
	r.configure("")
	// Without the daemon first: what scraping alone costs the server.
	time.Sleep(2 * of.interval) // targets are found, series exist
	idle := r.cost(b, "", 4*of.interval)
	r.start()
	time.Sleep(4 * of.interval) // all label sets seen, baselines forming
	b.ResetTimer()
	var busy usage
	for range b.N {
		busy.add(r.cost(b, r.address, 4*of.interval))
	}
	n := float64(b.N)
	ticks := busy.ticks
	require.NotZero(b, ticks)
	b.ReportMetric(busy.series, "rows")
	b.ReportMetric(busy.daemon/ticks*1e3, "daemon-cpu-ms/tick")
	b.ReportMetric((busy.server/n-idle.server)*n/ticks*1e3, "server-cpu-ms/tick")
	b.ReportMetric(busy.wall/ticks*1e3, "wall-ms/tick")
	b.ReportMetric(busy.resident/1e6, "daemon-MB")
}

// usage is what was spent in a span.
type usage struct {
	server, daemon, ticks, wall float64 // s of CPU, s of CPU, number, s
	series, resident            float64 // at the end
}

func (u *usage) add(v usage) {
	u.server += v.server
	u.daemon += v.daemon
	u.ticks += v.ticks
	u.wall += v.wall
	u.series, u.resident = v.series, v.resident
}

// cost measures a span by the metrics that both processes export of themselves.
func (r *rig) cost(tb testing.TB, daemon string, span time.Duration) usage {
	tb.Helper()
	read := func() (u usage) {
		u.server = metric(tb, r.prometheus.URL+"/metrics", "process_cpu_seconds_total")
		if daemon != "" {
			url := "http://" + daemon + "/metrics"
			u.daemon = metric(tb, url, "process_cpu_seconds_total")
			u.ticks = metric(tb, url, "collwatch_evaluations_total")
			u.wall = metric(tb, url, "collwatch_evaluation_duration_seconds_sum")
			u.series = metric(tb, url, "collwatch_series_seen")
			u.resident = metric(tb, url, "process_resident_memory_bytes")
		}
		return u
	}
	before := read()
	time.Sleep(span) // the span measured, not a wait for something
	after := read()
	after.server -= before.server
	after.daemon -= before.daemon
	after.ticks -= before.ticks
	after.wall -= before.wall
	return after
}

func metric(tb testing.TB, url, name string) float64 {
	tb.Helper()
	resp, err := http.Get(url)
	require.NoError(tb, err)
	defer resp.Body.Close()
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		if rest, ok := strings.CutPrefix(sc.Text(), name+" "); ok {
			v, err := strconv.ParseFloat(rest, 64)
			require.NoError(tb, err)
			return v
		}
	}
	tb.Fatalf("%s has no %s", url, name)
	return 0
}
