package signals_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
)

// counting is a source that counts its instant queries.
type counting struct {
	promapi.Querier

	asked atomic.Int64
}

// Instant implements promapi.Querier.
func (c *counting) Instant(ctx context.Context, expr string, at time.Time, dst *promapi.Result) error {
	c.asked.Add(1)
	return c.Querier.Instant(ctx, expr, at, dst)
}

// History is read in chunks that grow where series are few, and the ticks that come
// out are those of reading each by itself.
func TestLongHistoryIsReadInFewQueries(t *testing.T) {
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	const length, step = 2 * time.Hour, 30 * time.Second
	c, err := sim.New(sim.Options{Seed: 3, Start: unix(t0), Shape: sim.R16(2), Dialect: sim.Full(), Noise: sim.DefaultNoise()}, sink)
	require.NoError(t, err)
	c.Gap(50*time.Minute, 58*time.Minute)
	require.NoError(t, c.Run(t.Context(), length))
	require.NoError(t, sink.Commit())

	read := func() (*counting, *signals.Reader) {
		q := &counting{Querier: db.Querier()}
		r, err := signals.NewReader(signals.Options{Interval: step}, map[string]promapi.Querier{"prom": q})
		require.NoError(t, err)
		return q, r
	}
	slow, a := read()
	var one []string
	for at := unix(t0).Add(step); !at.After(unix(t0).Add(length)); at = at.Add(step) {
		one = append(one, frames(a.Read(t.Context(), at)))
	}
	quick, b := read()
	var n int
	require.NoError(t, b.WarmUp(t.Context(), unix(t0), unix(t0).Add(length), step, func(s *signals.Snapshot) error {
		require.Equal(t, lines(one[n]), lines(frames(s)), "tick %d", n)
		n++
		return nil
	}))
	require.Len(t, one, n)
	require.Less(t, 20*quick.asked.Load(), slow.asked.Load(), "%d queries instead of %d", quick.asked.Load(), slow.asked.Load())
	t.Run("reading ahead", func(t *testing.T) {
		early := &counting{Querier: db.Querier()}
		same(t, one, ahead(t, early, length, step))
		require.Less(t, 2*early.asked.Load(), quick.asked.Load(), "%d queries instead of %d", early.asked.Load(), quick.asked.Load())
	})
	t.Run("a server with a limit", func(t *testing.T) {
		small := &strict{Querier: db.Querier(), most: 30_000}
		same(t, one, ahead(t, small, length, step))
		require.Positive(t, small.refused.Load())
	})
}

func same(t *testing.T, want, got []string) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, lines(want[i]), lines(got[i]), "tick %d", i)
	}
}

// ahead reads history as commands do and returns the ticks.
func ahead(t *testing.T, q promapi.Querier, length, step time.Duration) (out []string) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, err := signals.NewReader(signals.Options{Interval: step, ReadAhead: true}, map[string]promapi.Querier{"prom": q})
	require.NoError(t, err)
	require.NoError(t, r.WarmUp(t.Context(), unix(t0), unix(t0).Add(length), step, func(s *signals.Snapshot) error {
		out = append(out, frames(s))
		return nil
	}))
	return out
}

// strict is a source that refuses answers of more than most samples.
type strict struct {
	promapi.Querier

	most    int
	refused atomic.Int64
}

// Instant implements promapi.Querier.
func (s *strict) Instant(ctx context.Context, expr string, at time.Time, dst *promapi.Result) error {
	err := s.Querier.Instant(ctx, expr, at, dst)
	if err == nil && len(dst.Samples) > s.most {
		s.refused.Add(1)
		return &promapi.Error{Class: promapi.ClassTooExpensive, Source: "prom", Msg: "query processing would load too many samples into memory"}
	}
	return err
}

// Whoever stops reading history does not leave the chunk on its way behind.
func TestHistoryThatIsReadAheadCanBeLeft(t *testing.T) {
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, err := signals.NewReader(signals.Options{ReadAhead: true}, map[string]promapi.Querier{"prom": db.Querier()})
	require.NoError(t, err)
	enough := errors.New("enough")
	require.ErrorIs(t, r.WarmUp(t.Context(), unix(t0), unix(t0).Add(time.Hour), time.Minute, func(*signals.Snapshot) error { return enough }), enough)
}

// Expressions of the user's own have a value at each tick of history, as when live.
func TestHistoryOfOwnExpressions(t *testing.T) {
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	h := sink.Series("__name__", "queue_depth", "host", "a")
	const step = 30 * time.Second
	for i := range int64(120) {
		require.NoError(t, sink.Append(h, t0*1000+i*15_000, float64(i)))
	}
	require.NoError(t, sink.Commit())
	for _, early := range []bool{false, true} {
		r, err := signals.NewReader(signals.Options{
			Interval: step, ReadAhead: early,
			Custom: []signals.CustomSignal{{Name: "depth", Expr: "sum by (host) (queue_depth)", Host: "host"}},
		}, map[string]promapi.Querier{"prom": db.Querier()})
		require.NoError(t, err)
		var got []float64
		require.NoError(t, r.WarmUp(t.Context(), unix(t0), unix(t0).Add(20*time.Minute), step, func(s *signals.Snapshot) error {
			f := s.Frames[signals.Custom]
			require.Equal(t, 1, f.Len())
			got = append(got, f.Value[0])
			return nil
		}))
		require.Len(t, got, 40)
		for i, v := range got {
			require.InDelta(t, 2*(i+1), v, 1e-9, "ahead %t", early)
		}
	}
}
