package e2e

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
	"github.com/collwatch/collwatch/internal/realserver"
)

// TestFiveThousandVerdictsReachPeopleAsFew: everything fails at once. Whether
// the verdicts share a switch or nothing at all, people read a few alerts and one
// message, the rest is counted aloud, and all ends when it is over.
func TestFiveThousandVerdictsReachPeopleAsFew(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	needServers(t)
	for name, c := range map[string]struct {
		of     func(i int, v *diagnosis.Verdict)
		alerts int // at most
	}{
		"below four leaves": {func(i int, v *diagnosis.Verdict) { v.Suspects[0].Switch = fmt.Sprintf("leaf-%d", i%4) }, 4},
		"with nothing in common": {func(i int, v *diagnosis.Verdict) {
			v.Job, v.Class = fmt.Sprint(i), []diagnosis.Class{diagnosis.LinkDown, diagnosis.GPUFault, diagnosis.PCIeDegraded}[i%3]
		}, 101},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := lastmile.StartPager(t), fakeslack.Start(t)
			s.Pace(0)
			am := realserver.StartAlertmanager(t, p.Config(interval, ""))
			r := lastmile.Start(t, lastmile.Options{
				Targets: []string{am.URL}, Slack: s, Incidents: incidents.Options{FleetSize: func() int { return 1000 }},
			}, nil)
			var vs []diagnosis.Verdict
			for i := range 5000 {
				v := sick(fmt.Sprintf("gpu-%04d", i/8))
				v.Suspects[0].Device = fmt.Sprintf("mlx5_%d", i%8)
				c.of(i, &v)
				vs = append(vs, v)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			at := began.Add(-time.Hour) // the hour passes in a moment
			tick := func(vs ...diagnosis.Verdict) {
				at = at.Add(15 * time.Second)
				r.Tick(at, vs...)
			}
			for range 3 {
				tick(vs...)
			}
			require.Less(t, time.Since(began)/3, 15*time.Second, "evaluations keep their pace")
			runtime.GC()
			runtime.ReadMemStats(&after)
			require.Less(t, float64(after.HeapAlloc), float64(before.HeapAlloc)+300e6)
			n := len(r.Open())
			require.NotZero(t, n)
			require.LessOrEqual(t, n, c.alerts)
			soon(t, "Alertmanager has all of them", func() bool { return len(firing(t, am)) == n })
			soon(t, "people were told each", func() bool { return len(p.Lines()) == n })
			soon(t, "Slack shows few", func() bool { m := topLevel(s); return len(m) > 0 && (n <= 20) == (len(m) == n) })
			require.LessOrEqual(t, len(topLevel(s)), 21)
			for range 120 {
				tick()
			}
			soon(t, "all is over", func() bool { return len(r.Open()) == 0 && len(firing(t, am)) == 0 })
			soon(t, "people were told each end", func() bool { return len(p.Count("resolved")) == n })
			for status, counts := range map[string]map[string]int{"firing": p.Count("firing"), "resolved": p.Count("resolved")} {
				for fp, times := range counts {
					require.Equal(t, 1, times, "%s %s", status, fp)
				}
			}
			soon(t, "Slack says so", func() bool {
				return !slices.ContainsFunc(topLevel(s), func(m fakeslack.Message) bool { return m.Color != green })
			})
		})
	}
}
