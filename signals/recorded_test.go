package signals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// watch reads ticks of 15 s and checks what must hold at each.
func watch(t *testing.T, r *signals.Reader, from, to int64, each func(*signals.Snapshot)) *signals.Snapshot {
	t.Helper()
	var last *signals.Snapshot
	for at := from; at < to; at += 15 {
		last = r.Read(t.Context(), unix(at))
		for _, f := range last.Frames {
			if f == nil {
				continue
			}
			require.NoError(t, f.Err)
			require.Len(t, f.Value, f.Len())
			require.Len(t, f.Changed, f.Len())
		}
		if each != nil {
			each(last)
		}
	}
	return last
}

func TestRecordedJobWithPipeline(t *testing.T) {
	db := loadFile(t, "straggler", "AR", "inspector.om.gz")
	r := reader(t, db, signals.Options{})
	type key struct {
		id   signals.EntityID
		dump int64
	}
	seen := map[key]bool{}
	rows := map[string]int{}
	const begin = 1767600000
	last := watch(t, r, begin, begin+1800, func(s *signals.Snapshot) {
		f := s.Frame(signals.CollExecTime)
		for i := range f.Len() {
			k := key{f.Entity[i], f.Dump[i]}
			require.False(t, seen[k], "a file counted twice: %v", s.Entities.Of(f.Entity[i]))
			seen[k] = true
			if e := s.Entities.Of(f.Entity[i]); e.Host == "gpu-a01" && e.Device == "GPU0" {
				rows[e.Op+" "+e.Comm]++
			}
		}
	})
	// 60 windows of 30 s, a step of 46 s: about two of three hold a
	// reduce-scatter. Scrapes would be 120.
	require.InDelta(t, 38, rows["ReduceScatter DP Group 0"], 4)

	require.Len(t, last.Jobs, 1)
	require.Equal(t, "71001", last.Jobs[0].ID)
	require.Len(t, last.Jobs[0].Hosts, 8)
	require.Len(t, last.Jobs[0].GPUs, 16)
	require.False(t, last.Jobs[0].Ended)
	require.Empty(t, last.Gaps)

	kinds := map[signals.GroupKind]int{}
	for _, g := range last.Groups {
		kinds[g.Kind]++
		require.Equal(t, signals.DerivedName, g.Derived)
		switch g.Kind {
		case signals.GroupData, signals.GroupPipeline:
			require.True(t, g.Whole, g.ID)
			require.Len(t, g.Members, 4)
		case signals.GroupEmbed:
			require.Len(t, g.Members, 2)
		case signals.GroupTensor:
			require.False(t, g.Whole, "only one of four ranks was recorded")
		}
	}
	require.Equal(t, map[signals.GroupKind]int{signals.GroupData: 4, signals.GroupPipeline: 4, signals.GroupEmbed: 4, signals.GroupTensor: 16}, kinds)
	for _, gpu := range last.Jobs[0].GPUs {
		age := last.Get(signals.InspectorAge, gpu)
		require.Less(t, age, 60.0, gpu)
		require.GreaterOrEqual(t, age, 0.0, gpu)
	}
}

func TestRecordedJobWithHeavyStage(t *testing.T) {
	db := loadFile(t, "straggler", "ST", "inspector.om.gz")
	r := reader(t, db, signals.Options{})
	const begin = 1767772800
	last := watch(t, r, begin, begin+300, nil)
	kinds := map[signals.GroupKind]int{}
	for _, g := range last.Groups {
		kinds[g.Kind]++
		require.True(t, g.Whole, g.ID)
	}
	require.Equal(t, map[signals.GroupKind]int{signals.GroupData: 4, signals.GroupPipeline: 2, signals.GroupEmbed: 2}, kinds)
}
