package detectors

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/optrace"
	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/signals"
)

// slowGroups plays a trace and returns when each group was first found slow.
func slowGroups(tr *optrace.Trace, p optrace.Play) (first map[string]time.Duration, last map[string]Finding) {
	b := NewBank(Options{Interval: p.Interval})
	first, last = map[string]time.Duration{}, map[string]Finding{}
	tr.Play(p, func(s *signals.Snapshot) bool {
		for _, f := range b.Observe(s).Findings {
			if f.Pattern != SlowTransfer {
				continue
			}
			name := strings.TrimPrefix(f.Group, optrace.JobID+"/") + " " + f.Entity.Op
			if _, ok := first[name]; !ok {
				first[name] = s.Time.Sub(optrace.Begin())
			}
			last[name] = f
		}
		return true
	})
	return first, last
}

func TestSlowTransferOfTheGroupWithASickGPU(t *testing.T) {
	ar := trace(t, "AR")
	for seed := range uint64(testdata.Rounds(8, 40)) {
		first, last := slowGroups(ar, optrace.Play{Seed: seed, Shuffle: seed > 0})
		t.Log(first)
		require.Len(t, first, 2)
		for _, op := range []string{"DP Group 0 ReduceScatter", "DP Group 0 AllGather"} {
			require.Contains(t, first, op)
			require.LessOrEqual(t, first[op], 8*time.Minute)
			require.InDelta(t, 2.15, last[op].Value/last[op].Expected, 0.2)
		}
	}
}

func TestNoSlowTransferWithAHeavyStage(t *testing.T) {
	st := trace(t, "ST")
	for seed := range uint64(testdata.Rounds(5, 20)) {
		first, _ := slowGroups(st, optrace.Play{Seed: seed, Shuffle: true, For: time.Hour, Scale: []float64{1, 0.3, 5}[seed%3]})
		require.Empty(t, first)
	}
}
