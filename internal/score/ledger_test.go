package score

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/sim"
)

func TestLedgerGoesOnWhereItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	s, ok := sim.Find("S01")
	require.True(t, ok)
	c := Case{Scenario: s, Params: sim.Params{Seed: FirstSeed}}
	r := Record{Verdict: Verdict{Name: c.String(), ID: "S01", Found: true, Latency: 30 * time.Second}, Wall: time.Second, Rules: map[string]RuleSaid{"x": {Found: true, Alarms: 2}}}

	l, err := OpenLedger(path, "a1")
	require.NoError(t, err)
	require.NoError(t, l.Add(r))
	require.NoError(t, l.Close())
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"Code":"a1","Rec`) // killed while it wrote
	require.NoError(t, err)
	require.NoError(t, f.Close())

	l, err = OpenLedger(path, "a1")
	require.NoError(t, err)
	got, ok := l.Done(c)
	require.True(t, ok)
	require.Equal(t, r, got)
	require.NoError(t, l.Close())

	l, err = OpenLedger(path, "b2")
	require.NoError(t, err)
	_, ok = l.Done(c)
	require.False(t, ok, "measured on other code")
	require.NoError(t, l.Close())
}
