package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
	"github.com/collwatch/collwatch/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const interval = 15 * time.Second

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// store holds half an hour of a simulated cluster with a starved host.
func store(t *testing.T, scenario string) (*embedprom.DB, *sim.Run) {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s, ok := sim.Find(scenario)
	require.True(t, ok, "no scenario %s", scenario)
	s.After = 10 * time.Minute
	sink := db.Appender()
	run, err := s.New(sim.Params{Seed: 7, Onset: 20 * time.Minute, Start: begin}, sink)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), run.Until))
	require.NoError(t, sink.Commit())
	return db, run
}

func newEngine(t testing.TB, q promapi.Querier) *engine.Engine {
	t.Helper()
	return newShard(t, q, diagnosis.Shard{})
}

func newShard(t testing.TB, q promapi.Querier, shard diagnosis.Shard) *engine.Engine {
	t.Helper()
	r, err := signals.NewReader(signals.Options{Interval: interval, Concurrency: 1}, map[string]promapi.Querier{"p": q})
	require.NoError(t, err)
	return engine.New(engine.Parts{
		Reader: r, Topology: topology.NewStore(topology.Options{}), Bank: detectors.NewBank(detectors.Options{Interval: interval}),
		Diagnoser: diagnosis.New(diagnosis.Options{Interval: interval, Shard: shard}), Incidents: incidents.NewManager(incidents.Options{Interval: interval}),
	})
}

// lines renders events the way a replay prints them.
func lines(t *testing.T, events []incidents.Event) (out []string) {
	t.Helper()
	for i := range events {
		l, err := events[i].MarshalReplay(&incidents.Renderer{})
		require.NoError(t, err)
		out = append(out, string(l))
	}
	return out
}

// fakeClock moves by what is slept, and by a fixed cost at each look.
type fakeClock struct {
	now  time.Time
	cost time.Duration
	end  time.Time
}

var errEnd = errors.New("end of the test's time")

func (c *fakeClock) Now() time.Time { c.now = c.now.Add(c.cost); return c.now }

func (c *fakeClock) Sleep(_ context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	if c.now.After(c.end) {
		return errEnd
	}
	return nil
}

func TestReplayEqualsLive(t *testing.T) {
	db, run := store(t, "S15")
	from, to := run.Truth.Onset.Add(-time.Minute), run.Cluster.Start().Add(run.Until)

	var replayed []string
	e := newEngine(t, db.Querier())
	require.NoError(t, e.WarmUp(t.Context(), begin, from, interval))
	require.NoError(t, e.Replay(t.Context(), from, to, interval, func(tk engine.Tick) error {
		replayed = append(replayed, lines(t, tk.Events)...)
		return tk.Err
	}))
	require.NotEmpty(t, replayed, "the fault is found")

	const offset = 30 * time.Second
	var live []string
	l := newEngine(t, db.Querier())
	require.NoError(t, l.WarmUp(t.Context(), begin, from, interval))
	clock := &fakeClock{now: from.Add(offset), cost: 700 * time.Millisecond, end: to.Add(offset)}
	err := l.Run(t.Context(), engine.Live{Interval: interval, QueryOffset: offset, Clock: clock, Each: func(tk engine.Tick, missed int) {
		require.NoError(t, tk.Err)
		require.Zero(t, missed)
		live = append(live, lines(t, tk.Events)...)
	}})
	require.ErrorIs(t, err, errEnd)
	require.Equal(t, replayed, live, "a replay says what the daemon said, byte by byte")

	var skimmed []string
	k := newEngine(t, db.Querier())
	require.NoError(t, k.WarmUp(t.Context(), begin, from, interval))
	require.NoError(t, k.Skim(t.Context(), from, to, interval, func(tk engine.Tick) error {
		skimmed = append(skimmed, lines(t, tk.Events)...)
		return tk.Err
	}))
	require.Equal(t, replayed, skimmed, "and so does one that reads in large chunks")
}

func TestRunSkipsSlotsAndSurvivesClockSteps(t *testing.T) {
	db, err := embedprom.Open(embedprom.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	defer db.Close()
	tests := []struct {
		name   string
		step   time.Duration // of the clock, after the third tick
		missed int           // slots that the fourth tick reports
	}{
		{"steady", 0, 0},
		{"a slow tick skips slots", 40 * time.Second, 1},
		{"a jump forward skips slots", time.Hour, 239},
		{"a small step back waits", -30 * time.Second, 0},
		{"a large step back starts anew", -time.Hour, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newEngine(t, db.Querier())
			clock := &fakeClock{now: begin.Add(24 * time.Hour), end: begin.Add(48 * time.Hour)}
			var at []time.Time
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			err := e.Run(ctx, engine.Live{Interval: interval, Clock: clock, Each: func(tk engine.Tick, missed int) {
				at = append(at, tk.At)
				switch len(at) {
				case 3:
					clock.now = clock.now.Add(tt.step)
				case 4:
					require.Equal(t, tt.missed, missed)
				case 6:
					stop()
				}
			}})
			require.ErrorIs(t, err, context.Canceled)
			for _, a := range at {
				require.Zero(t, a.UnixMilli()%interval.Milliseconds(), "evaluation times are multiples of the interval")
			}
			if tt.step >= -time.Minute {
				require.IsIncreasing(t, unix(at))
			}
		})
	}
}

func unix(ts []time.Time) (out []int64) {
	for _, t := range ts {
		out = append(out, t.Unix())
	}
	return out
}

// broken is a reader that panics at one tick, as a bug would.
type broken struct {
	engine.Reader
	n int
}

func (b *broken) Read(ctx context.Context, at time.Time) *signals.Snapshot {
	b.n++
	if b.n == 2 {
		panic("a bug")
	}
	return b.Reader.Read(ctx, at)
}

func TestPanicIsAFailedTick(t *testing.T) {
	db, err := embedprom.Open(embedprom.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	defer db.Close()
	r, err := signals.NewReader(signals.Options{}, map[string]promapi.Querier{"p": db.Querier()})
	require.NoError(t, err)
	e := engine.New(engine.Parts{
		Reader: &broken{Reader: r}, Topology: topology.NewStore(topology.Options{}), Bank: detectors.NewBank(detectors.Options{}),
		Diagnoser: diagnosis.New(diagnosis.Options{}), Incidents: incidents.NewManager(incidents.Options{}),
	})
	require.NoError(t, e.Tick(t.Context(), begin).Err)
	bad := e.Tick(t.Context(), begin.Add(interval))
	require.ErrorContains(t, bad.Err, "a bug")
	require.Nil(t, bad.Result)
	require.NoError(t, e.Tick(t.Context(), begin.Add(2*interval)).Err)
	recent := e.Recent()
	require.Len(t, recent, 3)
	require.Equal(t, begin.Add(2*interval), recent[0].At, "newest first")
	require.Error(t, recent[1].Err)
}
