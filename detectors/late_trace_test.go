package detectors

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/optrace"
	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/signals"
)

// traces loads each recorded trace once: the larger has 117 000 operations.
var traces = struct {
	sync.Mutex
	loaded map[string]*optrace.Trace
}{loaded: map[string]*optrace.Trace{}}

func trace(tb testing.TB, name string) *optrace.Trace {
	tb.Helper()
	dir := testdata.Path(tb, "straggler", name)
	traces.Lock()
	defer traces.Unlock()
	if t := traces.loaded[name]; t != nil {
		return t
	}
	t, err := optrace.Load(dir)
	require.NoError(tb, err)
	traces.loaded[name] = t
	return t
}

// named plays a trace and returns when each thing was first named as late, and
// how often after that it was not.
func named(t *optrace.Trace, p optrace.Play) (first map[string]time.Duration, gaps map[string]int) {
	b := NewBank(Options{Interval: p.Interval})
	first, gaps = map[string]time.Duration{}, map[string]int{}
	t.Play(p, func(s *signals.Snapshot) bool {
		now := map[string]bool{}
		for _, f := range b.Observe(s).Findings {
			if f.Pattern == Late {
				now[f.Entity.String()] = true
				if _, ok := first[f.Entity.String()]; !ok {
					first[f.Entity.String()] = s.Time.Sub(optrace.Begin())
				}
			}
		}
		for name := range first {
			if !now[name] {
				gaps[name]++
			}
		}
		return true
	})
	return first, gaps
}

const lateWorker = "gpu-a01/GPU0"

func TestLateWorkerOfARecordedJob(t *testing.T) {
	ar := trace(t, "AR")
	for seed := range uint64(testdata.Rounds(8, 40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			first, gaps := named(ar, optrace.Play{Seed: seed, Shuffle: seed > 0, RankMap: seed%2 == 0})
			t.Log(first)
			require.Len(t, first, 1)
			require.Contains(t, first, lateWorker)
			require.LessOrEqual(t, first[lateWorker], 195*time.Second)
			require.Zero(t, gaps[lateWorker])
		})
	}
}

func TestLateWorkerAtOtherSpeedsAndIntervals(t *testing.T) {
	ar := trace(t, "AR")
	for name, p := range map[string]optrace.Play{
		"3 times as fast":      {Scale: 0.3, For: 30 * time.Minute},
		"20 times as fast":     {Scale: 0.05, For: 20 * time.Minute},
		"5 times slower":       {Scale: 5, For: 2 * time.Hour},
		"ticks of 30 s":        {Interval: 30 * time.Second},
		"ticks of 60 s":        {Interval: time.Minute, For: 40 * time.Minute},
		"scrapes every 30 s":   {Interval: 30 * time.Second, Scrape: 30 * time.Second},
		"4 times over":         {For: 2 * time.Hour},
		"hosts in other order": {Rename: func(h string) string { return "z" + h[len(h)-1:] + "-a" }},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				p.Seed, p.Shuffle = seed, true
				first, gaps := named(ar, p)
				t.Log(first)
				want := lateWorker
				if p.Rename != nil {
					want = p.Rename("gpu-a01") + "/GPU0"
				}
				require.Len(t, first, 1)
				require.Contains(t, first, want)
				require.Zero(t, gaps[want])
			}
		})
	}
}

func TestHeavyStageNamesNobody(t *testing.T) {
	st := trace(t, "ST")
	for seed := range uint64(testdata.Rounds(8, 40)) {
		first, _ := named(st, optrace.Play{Seed: seed, Shuffle: seed > 0, For: time.Hour, RankMap: seed%2 == 0, Scale: []float64{1, 0.3, 5}[seed%3]})
		require.Empty(t, first)
	}
}

// Random sequence lengths make somebody late in every step, but never the same
// one for long. A day is longer than any recording.
func TestRotatingLatenessNamesNobody(t *testing.T) {
	for name, l := range map[string]optrace.Layout{
		"16 replicas, steps of 4 s":               {Replicas: 16, Stages: 4, Step: 4 * time.Second, CV: 0.15},
		"16 replicas, steps of 20 s":              {Replicas: 16, Stages: 4, Step: 20 * time.Second, CV: 0.15},
		"4 replicas, steps of 20 s":               {Replicas: 4, Stages: 2, Step: 20 * time.Second, CV: 0.2},
		"2 replicas, steps of 20 s":               {Replicas: 2, Stages: 2, Step: 20 * time.Second, CV: 0.1},
		"64 replicas, steps of 40 s":              {Replicas: 64, Stages: 1, Step: 40 * time.Second, CV: 0.1},
		"16 replicas, lengths that stay a minute": {Replicas: 16, Stages: 2, Step: 10 * time.Second, CV: 0.15, Phi: 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(testdata.Rounds(1, 2)) {
				l.PerHost, l.Transfer, l.Seed = 2, 25*time.Millisecond, seed
				l.Steps = int(time.Duration(testdata.Rounds(8, 24)) * time.Hour / l.Step)
				first, _ := named(optrace.Synthetic(l), optrace.Play{Seed: seed})
				require.Empty(t, first)
			}
		})
	}
}

// An expert or a shard stays hot for minutes and then another one does, drawn
// anew each time: once it was seen to move, the same one can be drawn twice in
// a row.
func TestLatenessThatMovesOnAfterMinutesNamesNobody(t *testing.T) {
	for name, l := range map[string]optrace.Layout{
		"5 min, 8 replicas":            {Replicas: 8, Stages: 2, CV: 0.01},
		"5 min, 16 replicas":           {Replicas: 16, Stages: 1, CV: 0.02},
		"3 min, 16 replicas, 2 stages": {Replicas: 16, Stages: 2, CV: 0.01},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(testdata.Rounds(3, 20)) {
				turn := 5 * time.Minute
				if l.Replicas*l.Stages == 32 {
					turn = 3 * time.Minute
				}
				l.Step, l.PerHost, l.Transfer, l.Seed = 4*time.Second, 2, 900*time.Millisecond, seed
				l.Steps = int(3 * time.Hour / l.Step)
				steps := int(turn / (6500 * time.Millisecond)) // that one late worker makes of a step
				rng := rand.New(rand.NewPCG(seed, 7))
				hot := make([]int, l.Steps)
				for i := range hot {
					switch k := i / steps; {
					case k < 3: // so that it is seen that it moves
						hot[i] = k
					case i%steps == 0:
						hot[i] = rng.IntN(l.Replicas * l.Stages / l.PerHost)
					default:
						hot[i] = hot[i-1]
					}
				}
				l.Slow = func(worker, step int) float64 {
					if worker/l.PerHost == hot[step] {
						return 1.3
					}
					return 1
				}
				first, _ := named(optrace.Synthetic(l), optrace.Play{Seed: seed, For: 4 * time.Hour})
				require.Empty(t, first)
			}
		})
	}
}
