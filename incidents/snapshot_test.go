package incidents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func TestEveryFieldIsRestored(t *testing.T) {
	d := drive(t, incidents.Options{External: map[string]string{"cluster": "alpha"}})
	v := example()
	d.tick(2, v)
	v.Severity, v.Reason = diagnosis.Critical, "bit_errors"
	d.tick(1, v, stall("9", "x"))
	d.apply(1, diagnosis.Result{Whole: false, Ended: []string{"48213"}})
	inc := d.m.Live()[0]
	require.NoError(t, d.m.SetDeliveries("slack/C1", map[string]json.RawMessage{inc.ID: json.RawMessage(`{"ts":"1.2"}`)}))
	m := restart(t, d.m, incidents.Options{})
	got, ok := m.Find(inc.ID)
	require.True(t, ok)
	want, _ := d.m.Find(inc.ID)
	want.Verdict.Suspects[0].Score = got.Verdict.Suspects[0].Score
	require.Equal(t, fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got))
	require.JSONEq(t, `{"ts":"1.2"}`, string(got.Deliveries["slack/C1"]))
	require.Equal(t, want.Verdict.Evidence[1].Signal, got.Verdict.Evidence[1].Signal, "signals are kept by name")
	require.Len(t, got.Raises, 1)
}

func TestFirstTickAfterARestoreResolvesNothing(t *testing.T) {
	d := drive(t, incidents.Options{})
	d.tick(2, nic("a", "mlx5_0"))
	d.tick(4) // one more would resolve
	d.m = restart(t, d.m, incidents.Options{})
	d.now = d.now.Add(24 * time.Hour) // and downtime counts for nothing
	require.Empty(t, d.tick(1))
	require.Equal(t, "first evaluation after a restart", d.m.Live()[0].Held)
	require.Len(t, d.tick(1), 1)
}

func TestWhatIsOlderThanTheHistoryIsNotResolvedByIgnorance(t *testing.T) {
	warm := incidents.Options{Warmed: time.Hour, HeldLimit: 2 * time.Hour}
	for name, tc := range map[string]struct {
		age   time.Duration // at the restart
		clear int           // evaluations without it before the restart
		seen  bool          // once more after the restart
		opts  incidents.Options
		ends  time.Duration // after the restart, at most
		why   incidents.ResolveReason
	}{
		"young":                            {10 * time.Minute, 0, false, warm, 5 * time.Minute, incidents.Recovered},
		"old":                              {time.Hour, 0, false, warm, 2*time.Hour + 5*time.Minute, incidents.DataGone},
		"old and seen again":               {time.Hour, 0, true, warm, 5 * time.Minute, incidents.Recovered},
		"old and healthy before":           {time.Hour, 2, false, warm, 5 * time.Minute, incidents.Recovered},
		"old, and history is not read":     {time.Hour, 0, false, incidents.Options{}, 5 * time.Minute, incidents.Recovered},
		"old, and the daemon knows it all": {time.Hour, 0, false, incidents.Options{Warmed: 3 * time.Hour}, 5 * time.Minute, incidents.Recovered},
	} {
		t.Run(name, func(t *testing.T) {
			d := drive(t, tc.opts)
			d.tick(int(tc.age/(15*time.Second)), nic("a", "mlx5_0"))
			d.tick(tc.clear)
			d.m = restart(t, d.m, tc.opts)
			if tc.seen {
				d.tick(1, nic("a", "mlx5_0"))
			}
			began := d.now
			for {
				for _, ev := range d.tick(1) {
					require.Equal(t, tc.why, ev.Incident.ResolveReason)
					if tc.why == incidents.DataGone {
						require.GreaterOrEqual(t, d.now.Sub(began), 2*time.Hour-time.Minute)
					}
					return
				}
				require.Less(t, d.now.Sub(began), tc.ends, "never ended")
			}
		})
	}
}

func TestDowntimeDoesNotCount(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("a", "mlx5_0")
	v.Class = diagnosis.NICDegraded // clear for ten minutes
	d.tick(2, v)
	d.tick(20)
	d.m = restart(t, d.m, incidents.Options{})
	d.now = d.now.Add(time.Hour)
	require.Empty(t, d.tick(15))
	require.Len(t, d.tick(10), 1)
}

