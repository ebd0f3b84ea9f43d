package rules_test

import (
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/rules"
)

// smoothed plays the time of a communicator, one value each half minute, NaN for
// none, through the rules, and returns what they record at each.
type smoothed struct{ value, usual, upper, lower float64 }

func playSmooth(t *testing.T, target string, values []float64) []smoothed {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{Experimental: target == "victoriametrics"})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	e := evaluator(t, db, func(o *rules.Options) {
		o.Target, o.Classes = target, []string{"compute_comm_contention"}
		o.Metrics = []string{"nccl_collective_exec_time_microseconds", "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", "slurm_node_job"}
	})
	sink := db.Appender()
	h := sink.Series("__name__", "nccl_collective_exec_time_microseconds", "hostname", "node0", "gpu_device_id", "GPU0", "slurm_job_id", "7", "comm_id", "c",
		"collective", "AllReduce", "message_size", "1MB", "n_ranks", "2", "n_nodes", "2")
	start := time.Unix(1_767_312_000, 0)
	var out []smoothed
	for i, v := range values {
		at := start.Add(time.Duration(i) * 30 * time.Second)
		if !math.IsNaN(v) {
			require.NoError(t, sink.Append(h, at.UnixMilli(), v*1e6))
		} else if i > 0 && !math.IsNaN(values[i-1]) {
			require.NoError(t, sink.Append(h, at.UnixMilli(), stale()))
		}
		require.NoError(t, sink.Commit())
		require.NoError(t, e.Eval(t.Context(), at))
		read := func(name string) float64 {
			var r promapi.Result
			require.NoError(t, db.Querier().Instant(t.Context(), name, at, &r))
			if r.Len() == 0 {
				return math.NaN()
			}
			require.Equal(t, 1, r.Len(), name)
			return r.Of(0)[0].V
		}
		out = append(out, smoothed{v, read("comm:coll_transfer_usual:ewma"), read("comm:coll_transfer_upper:band"), read("comm:coll_transfer_lower:band")})
	}
	return out
}

// stale is the value by which a scrape says that a series ended.
func stale() float64 { return math.Float64frombits(0x7ff0000000000002) }

func times(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func noisy(n int, v, cv float64, seed int64) []float64 {
	r, out := rand.New(rand.NewSource(seed)), make([]float64, n)
	for i := range out {
		out[i] = v * math.Exp(cv*r.NormFloat64())
	}
	return out
}

func chain(parts ...[]float64) (out []float64) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

const perHour = 120

// TestSmoothedLevel: where the level begins, what it learns and what not, and
// what a gap does to it.
func TestSmoothedLevel(t *testing.T) {
	for _, target := range []string{"prometheus-2", "victoriametrics"} {
		t.Run(target, func(t *testing.T) {
			play := func(parts ...[]float64) []smoothed { return playSmooth(t, target, chain(parts...)) }

			t.Run("the first level is a median, after the start", func(t *testing.T) {
				got := play(times(5, 0.5), times(60, 0.004))
				require.True(t, math.IsNaN(got[29].usual), "it speaks too early")
				require.InEpsilon(t, 0.004, got[30].usual, 1e-6)
				last := got[len(got)-1]
				require.Greater(t, last.upper, 0.004*1.05, "a constant series needs a band too")
				require.Less(t, last.upper, 0.004*1.25)
				require.InEpsilon(t, last.usual*last.usual, last.upper*last.lower, 1e-6)
			})
			t.Run("a spike moves nothing", func(t *testing.T) {
				got := play(times(60, 0.004), times(1, 0.2), times(1, 0.004))
				require.InEpsilon(t, 0.004, got[61].usual, 0.01)
				require.Less(t, got[61].upper, 0.2)
			})
			t.Run("a fault of two hours is not learnt", func(t *testing.T) {
				got := play(noisy(perHour, 0.004, 0.02, 1), noisy(2*perHour, 0.006, 0.02, 2))
				for _, g := range got[perHour+5:] {
					require.Greater(t, g.value, g.upper)
				}
				require.InEpsilon(t, 0.004, got[len(got)-1].usual, 0.1)
			})
			t.Run("a drift inside of the band is learnt by halves", func(t *testing.T) {
				got := play(times(perHour, 0.004), times(perHour/2, 0.0041))
				require.InEpsilon(t, 0.00405, got[len(got)-1].usual, 0.005)
			})
			t.Run("the band is as wide as the noise", func(t *testing.T) {
				for seed, cv := range []float64{0.02, 0.18} {
					got, outside := play(noisy(3*perHour, 0.004, cv, int64(seed))), 0
					for _, g := range got[perHour:] {
						if g.value > g.upper || g.value < g.lower {
							outside++
						}
					}
					require.LessOrEqual(t, outside, 3, "cv %g", cv)
					last := got[len(got)-1]
					require.Less(t, math.Log(last.upper/last.usual), 8*cv+0.08, "cv %g", cv)
				}
			})
			t.Run("a short gap is bridged, a long one forgets", func(t *testing.T) {
				got := play(times(perHour, 0.004), times(40, math.NaN()), times(2, 0.006), times(perHour, math.NaN()), times(32, 0.006))
				require.InEpsilon(t, 0.004, got[perHour+40].usual, 0.01)
				require.Greater(t, got[perHour+40].value, got[perHour+40].upper)
				require.True(t, math.IsNaN(got[2*perHour+50].usual))
				require.InEpsilon(t, 0.006, got[len(got)-1].usual, 0.01)
			})
			t.Run("impossible values do no harm", func(t *testing.T) {
				got := play(times(perHour, 0.004), []float64{0, math.Inf(1), 0}, times(3, 0.004))
				require.InEpsilon(t, 0.004, got[len(got)-1].usual, 0.02)
			})
		})
	}
}
