package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/compare"
	"github.com/collwatch/collwatch/sim"
)

// altered is a sink that changes or drops what passes.
type altered struct {
	sim.Sink

	names []string // metric and labels of a handle, joined by blanks
	keep  func(series string) bool
	alter func(h uint32, series string, t int64, v float64) float64
}

func (a *altered) Series(labels ...string) uint32 {
	h := a.Sink.Series(labels...)
	for int(h) >= len(a.names) {
		a.names = append(a.names, "")
	}
	a.names[h] = strings.Join(labels, " ")
	return h
}

func (a *altered) Append(h uint32, t int64, v float64) error {
	if a.keep != nil && !a.keep(a.names[h]) {
		return nil
	}
	if a.alter != nil {
		v = a.alter(h, a.names[h], t, v)
	}
	return a.Sink.Append(h, t, v)
}

// exporterRestart makes the counters of collectives begin anew at a moment, as if
// their exporter forgot them. base takes what they had been.
func exporterRestart(at int64, base map[uint32]float64) func(sim.Sink) sim.Sink {
	return func(to sim.Sink) sim.Sink {
		return &altered{Sink: to, alter: func(h uint32, series string, t int64, v float64) float64 {
			if t < at || !strings.Contains(series, "collwatch_") || !strings.Contains(series, "_total ") {
				return v
			}
			if _, ok := base[h]; !ok {
				base[h] = v
			}
			return v - base[h]
		}}
	}
}

// TestResetsOfCountersAreNoDifference: counters that begin anew within the time
// lose one interval; neither the share of wall time nor the verdict may move.
func TestResetsOfCountersAreNoDifference(t *testing.T) {
	plugin := run{dialect: func(d *sim.Dialect) { d.Plugin = true }}
	whole := plugin.with(func(r *run) { r.seed = 1 }).record(t)
	const start, minute = 1767225600_000, 60_000
	reset := map[uint32]float64{}
	broken := plugin.with(func(r *run) { r.seed, r.through = 2, exporterRestart(start+17*minute, reset) }).record(t)
	require.NotEmpty(t, reset)
	res := compare.Compare(whole, broken, compare.Settings{})
	require.Equal(t, compare.NoDifference, res.Verdict, res.Why)
	shares := 0
	for i := range broken.Rows {
		row := &broken.Rows[i]
		xs := row.Of(compare.Share)
		if len(xs) == 0 {
			continue
		}
		shares++
		middle := row.Median(compare.Share)
		require.Positive(t, middle, row.Key)
		require.InEpsilon(t, middle, slices.Max(xs), 0.15, "%s: a reset is no burst", row.Key)
		require.InEpsilon(t, middle, slices.Min(xs), 0.15, "%s: a reset is no pause", row.Key)
	}
	require.Positive(t, shares, "the plugin tells the share of wall time")
}

// pipeline gives the job two stages, which send to each other.
func pipeline(j *sim.JobSpec) {
	j.Layout = sim.Layout{TP: 8, DP: 2, PP: 2}
	j.Phases = append(slices.Clone(j.Phases), sim.Phase{Pipe: &sim.Pipe{Micro: 8, Size: 32 << 20, Latency: 0.002, Compute: 0.4}})
}

// without drops the point-to-point series of one side.
func without(op string) func(sim.Sink) sim.Sink {
	return func(to sim.Sink) sim.Sink {
		return &altered{Sink: to, keep: func(series string) bool { return !strings.Contains(series, "p2p_operation "+op) }}
	}
}

func pointToPoint(r *compare.Record) (ops []string) {
	for i := range r.Rows {
		if op := r.Rows[i].Op; op == "Send" || op == "Recv" {
			ops = append(ops, op)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(ops)))
}

// TestOneSideOfPointToPoint: who exports only one side of what stages send to each
// other is compared by that side, and the missing one is said, not counted.
func TestOneSideOfPointToPoint(t *testing.T) {
	both := run{job: pipeline}
	one := func(op string) func(*run) { return func(r *run) { r.through = without(op) } }
	base := both.with(func(r *run) { r.seed = 1 }).record(t)
	require.Equal(t, []string{"Recv", "Send"}, pointToPoint(base))
	for _, missing := range []string{"Send", "Recv"} {
		t.Run("no "+missing, func(t *testing.T) {
			cand := both.with(one(missing)).with(func(r *run) { r.seed = 2 }).record(t)
			require.NotContains(t, pointToPoint(cand), missing)
			require.Len(t, pointToPoint(cand), 1)
			for i := range cand.Rows {
				if op := cand.Rows[i].Op; op == "Send" || op == "Recv" {
					require.Empty(t, cand.Rows[i].Of(compare.Lateness), "the two ends of a pair do not end together")
				}
			}
			res := compare.Compare(base, cand, compare.Settings{})
			require.Equal(t, compare.NoDifference, res.Verdict, res.Why)
			said := slices.ContainsFunc(res.Rows, func(r compare.RowResult) bool {
				return r.Key().Op == missing && r.Verdict == compare.NotComparable && r.Why != ""
			})
			require.True(t, said, "the missing side is not comparable, and why is said")
		})
	}
}
