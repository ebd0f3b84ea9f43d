package alertmanager

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
)

func TestReadbackFindsWhatWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, f.target("am"))
		r.tick(3, down("a"))
		f.set(func() { clear(f.alerts) }) // it restarted
		r.tick(13, down("a"))
		require.Len(t, f.firing(), 1)
		require.Empty(t, r.n.Conditions())

		f.set(func() { f.lose = true; clear(f.alerts) }) // a limit per alert name
		r.tick(40, down("a"))
		require.Equal(t, 1.0, testutil.ToFloat64(r.n.metrics.missing.WithLabelValues("am")))
		require.Equal(t, "losing_alerts", r.n.Conditions()[0].Reason)
		f.set(func() { f.lose = false })
		r.tick(30, down("a"))
		require.Empty(t, r.n.Conditions())
		require.Zero(t, testutil.ToFloat64(r.n.metrics.missing.WithLabelValues("am")))
	})
}

func TestReadbackDoesNotWaitForTheRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, func(o *Options) { o.ResendDelay = time.Hour }, f.target("am"))
		r.tick(3, down("a"))
		f.set(func() { clear(f.alerts) })
		r.tick(13, down("a"))
		require.Len(t, f.firing(), 1)
		require.Equal(t, 2, f.count())
	})
}

func TestHealthyMembersHearOfSickOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFake(t, time.Now), newFake(t, time.Now)
		b.down = true
		r := start(t, nil, func(o *Options) { o.External = map[string]string{"cluster": "alpha"} }, a.target("a"), b.target("b"))
		r.tick(3, down("x"))
		r.tick(30, down("x"))
		var meta map[string]string
		for _, l := range a.labels() {
			if l["alertname"] == "CollwatchDeliveryFailing" {
				meta = l
			}
		}
		require.Equal(t, map[string]string{
			"alertname": "CollwatchDeliveryFailing", "class": "delivery_failing", "severity": "warning",
			"target": "b", "source": "collwatch", "cluster": "alpha",
		}, meta)
	})
}

func TestHeartbeatNeedsEvaluations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, func(o *Options) { o.Heartbeat = true }, f.target("am"))
		beating := func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, a := range f.alerts {
				if a.Labels["alertname"] == "CollwatchHeartbeat" {
					return time.Time(a.EndsAt).After(time.Now())
				}
			}
			return false
		}
		r.tick(30)
		require.True(t, beating())
		time.Sleep(5 * time.Minute) // the engine hangs
		require.False(t, beating())
		r.tick(1)
		require.True(t, beating())
	})
}

func TestBlindnessIsAnAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		var since time.Time
		r := start(t, nil, func(o *Options) {
			o.Blind = func() (time.Time, string) { return since, "prometheus: source_down" }
		}, f.target("am"))
		firing := func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, a := range f.alerts {
				if a.Labels["alertname"] == "CollwatchBlind" {
					require.Contains(t, a.Annotations["summary"], "prometheus: source_down")
					return time.Time(a.EndsAt).After(time.Now())
				}
			}
			return false
		}
		r.tick(3)
		require.False(t, firing())
		since = time.Now()
		r.tick(20)
		require.True(t, firing())
		since = time.Time{}
		r.tick(20)
		require.False(t, firing(), "sight is back: the alert lapses as the other ones about collwatch do")
	})
}

func TestTwoDaemonsSendTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r1, r2 := start(t, nil, nil, f.target("am")), start(t, nil, nil, f.target("am"))
		for range 4 {
			time.Sleep(interval)
			for _, r := range []*rig{r1, r2} {
				r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: []diagnosis.Verdict{down("a")}})
				r.n.Sync()
			}
			synctest.Wait()
		}
		require.Len(t, f.firing(), 1)
		require.Equal(t, r1.m.Live()[0].ID, r2.m.Live()[0].ID)
	})
}

// TestAReplicaThatIsBlindHasTheLastWord: one daemon sees the end, the other
// cannot see anything and holds. People are told of one return at most, not of
// one a minute.
func TestAReplicaThatIsBlindHasTheLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r1, r2 := start(t, nil, nil, f.target("am")), start(t, nil, nil, f.target("am"))
		turns, last := 0, false
		tick := func(n int, whole bool, vs ...diagnosis.Verdict) {
			for range n {
				time.Sleep(interval)
				r1.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
				r2.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: whole, Verdicts: vs})
				r1.n.Sync()
				r2.n.Sync()
				synctest.Wait()
				if now := len(f.firing()) > 0; now != last {
					turns, last = turns+1, now
				}
			}
		}
		tick(4, true, down("a"))
		require.Equal(t, 1, turns)
		tick(40*4, false)
		require.True(t, last, "who cannot see the end keeps the alert")
		require.LessOrEqual(t, turns, 3, "it flaps")
		tick(10, true)
		require.False(t, last, "both see the end")
		require.LessOrEqual(t, turns, 4)
	})
}

func TestMetricsAreClean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, f.target("am"))
		r.tick(2, down("a"))
		problems, err := testutil.GatherAndLint(r.reg)
		require.NoError(t, err)
		require.Empty(t, problems)
		n, err := testutil.GatherAndCount(r.reg, "collwatch_alertmanager_failed_total")
		require.NoError(t, err)
		require.Equal(t, len(failures()), n, "all reasons exist before the first failure")
	})
}
