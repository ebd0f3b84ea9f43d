package engine_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sys "golang.org/x/sys/unix"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/sim"
)

// BenchmarkTick is the client side of a tick in the steady state, all but the
// transport: match, rates, detectors, diagnosis. The embedded engine's own reads
// are in it; decoding an HTTP answer is BenchmarkDecode of promapi. cpu-ms/tick
// is processor time of the process, garbage collection included.
func BenchmarkTick(b *testing.B) {
	for _, hosts := range []int{32, 320, 960} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			db, start, end := simulated(b, hosts)
			warm := start.Add(6 * time.Minute)
			e := newEngine(b, db.Querier())
			at := start.Add(time.Minute)
			var rewinding time.Duration
			tick := func() engine.Tick {
				if at.After(end) {
					b.StopTimer()
					before := cpu(b)
					e, at = newEngine(b, db.Querier()), start.Add(time.Minute)
					for at.Before(warm) {
						require.NoError(b, e.Tick(b.Context(), at).Err)
						at = at.Add(interval)
					}
					rewinding += cpu(b) - before
					b.StartTimer()
				}
				t := e.Tick(b.Context(), at)
				require.NoError(b, t.Err)
				at = at.Add(interval)
				return t
			}
			for at.Before(warm) {
				tick()
			}
			series, used := 0, cpu(b)
			for b.Loop() {
				series = max(series, tick().Series)
			}
			used = cpu(b) - used - rewinding
			b.ReportMetric(float64(series), "rows")
			b.ReportMetric(used.Seconds()*1e3/float64(b.N), "cpu-ms/tick")
			b.ReportMetric(used.Seconds()*1e9/float64(b.N)/float64(series), "cpu-ns/row")
		})
	}
}

// simulated is ten minutes of a healthy cluster.
func simulated(b *testing.B, hosts int) (*embedprom.DB, time.Time, time.Time) {
	b.Helper()
	db, err := embedprom.Open(embedprom.Options{Dir: b.TempDir()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	sink := db.Appender()
	c, err := sim.New(sim.Options{Seed: 1, Start: begin, Shape: sim.R16(hosts), Dialect: sim.Full(), Noise: sim.DefaultNoise()}, sink)
	require.NoError(b, err)
	require.NoError(b, c.Run(b.Context(), 10*time.Minute))
	require.NoError(b, sink.Commit())
	runtime.GC()
	return db, begin, begin.Add(10 * time.Minute)
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u sys.Rusage
	require.NoError(b, sys.Getrusage(sys.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
