package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
)

func open(b testing.TB) (*embedprom.DB, *embedprom.Sink) {
	b.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	return db, db.Appender()
}

// BenchmarkThousandNodes simulates a minute of 1,000 nodes straight into the
// embedded storage and reports how much faster than real time that is.
func BenchmarkThousandNodes(b *testing.B) { benchmark(b, 1000) }

// BenchmarkSixteenNodes is the size of the demonstration.
func BenchmarkSixteenNodes(b *testing.B) { benchmark(b, 16) }

func benchmark(b *testing.B, hosts int) {
	_, sink := open(b)
	c, err := New(Options{Seed: 1, Shape: R16(hosts), Dialect: Full(), Noise: DefaultNoise()}, sink)
	require.NoError(b, err)
	require.NoError(b, c.Run(b.Context(), 2*time.Minute)) // all series are there
	b.ResetTimer()
	at := 2 * time.Minute
	for range b.N {
		at += time.Minute
		require.NoError(b, c.Run(b.Context(), at))
		require.NoError(b, sink.Commit())
	}
	b.ReportMetric(60*float64(b.N)/b.Elapsed().Seconds(), "×realtime")
}
