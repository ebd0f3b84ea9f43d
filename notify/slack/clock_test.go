package slack

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

// TestClockSteps lets the clock jump by an hour right before a message is due,
// after it and before its end: nothing waits for an hour, nothing comes twice.
func TestClockSteps(t *testing.T) {
	for name, step := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var offset atomic.Int64
				now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
				r := newRig(t, func(o *Options) { o.Now = now })
				tick := func(n int, vs ...diagnosis.Verdict) {
					for range n {
						r.m.Apply(&diagnosis.Result{Time: now(), Whole: true, Verdicts: vs})
						r.n.Sync()
						r.sup.mu.Lock()
						r.sup.state, r.sup.read = alertmanager.State{}, now()
						r.sup.mu.Unlock()
						time.Sleep(interval)
						synctest.Wait()
					}
				}
				tick(1, down("gpu-007"))
				r.m.Apply(&diagnosis.Result{Time: now(), Whole: true, Verdicts: []diagnosis.Verdict{down("gpu-007")}})
				r.n.Sync()
				time.Sleep(100 * time.Millisecond) // found, and not settled
				offset.Store(int64(step))
				tick(3, down("gpu-007"))
				require.Len(t, r.visible(), 1)
				offset.Store(0)
				tick(3, down("gpu-007"), down("gpu-008"))
				require.Len(t, r.visible(), 2)
				offset.Store(int64(step))
				tick(50)
				offset.Store(0)
				tick(50)
				require.Len(t, r.visible(), 2)
				for _, m := range r.visible() {
					require.Equal(t, green, m.Color)
				}
			})
		})
	}
}
