package promapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCutCoversEachStepOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		step := rapid.Int64Range(1, 5000).Draw(rt, "step")
		first := rapid.Int64Range(-50, 50).Draw(rt, "first") * step
		last := first + rapid.Int64Range(0, 200).Draw(rt, "points")*step
		length := step * rapid.Int64Range(1, 50).Draw(rt, "steps") // and something
		length += rapid.Int64Range(0, step).Draw(rt, "odd")
		next := first
		for _, s := range cut(first, last, step, length) {
			require.Equal(rt, next, s.first)
			require.LessOrEqual(rt, s.first, s.last)
			require.Equal(rt, floorDiv(s.first, length), floorDiv(s.last, length), "no slice crosses a boundary")
			next = s.last + step
		}
		require.Equal(rt, last+step, next)
	})
}

func TestStepsAreExact(t *testing.T) {
	require.Equal(t, "15", formatStep(15*time.Second))
	require.Equal(t, "8001ms", formatStep(8001*time.Millisecond))
}

func TestSliceLengthKeepsPointsInTheLimit(t *testing.T) {
	c := &Client{cfg: Config{Limits: Limits{}.withDefaults()}}
	hours := 2 * time.Hour.Milliseconds()
	require.Equal(t, hours, c.sliceLength(15*time.Second))
	require.Equal(t, hours/2, c.sliceLength(500*time.Millisecond))
	require.Equal(t, 3*hours, c.sliceLength(6*time.Hour), "a step longer than a slice")
}

func TestRangeRefusesBadWindows(t *testing.T) {
	c, err := New(Config{URL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	require.Equal(t, ClassConfig, ClassOf(c.Range(t.Context(), "m", Window{Step: -1}, new(Result))))
	require.NoError(t, c.Range(t.Context(), "m", Window{Start: time.Unix(1, 0), End: time.Unix(2, 0), Step: time.Minute}, new(Result)))
}
