package alertmanager

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a manager and a notifier in fake time.
type rig struct {
	t    *testing.T
	m    *incidents.Manager
	n    *Notifier
	reg  *prometheus.Registry
	stop func()
}

const interval = 15 * time.Second

// start makes a rig; change may alter the options.
func start(t *testing.T, m *incidents.Manager, change func(*Options), targets ...Target) *rig {
	t.Helper()
	if m == nil {
		m = incidents.NewManager(incidents.Options{Interval: interval, External: map[string]string{"cluster": "alpha"}})
	}
	reg := prometheus.NewRegistry()
	o := Options{
		Source: m, Targets: targets, Registerer: reg, Rand: func() float64 { return 0.5 },
		Renderer: &incidents.Renderer{ExternalURL: "http://collwatch"},
	}
	if change != nil {
		change(&o)
	}
	n, err := New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { require.NoError(t, n.Run(ctx)) })
	r := &rig{t: t, m: m, n: n, reg: reg, stop: sync.OnceFunc(func() { cancel(); wg.Wait() })}
	t.Cleanup(r.stop)
	return r
}

// tick evaluates n times, an interval apart.
func (r *rig) tick(n int, vs ...diagnosis.Verdict) {
	for range n {
		time.Sleep(interval)
		r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
		r.n.Sync()
		synctest.Wait()
	}
}

func down(node string) diagnosis.Verdict {
	return diagnosis.Verdict{
		Class: diagnosis.LinkDown, Reason: "port_not_active", Severity: diagnosis.Warning, Owner: diagnosis.Infrastructure,
		Job: "48213", Scope: "job", TieSet: 1, Hosts: []string{node},
		Suspects: []diagnosis.Suspect{{Kind: "nic", Node: node, Device: "mlx5_3"}},
	}
}

func TestFiresRepeatsAndResolves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, f.target("am"))
		r.tick(1, down("a"))
		require.Zero(t, f.count(), "pending is never sent")
		r.tick(1, down("a"))
		require.Equal(t, 1, f.count())
		first := f.posts[len(f.posts)-1].alerts[0]
		require.Equal(t, time.Now().Add(4*time.Minute).UnixMilli(), time.Time(first.EndsAt).UnixMilli())
		require.Equal(t, "http://collwatch/incidents/"+r.m.Live()[0].ID, first.GeneratorURL.String())

		r.tick(40, down("a")) // ten minutes
		require.Equal(t, 11, f.count(), "repeated once a minute")
		require.Len(t, f.firing(), 1)

		r.tick(5)
		require.Empty(t, f.firing(), "resolved at once")
		n := f.count()
		r.tick(4 * 40)
		repeats := f.count() - n
		require.InDelta(t, 15, repeats, 1, "a resolve is repeated for 15 minutes")
		for _, p := range f.posts {
			for _, a := range p.alerts {
				require.Equal(t, first.StartsAt, a.StartsAt)
			}
		}
	})
}

func TestSeverityRiseIsOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, f.target("am"))
		v := down("a")
		r.tick(2, v)
		v.Severity = diagnosis.Critical
		r.tick(1, v)
		last := f.posts[len(f.posts)-1].alerts
		require.Len(t, last, 2)
		require.Equal(t, "critical", last[0].Labels["severity"], "the new one first")
		require.Equal(t, "warning", last[1].Labels["severity"])
		require.False(t, time.Time(last[1].EndsAt).After(time.Now()))
		require.Len(t, f.firing(), 1)
		r.tick(5)
		require.Empty(t, f.firing())
	})
}

