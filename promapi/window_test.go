package promapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAlign(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		require.NoError(t, err)
		return v
	}
	for name, c := range map[string]struct {
		now              string
		offset, interval time.Duration
		want             string
	}{
		"on the boundary":    {"2026-01-01T00:01:00Z", 30 * time.Second, 15 * time.Second, "2026-01-01T00:00:30Z"},
		"just before":        {"2026-01-01T00:00:59.999Z", 30 * time.Second, 15 * time.Second, "2026-01-01T00:00:15Z"},
		"no offset":          {"2026-01-01T00:00:59.999Z", 0, time.Minute, "2026-01-01T00:00:00Z"},
		"no interval":        {"2026-01-01T00:00:59.999Z", time.Second, 0, "2026-01-01T00:00:58.999Z"},
		"before the epoch":   {"1969-12-31T23:59:59Z", 0, time.Minute, "1969-12-31T23:59:00Z"},
		"other time zone":    {"2026-01-01T02:00:59+02:00", 0, time.Minute, "2026-01-01T00:00:00Z"},
		"offset < interval ": {"2026-01-01T00:01:10Z", 30 * time.Second, time.Minute, "2026-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, at(c.want).UnixMilli(), Align(at(c.now), c.offset, c.interval).UnixMilli())
		})
	}
}

func TestStepsAreAllMultiplesInside(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		start := rapid.Int64Range(-100_000, 100_000).Draw(rt, "start")
		length := rapid.Int64Range(0, 10_000).Draw(rt, "length")
		step := rapid.Int64Range(1, 3000).Draw(rt, "step")
		var want []int64
		for ms := start; ms <= start+length; ms++ {
			if ms%step == 0 {
				want = append(want, ms)
			}
		}
		first, last, n, err := Window{time.UnixMilli(start), time.UnixMilli(start + length), time.Duration(step) * time.Millisecond}.Steps()
		require.NoError(rt, err)
		require.EqualValues(rt, len(want), n)
		if n > 0 {
			require.Equal(rt, want[0], first.UnixMilli())
			require.Equal(rt, want[n-1], last.UnixMilli())
		}
	})
}

func TestStepsRefuses(t *testing.T) {
	now := time.UnixMilli(1000)
	for _, w := range []Window{
		{now, now, 0},
		{now, now, -time.Second},
		{now, now, time.Microsecond},
		{now, now.Add(-1), time.Second},
	} {
		_, _, _, err := w.Steps()
		require.Error(t, err)
	}
}
