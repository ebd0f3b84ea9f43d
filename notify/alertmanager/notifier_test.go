package alertmanager

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

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