func TestDeadMemberDelaysNobodyAndGetsAllLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFake(t, time.Now), newFake(t, time.Now)
		b.down = true
		r := start(t, nil, nil, b.target("b"), a.target("a"))
		v := down("x")
		r.tick(2, v)
		require.Len(t, a.firing(), 1)
		r.tick(2, v, down("y"))
		r.tick(36, down("y")) // x recovers while b is down
		require.Equal(t, 3.0, testutil.ToFloat64(r.n.metrics.queue.WithLabelValues("b")), "x, y and the alert about b itself wait")
		require.Contains(t, r.n.Conditions()[0].Text, "connection refused")
		b.set(func() { b.down = false })
		r.tick(5, down("y"))
		require.Equal(t, a.firing(), b.firing())
		require.Empty(t, r.n.Conditions())
		for _, p := range b.posts {
			for _, al := range p.alerts {
				if al.Labels["suspect_node"] == "x" {
					require.False(t, time.Time(al.EndsAt).After(time.Now()), "only the newest state is delivered")
				}
			}
		}
	})
}

func TestRestartPostsAtOnceAndKeepsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, f.target("am"))
		r.tick(8, down("a"))
		data, err := r.m.Save()
		require.NoError(t, err)
		r.stop()
		require.Len(t, f.firing(), 1, "a shutdown resolves nothing")

		time.Sleep(2 * time.Minute)
		m := incidents.NewManager(incidents.Options{Interval: interval})
		require.NoError(t, m.Restore(data))
		require.NotEmpty(t, m.Live()[0].Deliveries["alertmanager/am"])
		n := f.count()
		r = start(t, m, nil, f.target("am"))
		synctest.Wait()
		require.Equal(t, n+1, f.count(), "restored incidents are posted before the first tick")
		first, last := f.posts[0].alerts[0], f.posts[len(f.posts)-1].alerts[0]
		require.Equal(t, first.StartsAt, last.StartsAt)
		require.Equal(t, first.Labels, last.Labels)
		r.tick(1)
		require.Len(t, f.firing(), 1)
		r.tick(6)
		require.Empty(t, f.firing())
	})
}

func TestDrainAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		f.down = true
		r := start(t, nil, nil, f.target("am"))
		r.tick(3, down("a"))
		f.set(func() { f.down = false })
		r.stop() // in the middle of a back-off
		require.Len(t, f.firing(), 1)
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, Target{
			Name: "slow", URL: "http://slow", Timeout: time.Hour,
			NewTransport: func(DialFunc) (http.RoundTripper, error) { return hang{}, nil },
		}, f.target("am"))
		r.tick(2, down("a"))
		begin := time.Now()
		r.stop()
		require.LessOrEqual(t, time.Since(begin), 10*time.Second)
	})
}

// hang answers when the request is given up.
type hang struct{}

func (hang) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestClockOfTheMemberCounts(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, func() time.Time { return time.Now().Add(skew) })
			r := start(t, nil, nil, f.target("am"))
			r.tick(4, down("a"))
			require.Len(t, f.firing(), 1)
			require.Equal(t, "clock", r.n.Conditions()[0].Reason)
			r.tick(5)
			require.Empty(t, f.firing())
		})
	}
}

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

func TestManyAlertsGoInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		m := incidents.NewManager(incidents.Options{Cap: 1000, FoldAbove: 1000})
		r := start(t, m, nil, f.target("am"))
		var vs []diagnosis.Verdict
		for i := range 300 {
			vs = append(vs, down(fmt.Sprintf("n%03d", i)))
		}
		r.tick(2, vs...)
		require.Len(t, f.firing(), 300)
		for _, p := range f.posts {
			require.LessOrEqual(t, len(p.alerts), 64)
		}
		require.Len(t, f.posts, 5)
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

func TestTargetsAreChecked(t *testing.T) {
	m := incidents.NewManager(incidents.Options{})
	for _, u := range []string{"", "localhost:9093", "ftp://x", "http://", "http://user:secret@[::1"} {
		_, err := New(Options{Source: m, Targets: []Target{{URL: u}}})
		require.Error(t, err, u)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := New(Options{Source: m, Targets: []Target{{URL: "http://a"}, {URL: "http://a/x"}}})
	require.ErrorContains(t, err, "two targets")
}
