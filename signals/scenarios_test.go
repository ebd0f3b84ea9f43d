package signals_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
)

// simulate runs a known case and reads it tick by tick.
func simulate(t *testing.T, id string, dialect func(*sim.Dialect), after time.Duration, each func(at time.Duration, s *signals.Snapshot)) *signals.Reader {
	t.Helper()
	sc, ok := sim.Find(id)
	require.True(t, ok)
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	run, err := sc.New(sim.Params{Seed: 3, Onset: 4 * time.Minute, Start: unix(t0), Dialect: dialect}, sink)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), 4*time.Minute+after))
	require.NoError(t, sink.Commit())
	r := reader(t, db, signals.Options{})
	for at := time.Duration(0); at < 4*time.Minute+after; at += 15 * time.Second {
		each(at, r.Read(t.Context(), run.Cluster.Start().Add(at)))
	}
	return r
}

// However the exporters spell things, the same GPUs are in the same groups.
func TestGroupsAreTheSameInEachDialect(t *testing.T) {
	for name, dialect := range map[string]func(*sim.Dialect){
		"G2":          nil,
		"G3":          func(d *sim.Dialect) { d.Inspector = "G3" },
		"full names":  func(d *sim.Dialect) { d.Domain, d.NodeFQDN, d.HostLabel = "x.example", true, "hostname" },
		"no job map":  func(d *sim.Dialect) { d.JobMap = false },
		"no hardware": func(d *sim.Dialect) { d.NodeExporter, d.HostLabel = false, "" },
	} {
		t.Run(name, func(t *testing.T) {
			var last *signals.Snapshot
			simulate(t, "N00", dialect, 0, func(_ time.Duration, s *signals.Snapshot) { last = s })
			require.Len(t, last.Jobs, 1)
			require.Len(t, last.Jobs[0].Hosts, 16)
			require.Len(t, last.Jobs[0].GPUs, 128)
			data, tensor := 0, 0
			for _, g := range last.Groups {
				require.True(t, g.Whole, g.ID)
				switch g.Kind {
				case signals.GroupData:
					data++
					require.Len(t, g.Members, 16)
					for _, m := range g.Members {
						require.Equal(t, g.Members[0].Device, m.Device, "one rail")
					}
				case signals.GroupTensor:
					tensor++
					require.Len(t, g.Members, 8)
					require.Equal(t, g.Members[0].Host, g.Members[7].Host)
				default:
					require.Fail(t, "unexpected group", g.ID)
				}
			}
			require.Equal(t, 8, data)
			require.Equal(t, 16, tensor)
		})
	}
}

// A killed job leaves its files behind: its series feed nothing.
func TestDeadJobIsFrozenOut(t *testing.T) {
	for name, dialect := range map[string]func(*sim.Dialect){"placed": nil, "by its labels only": func(d *sim.Dialect) { d.JobMap = false }} {
		t.Run(name, func(t *testing.T) {
			ended := time.Duration(0)
			simulate(t, "N03", dialect, 12*time.Minute, func(at time.Duration, s *signals.Snapshot) {
				for _, j := range s.Jobs {
					if j.ID == "48213" && j.Ended && ended == 0 {
						ended = at
					}
				}
				f := s.Frame(signals.CollExecTime)
				for i := range f.Len() {
					if e := s.Entities.Of(f.Entity[i]); e.Job == "48213" {
						require.Less(t, at, 5*time.Minute, "a dead job has no rows")
					}
				}
				if at > 8*time.Minute {
					for _, g := range s.Groups {
						require.NotEqual(t, "48213", g.Job)
					}
				}
			})
			require.Greater(t, ended, 4*time.Minute)
			require.Less(t, ended, 6*time.Minute)
		})
	}
}

// Gaps are said once each, and nothing bursts when they end.
func TestTelemetryGaps(t *testing.T) {
	seen := map[string]time.Duration{}
	simulate(t, "N04", nil, 30*time.Minute, func(at time.Duration, s *signals.Snapshot) {
		for _, g := range s.Gaps {
			k := g.Host + " " + g.Source + " " + g.Reason
			if g.Host == "gpu-008" || g.Host == "" {
				seen[k] += 15 * time.Second
			}
		}
		f := s.Frame(signals.NICTx)
		for i := range f.Len() {
			if v := f.Value[i]; !math.IsNaN(v) {
				require.Less(t, v, 3e10, "%s at %s", s.Entities.Of(f.Entity[i]), at)
			}
		}
	})
	require.InDelta(t, 10, seen["gpu-008 node exporter_down"].Minutes(), 1)
	require.InDelta(t, 7, seen["gpu-008 dcgm zero_rows"].Minutes(), 2)
	require.InDelta(t, 4, seen[" prom source_down"].Minutes(), 1.5)
	require.Len(t, seen, 3, "%v", seen)
}

// What a warm-up shows is what a daemon would have seen live.
func TestWarmUpEqualsLive(t *testing.T) {
	var live, warm []string
	from := unix(t0)
	db := recorded(t, "N00")
	a, b := reader(t, db, signals.Options{}), reader(t, db, signals.Options{})
	end := from.Add(4 * time.Minute)
	for at := from.Add(15 * time.Second); !at.After(end); at = at.Add(15 * time.Second) {
		live = append(live, frames(a.Read(t.Context(), at)))
	}
	require.NoError(t, b.WarmUp(t.Context(), from, end, 15*time.Second, func(s *signals.Snapshot) error {
		require.True(t, s.Warming)
		warm = append(warm, frames(s))
		return nil
	}))
	require.Len(t, warm, len(live))
	for i := range live {
		require.Equal(t, lines(live[i]), lines(warm[i]), "tick %d", i)
	}
}

// recorded runs a known case into an embedded Prometheus.
func recorded(t *testing.T, id string) *embedprom.DB {
	t.Helper()
	sc, ok := sim.Find(id)
	require.True(t, ok)
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	run, err := sc.New(sim.Params{Seed: 3, Onset: 4 * time.Minute, Start: unix(t0)}, sink)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), 4*time.Minute))
	require.NoError(t, sink.Commit())
	return db
}

// lines sorts rows: their order in a frame has no meaning.
func lines(s string) []string {
	out := strings.Split(s, "\n")
	slices.Sort(out)
	return out
}
