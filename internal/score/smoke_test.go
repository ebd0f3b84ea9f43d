package score

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/sim"
)

// TestSmoke prints what happens in the scenarios named by COLLWATCH_SCENARIO.
func TestSmoke(t *testing.T) {
	ids := os.Getenv("COLLWATCH_SCENARIO")
	if ids == "" {
		t.Skip("no scenario asked for")
	}
	for _, s := range sim.Scenarios() {
		if ids != "all" && !strings.Contains(" "+ids+" ", " "+s.ID+" ") {
			continue
		}
		o, err := Play(t.Context(), Case{Scenario: s, Params: sim.Params{Seed: 1}})
		require.NoError(t, err)
		v := Judge(o)
		fmt.Printf("%-6s ok=%v %s | %s | wall %s ticks %d failed %d\n", s.ID, v.OK(), s.Title, v.Got(), o.Wall, o.Ticks, o.Failed)
		for _, e := range o.Events {
			i := e.Incident
			fmt.Printf("    %6.0fs %-7s %s/%s sev %s conf %s job %q tie %d suspects %+v cand %d\n", e.Time.Sub(o.Truth.Onset).Seconds(), e.Kind, i.Verdict.Class, i.Verdict.Reason, i.Severity, i.Verdict.Confidence, i.Verdict.Job, i.Verdict.TieSet, i.NamedSuspects(), len(i.Verdict.Candidates))
		}
	}
}
