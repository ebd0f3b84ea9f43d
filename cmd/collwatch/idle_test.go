package main

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/sim"
)

// idleDaemon is a daemon that was never run, over the smallest configuration,
// with more behind it; log nil is no log. Nobody answers at its source, unless
// more begins with one of its own.
func idleDaemon(t *testing.T, more string, log slog.Handler) *daemon {
	t.Helper()
	if log == nil {
		log = slog.DiscardHandler
	}
	if !strings.HasPrefix(more, "[[source]]") {
		more = "[[source]]\nurl = \"http://127.0.0.1:1\"\n" + more
	}
	path := filepath.Join(t.TempDir(), "collwatch.toml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "[global]\nstate_dir = %q\n%s", t.TempDir(), more), 0o600))
	cfg, err := loadConfig(path)
	require.NoError(t, err)
	d, err := newDaemon(path, cfg, slog.New(log), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.store.Close()) })
	return d
}

// simulated is the address of a Prometheus that has seen a healthy cluster.
func simulated(t *testing.T, start time.Time, hosts int, length time.Duration) string {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	c, err := sim.New(sim.Options{Seed: 5, Start: start, Shape: sim.R16(hosts), Dialect: sim.Full(), Noise: sim.DefaultNoise()}, sink)
	require.NoError(t, err)
	require.NoError(t, c.Run(t.Context(), length))
	require.NoError(t, sink.Commit())
	server := httptest.NewServer(apiserver.Handler(db))
	t.Cleanup(server.Close)
	return server.URL
}

// The line that says ready tells what there is to judge, not what happened to be
// new in the first evaluation: history has read most windows before it.
func TestReadyTellsWhatThereIsToJudge(t *testing.T) {
	url := simulated(t, newYear, 2, 3*time.Minute)
	var log strings.Builder
	d := idleDaemon(t, fmt.Sprintf("[[source]]\nurl = %q\n", url), slog.NewTextHandler(&log, nil))
	var tick engine.Tick
	for range 2 { // the second finds nothing new
		tick = d.current.Load().asm.engine.Tick(t.Context(), newYear.Add(3*time.Minute))
		require.NoError(t, tick.Err)
	}
	d.afterTick(tick, 0)

	asked, coverage := 0, d.current.Load().pages.Load().Coverage
	for _, q := range d.current.Load().pages.Load().Queries {
		require.NoError(t, q.Err)
		asked += q.Series
	}
	require.Less(t, 10*tick.Series, asked, "new rows are few")
	levels := map[string]int{}
	for _, class := range coverage.Classes {
		levels[string(class.Level)]++
	}
	require.NotZero(t, levels["full"])
	require.Contains(t, log.String(), fmt.Sprintf("msg=ready series=%d classes_full=%d classes_coarse=%d classes_blind=%d took=",
		asked, levels["full"], levels["coarse"], levels["blind"]))
}