func TestRestoreRefusesNonsenseAndKeepsWhatIs(t *testing.T) {
	d := drive(t, incidents.Options{})
	d.tick(2, nic("a", "mlx5_0"))
	good, err := d.m.Save()
	require.NoError(t, err)
	lines := strings.SplitAfter(string(good), "\n")
	for name, data := range map[string]string{
		"cut line":         string(good[:len(good)-10]),
		"no json":          "hello\n",
		"null":             "null\n",
		"unknown record":   `{"other":1}` + "\n",
		"unknown state":    strings.Replace(string(good), `"open"`, `"ajar"`, 1),
		"unknown severity": strings.Replace(string(good), `"severity":"critical"`, `"severity":"grave"`, 1),
		"twice":            string(good) + lines[1],
		"wrong type":       strings.Replace(string(good), `"seen":`, `"seen":"x","seen_":`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, d.m.Restore([]byte(data)))
			require.Len(t, d.m.Live(), 1)
		})
	}
	require.NoError(t, incidents.NewManager(incidents.Options{}).Restore(nil), "an empty file is no incidents")
}

func TestNaNDoesNotCostTheState(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("a", "mlx5_0")
	v.Suspects[0].Score = math.NaN()
	d.tick(2, v)
	_, err := d.m.Save()
	require.NoError(t, err)
}

func FuzzRestore(f *testing.F) {
	d := &driver{m: incidents.NewManager(incidents.Options{}), now: t0, t: &testing.T{}}
	d.tick(2, example(), stall("1", "a"))
	d.tick(60)
	d.tick(1, example())
	seed, err := d.m.Save()
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte(`{"live":{"id":"x","key":"k","state":"latched","verdict":{"class":"link_flap"},"severity":"info"}}` + "\n"))
	f.Add([]byte(`{"offender":{"kind":"nic","times":["2026-01-01T00:00:00Z"]}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := incidents.NewManager(incidents.Options{})
		if m.Restore(data) != nil {
			return
		}
		// What is accepted has to live on without harm.
		d := &driver{t: t, m: m, now: t0}
		d.tick(3, example())
		d.tick(50)
		again, err := m.Save()
		require.NoError(t, err)
		require.NoError(t, incidents.NewManager(incidents.Options{}).Restore(again))
	})
}

func TestThirtyDaysDoNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("43,200 evaluations")
	}
	d := drive(t, incidents.Options{Interval: time.Minute})
	size := func() int {
		data, err := d.m.Save()
		require.NoError(t, err)
		return len(data)
	}
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	var after10 int
	var heap10 uint64
	for i := range 43200 {
		var vs []diagnosis.Verdict
		// Every ten minutes another of 3,000 ports fails for three minutes.
		if i%10 < 3 {
			n := i / 10 % 3000
			vs = append(vs, nic(fmt.Sprintf("gpu-%03d", n/8), fmt.Sprintf("mlx5_%d", n%8)))
		}
		d.now = d.now.Add(45 * time.Second)
		d.tick(1, vs...)
		d.got = d.got[:0]
		if i == 14400 {
			after10, heap10 = size(), heap()
		}
	}
	require.Less(t, float64(size()), 1.1*float64(after10))
	require.Less(t, float64(heap()), 1.2*float64(heap10)+1e6)
	require.Less(t, size(), 5<<20)
}

func TestMetrics(t *testing.T) {
	d := drive(t, incidents.Options{Shadow: map[diagnosis.Class]bool{diagnosis.CollectiveStall: true}})
	reg := prometheus.NewRegistry()
	require.NoError(t, d.m.Register(reg))
	d.tick(2, nic("a", "mlx5_0"), stall("1", "x"))
	d.apply(3, diagnosis.Result{Whole: false})
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.NoError(t, testutil.GatherAndCompare(reg, bytes.NewBufferString(`
# HELP collwatch_alerts_held_total Evaluations in which an incident could not be judged and kept its state.
# TYPE collwatch_alerts_held_total counter
collwatch_alerts_held_total 6
# HELP collwatch_alerts_withheld Open incidents that are not sent, by reason.
# TYPE collwatch_alerts_withheld gauge
collwatch_alerts_withheld{reason="cool_down"} 0
collwatch_alerts_withheld{reason="maintenance"} 0
collwatch_alerts_withheld{reason="recorded"} 0
collwatch_alerts_withheld{reason="shadow"} 1
collwatch_alerts_withheld{reason="storm"} 0
`), "collwatch_alerts_held_total", "collwatch_alerts_withheld"))
}

func TestCoolDown(t *testing.T) {
	d := drive(t, incidents.Options{CoolDown: 10 * time.Minute})
	down := nic("a", "mlx5_0")
	d.tick(2, down)
	d.tick(5)
	slow := down
	slow.Class = diagnosis.NICDegraded
	require.Empty(t, d.tick(30, slow), "the same component, told a moment ago")
	require.Equal(t, []string{"open nic_degraded"}, kinds(d.tick(15, slow)), "it lasts")
}
