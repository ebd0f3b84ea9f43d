package slack

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

// TestThirtyDaysDoNotGrow: what the notifier keeps in memory, and what it keeps
// beside the incidents on disk, is bounded by what is open and what ended lately:
// messages, threads, charts, silences and storms included.
func TestThirtyDaysDoNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("8,640 evaluations")
	}
	in(t, func(t *testing.T) {
		const step = 5 * time.Minute
		r := newRig(t, func(o *Options) {
			withCharts(ChartNative)(o)
			o.Storm = 8
		})
		r.stop()
		r.m = incidents.NewManager(incidents.Options{Interval: step, FoldAbove: 1000, History: 200})
		r.opts.Source = r.m
		r.start()

		size := func() (state int, heap uint64) {
			data, err := r.m.Save()
			require.NoError(t, err)
			runtime.GC()
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			return len(data), s.HeapAlloc
		}
		var state10 int
		var heap10 uint64
		most := 0
		days := int(30 * 24 * time.Hour / step)
		for i := range days {
			var vs []diagnosis.Verdict
			hour := i / 12
			if i%12 < 4 { // every hour another host for twenty minutes
				vs = append(vs, down(fmt.Sprintf("gpu-%03d", hour)))
				vs[0].Job = fmt.Sprint("job-", hour)
			}
			if hour%24 == 6 && i%12 < 4 { // and once a day a storm
				vs = append(vs, many(20)...)
			}
			switch hour % 5 {
			case 0:
				r.sup.set(silencedBy("alice", time.Now().Add(time.Hour)), false)
			case 1:
				r.sup.set(alertmanager.State{}, false)
			}
			r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
			r.n.Sync()
			time.Sleep(step)
			synctest.Wait()
			r.n.mu.Lock()
			most = max(most, len(r.n.items), len(r.n.ids), len(r.n.live)+len(r.n.ended))
			for _, c := range r.n.channels {
				most = max(most, len(c.storm.page.titles))
			}
			r.n.mu.Unlock()
			r.s.Forget(time.Now().Add(-24 * time.Hour)) // the fake would be what grows
			if i == days/3 {
				state10, heap10 = size()
			}
		}
		require.Greater(t, r.s.Calls("chat.postMessage"), 500, "hundreds of incidents were told")
		require.LessOrEqual(t, most, 80, "720 hosts failed in these days")
		state, heap := size()
		require.Less(t, float64(state), 1.2*float64(state10))
		require.Less(t, float64(heap), 1.2*float64(heap10)+2e6)
	})
}
