//go:build long

package e2e

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
	"github.com/collwatch/collwatch/internal/realserver"
)

// hides is the sentence by which a summary says what it stands for.
var hides = regexp.MustCompile(`(\d+) incidents are not sent because more than 100 are open: (.*)`)

// TestLongFiveThousandVerdictsReachPeopleAsFew: everything fails at once. Whether
// the verdicts share a switch, nothing at all, or are not even folded, people
// read a few alerts and one message, the rest is counted aloud, and all ends when
// it is over.
func TestLongFiveThousandVerdictsReachPeopleAsFew(t *testing.T) {
	needServers(t)
	for name, c := range map[string]struct {
		of     func(i int, v *diagnosis.Verdict)
		fold   int // from how many of a kind on, 0 is the default
		alerts int // at most
	}{
		"below four leaves":      {func(i int, v *diagnosis.Verdict) { v.Suspects[0].Switch = fmt.Sprintf("leaf-%d", i%4) }, 0, 4},
		"with nothing in common": {apart, 0, 3},
		"above the cap":          {apart, 10_000, 101},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := lastmile.StartPager(t), fakeslack.Start(t)
			s.Pace(0)
			am := realserver.StartAlertmanager(t, p.Config(interval, ""))
			r := lastmile.Start(t, lastmile.Options{
				Targets: []string{am.URL}, Slack: s, Incidents: incidents.Options{FleetSize: func() int { return 1000 }, FoldAbove: c.fold},
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
			if c.fold > 0 {
				summed(t, am, s, n)
			}
			soon(t, "Slack shows few", func() bool { m := topLevel(s); return len(m) > 0 && (n <= 20) == (len(m) == n) })
			require.LessOrEqual(t, len(topLevel(s)), 21)
			for i := 0; i < 120 && len(r.Open()) > 0; i++ {
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

// apart gives each verdict a component and a job of its own.
func apart(i int, v *diagnosis.Verdict) {
	v.Job, v.Class = fmt.Sprint(i), []diagnosis.Class{diagnosis.LinkDown, diagnosis.GPUFault, diagnosis.NodeRestart}[i%3]
}

// summed holds the summary of the cap to the truth: what it counts and what was
// told by itself are all that happened, in Alertmanager as in Slack.
func summed(t *testing.T, am *realserver.Server, s *fakeslack.Server, n int) {
	t.Helper()
	r := rig{t: t, alertmanager: am}
	told, hidden := 0, 0
	for _, a := range r.alerts() {
		if a.Labels["class"] != string(incidents.Storm) {
			told++
			continue
		}
		m := hides.FindStringSubmatch(a.Annotations["evidence"])
		require.NotNil(t, m, a.Annotations["evidence"])
		hidden, _ = strconv.Atoi(m[1])
		sum := 0
		for part := range strings.SplitSeq(m[2], ", ") {
			k, _ := strconv.Atoi(strings.Fields(part)[0])
			sum += k
		}
		require.Equal(t, hidden, sum, "by class: %s", m[2])
	}
	require.Equal(t, n-1, told)
	require.Equal(t, 5000, told+hidden, "nothing is dropped in silence")
	soon(t, "Slack counts them", func() bool {
		return slices.ContainsFunc(topLevel(s), func(m fakeslack.Message) bool {
			return strings.Contains(m.Text, fmt.Sprintf("%d open", n)) && strings.Contains(m.Body, "Many incidents at once")
		})
	})
}
