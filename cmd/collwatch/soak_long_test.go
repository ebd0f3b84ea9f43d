//go:build long

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	soakFor = flag.Duration("soak", 24*time.Hour, "simulated time of TestSoakLong, at least 3h")
	// Fewer hosts are for those who change the test.
	soakHosts = flag.Int("soak.hosts", 1000, "hosts of TestSoakLong, a multiple of 5")
	soakHeap  = flag.String("soak.heap", "", "folder for a heap profile of each hour")
)

// soakHistory is what the server has before the daemon is started first.
const soakHistory = 50 * time.Minute

// TestSoakLong runs the daemon for a day of simulated time on a thousand hosts
// while faults come and go and every party is restarted and cut off. Everybody
// hears of each fault once when it begins and once when it is over, nobody else is
// named, and neither memory nor the number of goroutines grows.
func TestSoakLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSoak(t, *soakHosts)
		plan := soakPlan(s)
		s.through()
		s.judge(plan)
	})
}

// measure notes how much is in use.
func (s *soak) measure() {
	synctest.Wait()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if *soakHeap != "" {
		f, err := os.Create(filepath.Join(*soakHeap, fmt.Sprintf("heap-%02d", int(time.Since(s.start).Hours()))))
		require.NoError(s.t, err)
		require.NoError(s.t, pprof.WriteHeapProfile(f))
		require.NoError(s.t, f.Close())
	}
	series := 0
	if s.daemon != nil {
		if recent := s.daemon.current.Load().asm.engine.Recent(); len(recent) > 0 {
			series = recent[0].Series
		}
	}
	s.sizes = append(s.sizes, soakSize{time.Since(s.start), m.HeapAlloc, runtime.NumGoroutine(), series})
	s.t.Logf("hour %4.1f: heap %d MB, %d goroutines, %d series, %d messages", time.Since(s.start).Hours(), m.HeapAlloc>>20, runtime.NumGoroutine(), series, len(s.slack.Messages()))
}
