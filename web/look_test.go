package web_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/web"
)

// snapshot is a tick in which some members of a job reported an operation.
func snapshot(bandwidth ...float64) *engine.Tick {
	ents := signals.NewEntities()
	f := &signals.Frame{Signal: signals.CollBusBandwidth}
	times := &signals.Frame{Signal: signals.CollExecTime}
	for i, v := range bandwidth {
		for _, size := range []string{"1M", "128M"} {
			id := ents.Intern(signals.Entity{Kind: signals.KindComm, Host: "h", Device: "GPU" + string(rune('0'+i)), Job: "j1", Op: "AllReduce", Size: size})
			f.Entity, f.Value = append(f.Entity, id), append(f.Value, v)
			times.Entity, times.Value = append(times.Entity, id), append(times.Value, 0.01)
		}
	}
	s := &signals.Snapshot{Time: t0, Entities: ents, Jobs: []*signals.Job{{ID: "j0"}, {ID: "j1", Hosts: []string{"h"}}}}
	s.Frames[signals.CollBusBandwidth], s.Frames[signals.CollExecTime] = f, times
	gpu := func(i int) signals.Entity {
		return signals.Entity{Kind: signals.KindGPU, Host: "h", Device: "GPU" + string(rune('0'+i))}
	}
	return &engine.Tick{At: t0, Series: 7, Snapshot: s, Report: &detectors.Report{Progress: []detectors.JobProgress{{
		Job: "j1", Stalled: true, Since: t0, Clocks: []detectors.Clock{{Name: "power"}},
		Members: []detectors.Member{{Entity: gpu(0), State: detectors.StateWaiting}, {Entity: gpu(1), State: detectors.StateGone}, {Entity: gpu(2), State: detectors.StateWaiting}},
	}}}}
}

func TestLook(t *testing.T) {
	s := web.Look(snapshot(40e9, 10e9, 42e9), nil, web.State{})
	require.Equal(t, "j1", s.Jobs[0].ID, "what needs attention comes first")
	j := s.Jobs[0]
	require.Equal(t, "stalled", j.Word())
	require.Equal(t, []web.StateCount{{State: "waiting", Count: 2}, {State: "gone", Count: 1}}, j.Members)
	require.Equal(t, []web.Member{{Host: "h", Device: "GPU1", State: "gone"}}, j.Odd)
	require.Len(t, j.Operations, 1)
	require.Equal(t, web.Operation{Name: "AllReduce", Members: 3, Time: 0.01, Bandwidth: 40e9, Slowest: 0.25, At: t0}, j.Operations[0])
	require.Equal(t, "unknown", s.Jobs[1].Word(), "nothing tells how it does: that is not healthy")
}

// Dumps are rarer than evaluations: figures stay for a while, and no longer.
func TestLookKeepsFiguresBetweenDumps(t *testing.T) {
	first := web.Look(snapshot(40e9, 10e9), nil, web.State{})
	next := func(before *web.State, after time.Duration) *web.State {
		tick := snapshot()
		tick.At = t0.Add(after)
		return web.Look(tick, before, web.State{})
	}
	require.Len(t, next(first, time.Minute).Jobs[0].Operations, 1)
	require.Empty(t, next(first, 6*time.Minute).Jobs[0].Operations)
}

// The next evaluation writes over the memory of this one.
func TestLookCopies(t *testing.T) {
	tick := snapshot(40e9)
	s := web.Look(tick, nil, web.State{})
	tick.Snapshot.Jobs[1].Hosts[0] = "changed"
	tick.Report.Progress[0].Clocks[0].Name = "changed"
	require.Equal(t, []string{"h"}, s.Jobs[0].Hosts)
	require.Equal(t, "power", s.Jobs[0].Clocks[0].Name)
}
