package score

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/sim"
)

// TestDeadLeafReachesPeopleAsOne follows scenario B01 to the last receivers: a
// leaf dies under 256 hosts and twelve jobs, and some hosts lose their exporters
// with it. One fault is told, no host is named, nobody is told to cordon, the
// missing exporters are one notice, and each of them ends once.
func TestDeadLeafReachesPeopleAsOne(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	s, ok := sim.Find("B01")
	require.True(t, ok)
	p, slack := lastmile.StartPager(t), fakeslack.Start(t)
	am := realserver.StartAlertmanager(t, p.Config(300*time.Millisecond, ""))
	r := lastmile.Start(t, lastmile.Options{
		Targets: []string{am.URL}, Slack: slack,
		Incidents: incidents.Options{Interval: Interval, FleetSize: func() int { return 256 }},
	}, nil)

	most := 0 // components that were unwell at once
	var clock shifted
	out, err := Play(t.Context(), Case{Scenario: s, Params: sim.Params{Seed: 1}, Watch: func(k engine.Tick) {
		require.NoError(t, k.Err)
		most = max(most, len(k.Report.Findings))
		r.Apply(clock.shift(k.At, *k.Result))
	}})
	require.NoError(t, err)
	require.Greater(t, most, 256, "all ports of the leaf are seen")
	require.Less(t, out.Wall/time.Duration(out.Ticks), Interval, "evaluations keep their pace")

	told := func(status, class string) (n int) {
		for _, l := range p.Lines() {
			if f := strings.Fields(l); f[0] == status && f[2] == class {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool {
		return told("firing", "telemetry_gap") == 1 && told("firing", "rail_degraded")+told("firing", "leaf_degraded") == 1
	}, time.Minute, 50*time.Millisecond, "%v", p.Lines())
	open := r.Open()
	require.LessOrEqual(t, len(open), 2+12, "at most one more for each job: %v", p.Lines())
	classes := map[string]int{}
	for _, inc := range open {
		classes[string(inc.Verdict.Class)+" "+inc.Verdict.Job]++
		require.NotContains(t, inc.Labels, "suspect_node", "no host is named")
		next, command := inc.Advice()
		require.NotRegexp(t, `(?i)cordon (the|gpu)|drain`, next+command)
		if inc.Severity == diagnosis.Critical {
			require.Contains(t, next, "no cordon is recommended")
		}
	}
	for class, n := range classes {
		require.Equal(t, 1, n, class)
	}
	top := func() (out []fakeslack.Message) {
		return slices.DeleteFunc(slack.Messages(), func(m fakeslack.Message) bool { return m.Thread != "" })
	}
	require.Eventually(t, func() bool { return len(top()) == len(open) }, time.Minute, 50*time.Millisecond)
	for _, m := range top() {
		require.NotRegexp(t, `suspect\W+gpu-\d`, m.Body)
	}

	// All is well again for a while.
	for range 50 {
		r.Apply(clock.after(Interval))
	}
	require.Empty(t, r.Open())
	require.Eventually(t, func() bool {
		return len(p.Count("resolved")) == len(open) && !slices.ContainsFunc(top(), func(m fakeslack.Message) bool {
			return !strings.Contains(m.Text, "Resolved")
		})
	}, time.Minute, 50*time.Millisecond, "%v\n%s", p.Lines(), slack.Transcript())
	time.Sleep(time.Second) // what is doubled has shown by now
	require.Len(t, p.Lines(), 2*len(open), "one begin and one end for each: %v", p.Lines())
	require.Len(t, top(), len(open), slack.Transcript())
}

// shifted moves the time of a simulation into the last hours, where servers
// take it for true.
type shifted struct {
	by   time.Duration
	last time.Time
}

// shift returns the result of a tick at its shifted time.
func (c *shifted) shift(at time.Time, res diagnosis.Result) *diagnosis.Result {
	if c.last.IsZero() {
		c.by = time.Now().Add(-4 * time.Hour).Sub(at)
	}
	c.last = at.Add(c.by)
	res.Time = c.last
	res.Verdicts = slices.Clone(res.Verdicts)
	for i := range res.Verdicts {
		res.Verdicts[i].StartedAt = res.Verdicts[i].StartedAt.Add(c.by)
	}
	return &res
}

// after returns the result of the next tick, at which nothing is wrong.
func (c *shifted) after(interval time.Duration) *diagnosis.Result {
	c.last = c.last.Add(interval)
	return &diagnosis.Result{Time: c.last, Whole: true}
}
