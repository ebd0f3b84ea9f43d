package score

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/sim"
)

// TestCasesDiffer keeps the variations of a scenario from being the same run.
func TestCasesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases(8) {
		require.False(t, seen[c.String()], c.String())
		seen[c.String()] = true
		require.GreaterOrEqual(t, c.Params.Seed, uint64(FirstSeed))
	}
	require.NotEmpty(t, Days(2))
	for _, c := range Ablations(1, 0) {
		require.Contains(t, Telemetries(), c.Telemetry)
	}
}

// TestShortScore is the measurement in small: faults of each family and their
// look-alikes, at a place drawn from a fixed seed. The whole one is `make
// score`. Whatever else is found or missed, no innocent component may be named
// and a quiet cluster must stay quiet.
func TestShortScore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute or more")
	}
	ids := []string{"S01", "S03", "S06", "S07-a", "S13", "S15", "S16", "S17", "S19", "S22", "N01", "N03", "N04", "N06", "N07", "S01-a", "S16-a", "S17-a", "I01", "I01-a", "I03"}
	var cases []Case
	for _, id := range ids {
		s, ok := sim.Find(id)
		require.True(t, ok, id)
		cases = append(cases, Case{Scenario: s, Params: sim.Params{Seed: FirstSeed + 500, Elsewhere: true}})
	}
	var tally Tally
	var said []string
	require.NoError(t, PlayAll(t.Context(), cases, 2, func(o *Outcome) error {
		if v := tally.Add(o); !v.OK() {
			said = append(said, fmt.Sprintf("%s: expected %s; got %s", v.Name, v.Expected, v.Got()))
		}
		return nil
	}))
	losses := strings.Join(said, "\n")
	for i := range tally.Verdicts {
		v := &tally.Verdicts[i]
		require.Empty(t, v.Wrong, "%s names an innocent component\n%s", v.Name, losses)
		if v.Quiet {
			require.Empty(t, v.False, "%s alerts though nothing is wrong\n%s", v.Name, losses)
		}
	}
	require.GreaterOrEqual(t, shareOf(tally.where(faults), found).Value(), 0.9, losses)
	require.GreaterOrEqual(t, shareOf(tally.where(func(v *Verdict) bool { return v.Nameable }), top1).Value(), 0.9, losses)
}
