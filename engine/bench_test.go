package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sys "golang.org/x/sys/unix"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/sim"
)

const (
	simulatedTime = 8 * time.Minute
	settled       = 5 * time.Minute // baselines form, tables have their size
)

// BenchmarkTick is the client side of a tick in the steady state without transport
// and decoding: match, rates, detectors, diagnosis. Decoding is BenchmarkDecode of
// promapi; both together, and the server, are in the figures of internal/e2e.
// cpu-ms/tick is processor time of the process, garbage collection included.
func BenchmarkTick(b *testing.B) {
	for _, hosts := range []int{32, 320, 960} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			r := record(b, hosts)
			var spent cost
			for b.Loop() {
				spent.add(r.steady(b))
			}
			n := float64(spent.ticks)
			b.ReportMetric(float64(spent.rows)/n, "rows")
			b.ReportMetric(spent.cpu.Seconds()*1e3/n, "cpu-ms/tick")
			b.ReportMetric(spent.cpu.Seconds()*1e9/float64(spent.rows), "cpu-ns/row")
			b.ReportMetric(float64(spent.allocs)/n, "allocs/tick")
			b.ReportMetric(float64(spent.bytes)/n, "B/tick")
			b.ReportMetric(0, "ns/op") // of the runs up to the steady state: says nothing
		})
	}
}

// A tick in the steady state allocates for jobs, hosts and GPUs, not for series: a
// host has 280 rows here, and costs about 30 allocations.
func TestTickAllocatesNothingPerSeries(t *testing.T) {
	small, large := record(t, 8).steady(t), record(t, 16).steady(t)
	rows := float64(large.rows-small.rows) / float64(large.ticks)
	allocs := float64(large.allocs)/float64(large.ticks) - float64(small.allocs)/float64(small.ticks)
	require.Positive(t, rows)
	require.Less(t, allocs/rows, 0.2, "%.0f more allocations a tick for %.0f more rows", allocs, rows)
}

// cost is what ticks cost.
type cost struct {
	ticks, rows   int
	cpu           time.Duration
	allocs, bytes uint64
}

func (c *cost) add(d cost) {
	c.ticks += d.ticks
	c.rows += d.rows
	c.cpu += d.cpu
	c.allocs += d.allocs
	c.bytes += d.bytes
}

// recording answers each query as an embedded Prometheus did the first time, so that
// only the line itself is measured.
type recording struct {
	promapi.Querier

	answers map[string]*promapi.Result
	shard   diagnosis.Shard
	key     []byte
}

// Instant implements promapi.Querier.
func (r *recording) Instant(ctx context.Context, expr string, at time.Time, dst *promapi.Result) error {
	r.key = at.AppendFormat(append(r.key[:0], expr...), time.RFC3339)
	a, ok := r.answers[string(r.key)]
	if !ok {
		a = &promapi.Result{}
		if err := r.Querier.Instant(ctx, expr, at, a); err != nil {
			return err
		}
		r.answers[string(r.key)] = a
	}
	dst.Reset()
	dst.Refs, dst.Offsets = append(dst.Refs, a.Refs...), append(dst.Offsets[:0], a.Offsets...)
	dst.Samples = append(dst.Samples, a.Samples...)
	return nil
}

// record simulates some minutes of a healthy cluster and walks through them once.
func record(tb testing.TB, hosts int) *recording { return recordJobs(tb, sim.R16(hosts), nil) }

// recordJobs is record with jobs other than the shape's own.
func recordJobs(tb testing.TB, shape sim.Shape, jobs []sim.JobSpec) *recording {
	tb.Helper()
	db, err := embedprom.Open(embedprom.Options{Dir: tb.TempDir()})
	require.NoError(tb, err)
	sink := db.Appender()
	c, err := sim.New(sim.Options{Seed: 1, Start: begin, Shape: shape, Jobs: jobs, Dialect: sim.Full(), Noise: sim.DefaultNoise()}, sink)
	require.NoError(tb, err)
	require.NoError(tb, c.Run(tb.Context(), simulatedTime))
	require.NoError(tb, sink.Commit())
	r := &recording{Querier: db.Querier(), answers: map[string]*promapi.Result{}}
	r.steady(tb)
	require.NoError(tb, db.Close())
	return r
}

// steady ticks with a new engine and measures what comes after the first minutes.
func (r *recording) steady(tb testing.TB) (c cost) {
	tb.Helper()
	e := newShard(tb, r, r.shard)
	at := begin.Add(time.Minute)
	tick := func() engine.Tick {
		t := e.Tick(tb.Context(), at)
		require.NoError(tb, t.Err)
		at = at.Add(interval)
		return t
	}
	for at.Before(begin.Add(settled)) {
		tick()
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used := cpu(tb)
	for at.Before(begin.Add(simulatedTime)) {
		c.rows += tick().Series
		c.ticks++
	}
	c.cpu = cpu(tb) - used
	runtime.ReadMemStats(&after)
	c.allocs, c.bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	return c
}

func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u sys.Rusage
	require.NoError(tb, sys.Getrusage(sys.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
