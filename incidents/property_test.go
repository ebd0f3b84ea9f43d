package incidents_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// restart saves, throws the manager away and restores.
func restart(t require.TestingT, m *incidents.Manager, o incidents.Options) *incidents.Manager {
	data, err := m.Save()
	require.NoError(t, err)
	next := incidents.NewManager(o)
	require.NoError(t, next.Restore(data))
	again, err := next.Save()
	require.NoError(t, err)
	require.Equal(t, string(data), string(again), "every field survives")
	return next
}

// TestKilledAtAnyPointTellsTheSame compares a daemon that is killed and
// restarted with one that never is. Pauses are clearly shorter or longer than
// the hold time, because the first tick after a restart may resolve nothing.
func TestKilledAtAnyPointTellsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const keys, kills = 3, 4
		timeline := make([][]bool, keys)
		for k := range timeline {
			for len(timeline[k]) < 120 {
				there := rapid.SampledFrom([]int{1, 2, 3, 10}).Draw(t, "there")
				gone := rapid.SampledFrom([]int{1, 4, 5 + kills, 30}).Draw(t, "gone")
				for range there {
					timeline[k] = append(timeline[k], true)
				}
				for range gone {
					timeline[k] = append(timeline[k], false)
				}
			}
		}
		killed := map[int]bool{}
		for range rapid.IntRange(1, kills).Draw(t, "kills") {
			killed[rapid.IntRange(0, 119).Draw(t, "at")] = true
		}
		// The window to reopen is wall time: no run may end near it.
		policies := incidents.Policies()
		policies[diagnosis.LinkDown] = incidents.Policy{Pending: 2, Clear: 5, Reopen: 24 * time.Hour, Max: diagnosis.Critical}
		o := incidents.Options{Policies: policies}
		told := func(kill bool) (out [keys][]string) {
			m := incidents.NewManager(o)
			for i := range 120 + 5 + kills {
				r := diagnosis.Result{Time: t0.Add(time.Duration(i) * interval), Whole: true}
				for k := range timeline {
					if i < 120 && timeline[k][i] {
						v := nic(fmt.Sprintf("n%d", k), "mlx5_0")
						v.Job = ""
						r.Verdicts = append(r.Verdicts, v)
					}
				}
				for _, e := range m.Apply(&r) {
					k := int(e.Incident.Verdict.Suspects[0].Node[1] - '0')
					out[k] = append(out[k], string(e.Kind)+" "+e.Incident.ID)
				}
				if kill && killed[i] {
					m = restart(t, m, o)
				}
			}
			return out
		}
		require.Equal(t, told(false), told(true))
	})
}

// word is what one incident was told so far.
type word struct {
	open     bool
	ever     bool
	severity diagnosis.Severity
	labels   map[string]string
}

