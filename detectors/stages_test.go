package detectors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/optrace"
	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/signals"
)

// heavyStage plays a trace and returns when the heavy stage was first found and
// at how many ticks it was found in all.
func heavyStage(tr *optrace.Trace, p optrace.Play) (first time.Duration, ticks int, last Finding) {
	b := NewBank(Options{Interval: p.Interval})
	tr.Play(p, func(s *signals.Snapshot) bool {
		for _, f := range b.Observe(s).Findings {
			if f.Pattern == LeastReceive {
				if ticks == 0 {
					first = s.Time.Sub(optrace.Begin())
				}
				ticks++
				last = f
			}
		}
		return true
	})
	return first, ticks, last
}

func TestHeavyStageOfARecordedJob(t *testing.T) {
	st := trace(t, "ST")
	for seed := range uint64(testdata.Rounds(4, 20)) {
		first, ticks, f := heavyStage(st, optrace.Play{Seed: seed, Shuffle: seed > 0, For: time.Hour, Scale: []float64{1, 0.3, 5}[seed%3]})
		require.Positive(t, ticks)
		if seed%3 < 2 {
			require.LessOrEqual(t, first, 10*time.Minute)
		}
		require.Equal(t, optrace.JobID+"/DP Group 3", f.Group)
		require.InDelta(t, 0.46, f.Value/f.Expected, 0.12)
	}
}

func TestNoHeavyStageBesideASlowWorker(t *testing.T) {
	ar := trace(t, "AR")
	for seed := range uint64(testdata.Rounds(4, 20)) {
		_, ticks, _ := heavyStage(ar, optrace.Play{Seed: seed, Shuffle: true, For: time.Hour, Scale: []float64{1, 0.3, 5}[seed%3]})
		require.Zero(t, ticks)
	}
}

func TestLeastWaitersMustBeWholeStages(t *testing.T) {
	group := func(id string, members ...signals.Entity) *signals.Group {
		return &signals.Group{ID: id, Job: "j", Kind: signals.GroupData, Derived: signals.DerivedName, Members: members}
	}
	groups := []*signals.Group{group("s0", gpu("a", "GPU0"), gpu("b", "GPU0")), group("s1", gpu("a", "GPU1"), gpu("b", "GPU1"))}
	set := func(es ...signals.Entity) map[signals.Entity]bool {
		m := map[signals.Entity]bool{}
		for _, e := range es {
			m[e] = true
		}
		return m
	}
	for name, tc := range map[string]struct {
		members map[signals.Entity]bool
		want    string
	}{
		"one stage":               {set(gpu("a", "GPU1"), gpu("b", "GPU1")), "s1"},
		"another in each replica": {set(gpu("a", "GPU1"), gpu("b", "GPU0")), ""},
		"a member of no stage":    {set(gpu("a", "GPU1"), gpu("b", "GPU1"), gpu("c", "GPU1")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := wholeStages(groups, "j", tc.members)
			require.Equal(t, tc.want != "", ok)
			if ok {
				require.Equal(t, tc.want, got)
			}
		})
	}
}
