package alertmanager

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// TestClockSteps lets the clock of our host jump by an hour while an alert fires
// and while the member is down. The member must never take a repetition for an
// end, and hear of what is new as soon as it is back.
func TestClockSteps(t *testing.T) {
	for name, step := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, time.Now)
				var offset atomic.Int64
				now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
				m := incidents.NewManager(incidents.Options{Interval: interval})
				r := start(t, m, func(o *Options) { o.Now = now }, f.target("am"))
				tick := func(n, firing int, vs ...diagnosis.Verdict) {
					t.Helper()
					for range n {
						time.Sleep(interval)
						m.Apply(&diagnosis.Result{Time: now(), Whole: true, Verdicts: vs})
						r.n.Sync()
						synctest.Wait()
						if firing >= 0 {
							require.Len(t, withoutMeta(f), firing)
						}
					}
				}
				tick(2, -1, down("a"))
				for _, o := range []time.Duration{step, 0, step} {
					offset.Store(int64(o))
					tick(10, 1, down("a"))
				}
				f.set(func() { f.down = true })
				offset.Store(0)
				tick(10, -1, down("a"), down("b"))
				offset.Store(int64(-time.Hour)) // in the middle of a back-off
				f.set(func() { f.down = false })
				tick(2, -1, down("a"), down("b"))
				tick(4, 2, down("a"), down("b"))
				tick(8, -1)
				tick(10, 0)
				offset.Store(0)
				tick(80, 0) // resolves are repeated with times of another clock
			})
		})
	}
}

// withoutMeta are the alerts about faults that fire.
func withoutMeta(f *fake) (out []string) {
	for _, l := range f.labels() {
		if l["class"] != "delivery_failing" {
			out = append(out, l["suspect_node"])
		}
	}
	return out
}

func TestSlowMemberDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, well := newFake(t, time.Now), newFake(t, time.Now)
		a := slow.target("slow")
		a.NewTransport = late(slow, 8*time.Second)
		r := start(t, nil, nil, a, well.target("well"))
		r.tick(2, down("x"))
		require.Len(t, withoutMeta(well), 1, "at once")
		time.Sleep(20 * time.Second)
		require.Len(t, withoutMeta(slow), 1)
		for range 10 { // what changes meanwhile is not queued up
			r.tick(1, down("x"), down("y"))
		}
		r.tick(6, down("y"))
		require.Equal(t, []string{"y"}, withoutMeta(well))
		time.Sleep(30 * time.Second)
		require.Equal(t, []string{"y"}, withoutMeta(slow))
	})
}

func TestDownForTenMinutesThenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, f.target("am"))
		r.tick(4, down("before"), down("through"))
		f.set(func() { f.down = true })
		r.tick(20, down("through"), down("new"), down("short"))
		r.tick(20, down("through"), down("new")) // ten minutes
		n := f.count()
		f.set(func() { f.down = false })
		r.tick(5, down("through"), down("new"))
		require.ElementsMatch(t, []string{"through", "new"}, withoutMeta(f))
		require.LessOrEqual(t, f.count()-n, 8, "the newest state of each, not a backlog")
	})
}
