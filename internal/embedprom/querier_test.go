package embedprom

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/promapi"
)

func TestPlainSelectorsFollowPrometheus(t *testing.T) {
	db := openTest(t, Options{})
	s := db.Appender()
	a := s.Series("__name__", "m", "node", "a")
	b := s.Series("__name__", "m", "node", "b", "empty", "")
	for i := int64(0); i <= 10; i++ {
		require.NoError(t, s.Append(a, i*10_000, float64(i)))
	}
	require.NoError(t, s.Append(b, 50_000, math.NaN()))
	require.NoError(t, s.Stale(b, 60_000))
	require.NoError(t, s.Commit())
	q := db.Querier()

	require.Equal(t, []series{
		{`m{node="a"}`, []string{sample(90_000, 9), sample(100_000, 10)}},
	}, instant(t, q, `m[20s]`, 100_000), "a range is open on the left")
	require.Equal(t, []series{
		{`m{node="a"}`, []string{sample(40_000, 4), sample(50_000, 5)}},
		{`m{node="b"}`, []string{sample(50_000, math.NaN())}},
	}, instant(t, q, `m[20s] offset 10s`, 60_000), "an offset keeps the samples' own time; a NaN is a value")
	require.Equal(t, []series{
		{`m{node="a"}`, []string{sample(60_000, 6)}},
	}, instant(t, q, `m`, 60_000), "a stale series is gone")
	require.Equal(t, []series{
		{`m{node="a"}`, []string{sample(399_999, 10)}},
	}, instant(t, q, `m`, 399_999), "the newest sample takes the evaluation time")
	require.Empty(t, instant(t, q, `m`, 400_000), "the lookback is open on the left")
	require.Equal(t, []series{{`{}`, []string{sample(60_000, 11)}}}, instant(t, q, `sum(m)+5`, 60_000), "the engine answers the rest")
	require.Equal(t, []series{{`{}`, []string{sample(7_000, 3)}}}, instant(t, q, `scalar(vector(3))`, 7_000))
}

// Whatever is written in whatever order, and asked forward or backward, a plain
// selector answers as the engine does.
func TestPlainSelectorsEqualEngine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		db, err := Open(Options{ReadAhead: rapid.SampledFrom([]int{-1, 40, 100_000}).Draw(rt, "read ahead")})
		require.NoError(rt, err)
		defer func() { require.NoError(rt, db.Close()) }()
		q := db.Querier()
		s := db.Appender()
		handles := make([]uint32, 4)
		for i := range handles {
			handles[i] = s.Series("__name__", "m", "node", fmt.Sprint(i))
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "write") {
				for range rapid.IntRange(1, 10).Draw(rt, "samples") {
					h := rapid.SampledFrom(handles).Draw(rt, "series")
					at := rapid.Int64Range(1, 300).Draw(rt, "time") * 5000
					if rapid.IntRange(0, 5).Draw(rt, "stale") == 0 {
						err = s.Stale(h, at)
					} else {
						err = s.Append(h, at, float64(at))
					}
					_ = err // two values at one time are refused, which the engine sees alike
				}
				require.NoError(rt, s.Commit())
				continue
			}
			expr := rapid.SampledFrom([]string{"m", "m[30s]", "m[7m]", `(m{node=~"1|2"}[1m])`, "m offset 1m", "m[1m] offset -1m"}).Draw(rt, "expr")
			at := rapid.Int64Range(0, 1600).Draw(rt, "at") * 1000
			var r promapi.Result
			require.NoError(rt, q.Instant(t.Context(), expr, time.UnixMilli(at), &r))
			query, err := db.engine.NewInstantQuery(t.Context(), db.store, nil, expr, time.UnixMilli(at))
			require.NoError(rt, err)
			var want promapi.Result
			want.Reset()
			require.NoError(rt, q.(*querier).exec(t.Context(), expr, query, &want))
			require.Equal(rt, flatten(q, &want), flatten(q, &r), "%s at %d", expr, at)
		}
	})
}