// TestWhateverHappens feeds nonsense: classes and suspects that come and go,
// holds, lost ticks, clock steps, restarts with and without a saved tick, classes
// in shadow and a host that goes into maintenance and comes back.
func TestWhateverHappens(t *testing.T) {
	classes := []diagnosis.Class{
		diagnosis.LinkDown, diagnosis.LinkFlap, diagnosis.CollectiveStall, diagnosis.StragglerCompute,
		diagnosis.GPUThrottle, diagnosis.RailDegraded, diagnosis.LeafDegraded, diagnosis.TelemetryGap, diagnosis.RoCECongestion,
	}
	rapid.Check(t, func(t *rapid.T) {
		o := incidents.Options{Cap: rapid.SampledFrom([]int{2, 100}).Draw(t, "cap"), FoldAbove: rapid.SampledFrom([]int{2, 20}).Draw(t, "fold")}
		if shadow := rapid.SampledFrom(append([]diagnosis.Class{""}, classes...)).Draw(t, "shadow"); shadow != "" {
			o.Shadow = map[diagnosis.Class]bool{shadow: true}
		}
		away := false
		o.Maintenance = func(host, _ string, _ time.Time) string {
			if away && host == "h2" {
				return "drained"
			}
			return ""
		}
		m := incidents.NewManager(o)
		said := map[string]*word{}
		now := t0
		verdict := rapid.Custom(func(t *rapid.T) diagnosis.Verdict {
			v := diagnosis.Verdict{
				Class: rapid.SampledFrom(classes).Draw(t, "class"), Job: rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "job"),
				Severity: diagnosis.Severity(rapid.IntRange(0, 3).Draw(t, "severity")), Scope: rapid.SampledFrom([]string{"", "job"}).Draw(t, "scope"),
				Reason: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "reason"), Immediate: rapid.Bool().Draw(t, "immediate"),
				Owner: rapid.SampledFrom([]diagnosis.Owner{diagnosis.Workload, diagnosis.OwnerUnknown}).Draw(t, "owner"),
				Hosts: []string{"h1"}, StartedAt: now, TieSet: rapid.IntRange(0, 2).Draw(t, "tie"),
			}
			for range rapid.IntRange(0, 2).Draw(t, "suspects") {
				v.Suspects = append(v.Suspects, diagnosis.Suspect{Kind: "nic", Node: rapid.SampledFrom([]string{"h1", "h2"}).Draw(t, "node"), Device: "d", Switch: "s"})
			}
			return v
		})
		for range rapid.IntRange(1, 60).Draw(t, "ticks") {
			now = now.Add(rapid.SampledFrom([]time.Duration{interval, interval, interval, -time.Hour, time.Hour, 0}).Draw(t, "step"))
			r := diagnosis.Result{
				Time: now, Whole: rapid.IntRange(0, 5).Draw(t, "whole") > 0,
				Verdicts: rapid.SliceOfN(verdict, 0, 5).Draw(t, "verdicts"),
			}
			if rapid.IntRange(0, 9).Draw(t, "door") == 0 {
				away = !away
			}
			if rapid.IntRange(0, 9).Draw(t, "ended") == 0 {
				r.Ended = []string{"1"}
			}
			if rapid.IntRange(0, 5).Draw(t, "hold") == 0 {
				r.Holds = []diagnosis.Hold{{Host: "h1", Classes: classes[:rapid.IntRange(0, 3).Draw(t, "held")]}}
			}
			before, err := m.Save()
			require.NoError(t, err)
			events := m.Apply(&r)
			if rapid.IntRange(0, 9).Draw(t, "kill") == 0 {
				if rapid.Bool().Draw(t, "tick lost") {
					events = nil // killed before the save, so nothing was sent either
					m = incidents.NewManager(o)
					require.NoError(t, m.Restore(before))
				} else {
					m = restart(t, m, o)
				}
			}
			for _, e := range events {
				check(t, said, e, r.Whole)
			}
			checkLive(t, m, said)
		}
	})
}

func check(t *rapid.T, said map[string]*word, e incidents.Event, whole bool) {
	inc := &e.Incident
	if inc.Withheld != incidents.NotWithheld { // noted only: nobody is told
		require.False(t, inc.Announced)
		require.True(t, inc.Noted)
		return
	}
	w := said[inc.ID]
	if w == nil {
		w = &word{}
		said[inc.ID] = w
	}
	switch e.Kind {
	case incidents.EventOpen:
		require.False(t, w.open, "opened twice")
		require.True(t, w.labels == nil || maps.Equal(w.labels, inc.Labels), "labels changed")
		w.open, w.ever, w.labels = true, true, inc.Labels
	case incidents.EventUpdate:
		require.True(t, w.open, "update of what was never told")
		require.Equal(t, e.Was, w.severity)
	case incidents.EventResolve:
		require.True(t, w.open, "resolve before it fired")
		require.True(t, whole || inc.ResolveReason == incidents.Superseded, "resolved by ignorance")
		w.open = false
	}
	require.GreaterOrEqual(t, inc.Severity, w.severity, "severity fell")
	require.NotEqual(t, diagnosis.Recorded, inc.Severity)
	require.Equal(t, w.labels, inc.Labels)
	w.severity = inc.Severity
}

func checkLive(t *rapid.T, m *incidents.Manager, said map[string]*word) {
	open := map[string]bool{}
	prints := map[string]string{}
	for _, inc := range m.Live() {
		if inc.Announced {
			open[inc.ID] = true
			require.True(t, inc.Active())
			text := fmt.Sprint(inc.AlertLabels())
			require.Empty(t, prints[text], "two incidents under one alert")
			prints[text] = inc.ID
		}
	}
	for id, w := range said {
		require.Equal(t, w.open, open[id], "what was told and what is there differ")
	}
	require.Len(t, open, countOpen(said))
	for id, w := range said {
		if w.open {
			continue
		}
		inc, ok := m.Find(id)
		require.True(t, ok && inc.Announced && inc.State == incidents.Resolved, "an end that may not be told yet is gone")
		if inc.ResolveReason == incidents.Superseded {
			by, ok := m.Find(inc.SupersededBy)
			require.True(t, ok && by.Withheld != incidents.InShadow, "ended by what nobody hears of")
		}
	}
}

func countOpen(said map[string]*word) (n int) {
	for _, w := range said {
		if w.open {
			n++
		}
	}
	return n
}
