package score

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/signals"
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
		c := Case{Scenario: s, Params: sim.Params{Seed: 1}}
		if v, err := strconv.ParseUint(os.Getenv("COLLWATCH_SEED"), 10, 64); err == nil {
			c.Params.Seed, c.Params.Elsewhere = v, true
		}
		c.Params.Severity, _ = strconv.ParseFloat(os.Getenv("COLLWATCH_SEVERITY"), 64)
		if at, err := strconv.Atoi(os.Getenv("COLLWATCH_AT")); err == nil {
			c.Watch = func(tick engine.Tick) {
				if int(tick.At.Unix()-1767225600-1800) == at {
					show(tick)
				}
			}
		}
		st := stages{}
		if os.Getenv("COLLWATCH_STAGES") != "" {
			c.Watch = st.watch
		}
		o, err := Play(t.Context(), c)
		require.NoError(t, err)
		v := Judge(o)
		fmt.Printf("%-6s ok=%v %s | %s | wall %s ticks %d failed %d\n", s.ID, v.OK(), s.Title, v.Got(), o.Wall, o.Ticks, o.Failed)
		st.print(o)
		for _, e := range o.Events {
			i := e.Incident
			fmt.Printf("    %6.0fs %-7s %s/%s sev %s conf %s job %q tie %d suspects %+v cand %d thread %s resolve %s\n", e.Time.Sub(o.Truth.Onset).Seconds(), e.Kind, i.Verdict.Class, i.Verdict.Reason, i.Severity, i.Verdict.Confidence, i.Verdict.Job, i.Verdict.TieSet, i.NamedSuspects(), len(i.Verdict.Candidates), i.Thread, i.ResolveReason)
		}
	}
}

// stages notes when each detector first spoke, and when each class was first
// concluded: where the time to an alert goes.
type stages map[string]time.Time

func (st stages) watch(t engine.Tick) {
	note := func(key string) {
		if _, ok := st[key]; !ok {
			st[key] = t.At
		}
	}
	for _, f := range t.Report.Findings {
		note("  finding " + f.Detector + " " + f.Code)
	}
	for _, v := range t.Result.Verdicts {
		note(" verdict " + string(v.Class) + "/" + v.Reason)
	}
}

func (st stages) print(o *Outcome) {
	for _, key := range slices.SortedFunc(maps.Keys(st), func(a, b string) int { return st[a].Compare(st[b]) }) {
		if after := st[key].Sub(o.Truth.Onset); after >= 0 {
			fmt.Printf("    %6.0fs%s\n", after.Seconds(), key)
		}
	}
}

// show prints what one tick found.
func show(t engine.Tick) {
	for i, f := range t.Report.Findings {
		if i < 60 {
			fmt.Printf("  finding %s %d %s %s %s value %.4g expected %.4g score %.1f windows %d job %s\n", f.Detector, f.Pattern, f.Signal, f.Entity, f.Code, f.Value, f.Expected, f.Score, f.Windows, f.Job)
		}
	}
	for _, p := range t.Report.Progress {
		fmt.Printf("  progress %s stalled %v since %s phase %d clocks %+v\n", p.Job, p.Stalled, p.Since, p.Phase, p.Clocks)
		n := map[string]int{}
		for _, m := range p.Members {
			n[m.State.String()]++
		}
		fmt.Printf("  members %v\n", n)
	}
	for _, v := range t.Result.Verdicts {
		fmt.Printf("  verdict %s/%s %s %+v tie %d\n", v.Class, v.Reason, v.Severity, v.Suspects, v.TieSet)
	}
	for _, h := range t.Result.Holds {
		fmt.Printf("  hold %+v\n", h)
	}
	for id, f := range t.Snapshot.Frames {
		if f.Len() > 0 || f != nil && f.Err != nil {
			fmt.Printf("  frame %s rows %d err %v\n", signals.ID(id), f.Len(), f.Err)
		}
	}
	for _, g := range t.Snapshot.Gaps {
		fmt.Printf("  gap %+v\n", g)
	}
	for _, j := range t.Snapshot.Jobs {
		fmt.Printf("  job %s hosts %d ended %v groups %d\n", j.ID, len(j.Hosts), j.Ended, len(t.Snapshot.Groups))
	}
}