func TestRenewedInternerIsNoticed(t *testing.T) {
	db := openTest(t, Options{})
	s := db.Appender()
	require.NoError(t, s.Append(s.Series("__name__", "m", "node", "a"), 1000, 1))
	require.NoError(t, s.Commit())
	q := db.Querier()
	want := instant(t, q, "m", 2000)
	q.Interner().Renew()
	q.Interner().Intern(promapi.Labels{{Name: "other", Value: "x"}})
	require.Equal(t, want, instant(t, q, "m", 2000))
}

func TestRangeAndLabelValues(t *testing.T) {
	db := openTest(t, Options{})
	s := db.Appender()
	for i, node := range []string{"b", "a", "c"} {
		require.NoError(t, s.Append(s.Series("__name__", "m", "node", node), 60_000, float64(i)))
	}
	require.NoError(t, s.Append(s.Series("__name__", "other", "node", "z"), 60_000, 1))
	require.NoError(t, s.Commit())
	q := db.Querier()
	ctx := t.Context()

	var r promapi.Result
	w := promapi.Window{Start: time.UnixMilli(61_000), End: time.UnixMilli(125_000), Step: 30 * time.Second}
	require.NoError(t, q.Range(ctx, `m{node="a"}`, w, &r))
	require.Equal(t, []series{{`m{node="a"}`, []string{sample(90_000, 1), sample(120_000, 1)}}}, flatten(q, &r), "steps are multiples of the step")

	day := promapi.Window{Start: time.UnixMilli(0), End: time.UnixMilli(86_400_000)}
	vs, err := q.LabelValues(ctx, "node", []string{`m{node!="c"}`, "other"}, day)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "z"}, vs)
	vs, err = q.LabelValues(ctx, "node", nil, day)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "z"}, vs)
}

func TestErrorsHaveClasses(t *testing.T) {
	db := openTest(t, Options{MaxSamples: 5})
	s := db.Appender()
	h := s.Series("__name__", "m")
	for i := range int64(20) {
		require.NoError(t, s.Append(h, i*1000, 1))
	}
	require.NoError(t, s.Commit())
	q := db.Querier()
	at := time.UnixMilli(20_000)
	var r promapi.Result
	ctx := t.Context()
	require.Equal(t, promapi.ClassConfig, promapi.ClassOf(q.Instant(ctx, `m{`, at, &r)))
	require.Equal(t, promapi.ClassConfig, promapi.ClassOf(q.Instant(ctx, `"text"`, at, &r)))
	require.Equal(t, promapi.ClassTooExpensive, promapi.ClassOf(q.Instant(ctx, `m[1m]`, at, &r)))
	require.Equal(t, promapi.ClassTooExpensive, promapi.ClassOf(q.Instant(ctx, `sum_over_time(m[1m])`, at, &r)))
	_, err := q.LabelValues(ctx, "node", []string{"{"}, promapi.Window{})
	require.Equal(t, promapi.ClassConfig, promapi.ClassOf(err))
	late, cancel := context.WithDeadline(ctx, time.Unix(0, 0))
	defer cancel()
	require.Equal(t, promapi.ClassSlow, promapi.ClassOf(q.Instant(late, `m[1s]`, at, &r)))
	stopped, stop := context.WithCancel(ctx)
	stop()
	require.ErrorIs(t, q.Instant(stopped, `m`, at, &r), context.Canceled)
}

func TestReadAheadStaysInBudget(t *testing.T) {
	db := openTest(t, Options{ReadAhead: 1000})
	s := db.Appender()
	for name := range 20 {
		h := s.Series("__name__", fmt.Sprintf("m%d", name))
		for i := range int64(400) {
			require.NoError(t, s.Append(h, i*1000, 1))
		}
	}
	require.NoError(t, s.Commit())
	q := db.Querier()
	for at := int64(60_000); at < 400_000; at += 15_000 {
		for name := range 20 {
			instant(t, q, fmt.Sprintf("m%d[1m]", name), at)
			total := 0
			for _, w := range db.ahead.windows {
				total += len(w.samples)
			}
			require.LessOrEqual(t, total, 1000)
		}
	}
}
