package signals_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
}
