package alertmanager

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/alertmanager/api/v2/models"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// trouble is what a member does for a while.
var trouble = map[string]func(f *fake, w http.ResponseWriter, alerts models.PostableAlerts) bool{
	"500": func(_ *fake, w http.ResponseWriter, _ models.PostableAlerts) bool { w.WriteHeader(500); return true },
	"stored 500": func(f *fake, w http.ResponseWriter, a models.PostableAlerts) bool {
		f.store(a)
		w.WriteHeader(500)
		return true
	},
	"429": func(_ *fake, w http.ResponseWriter, _ models.PostableAlerts) bool {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(429)
		return true
	},
	"html": func(_ *fake, w http.ResponseWriter, _ models.PostableAlerts) bool {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>")
		return true
	},
	"401": func(_ *fake, w http.ResponseWriter, _ models.PostableAlerts) bool { w.WriteHeader(401); return true },
	"413 above 2": func(_ *fake, w http.ResponseWriter, a models.PostableAlerts) bool {
		if len(a) > 2 {
			w.WriteHeader(413)
		}
		return len(a) > 2
	},
	"silent drop": func(_ *fake, _ http.ResponseWriter, _ models.PostableAlerts) bool { return true },
	"amnesia":     func(f *fake, _ http.ResponseWriter, _ models.PostableAlerts) bool { clear(f.alerts); return false },
}

// TestWhateverFailsAllEndWithTheNewestState lets two members fail in every way
// while incidents come and go and the daemon restarts; in the end each knows
// exactly what is true, and on the way nobody was told nonsense.
func TestWhateverFailsAllEndWithTheNewestState(t *testing.T) {
	names := []string{"well"}
	for name := range trouble {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(rt *rapid.T) {
		type step struct {
			state [2]string
			down  [2]bool
			there []int // severities of four faults, 0 is absent
			kill  bool
			ticks int
		}
		var steps []step
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			s := step{ticks: rapid.IntRange(1, 12).Draw(rt, "ticks"), kill: rapid.IntRange(0, 4).Draw(rt, "kill") == 0}
			for i := range s.state {
				s.state[i] = rapid.SampledFrom(names).Draw(rt, "state")
				s.down[i] = rapid.IntRange(0, 3).Draw(rt, "down") == 0
			}
			s.there = rapid.SliceOfN(rapid.IntRange(0, 3), 4, 4).Draw(rt, "there")
			steps = append(steps, s)
		}
		synctest.Test(t, func(t *testing.T) {
			fakes := [2]*fake{newFake(t, time.Now), newFake(t, time.Now)}
			targets := []Target{fakes[0].target("a"), fakes[1].target("b")}
			r := start(t, nil, nil, targets...)
			var last []diagnosis.Verdict
			for _, s := range steps {
				for i, f := range fakes {
					bad := trouble[s.state[i]]
					f.set(func() {
						f.down, f.answer = s.down[i], nil
						if bad != nil {
							f.answer = func(w http.ResponseWriter, _ *http.Request, a models.PostableAlerts) bool { return bad(f, w, a) }
						}
					})
				}
				last = nil
				for i, sev := range s.there {
					if sev > 0 {
						v := down(fmt.Sprintf("n%d", i))
						v.Severity = diagnosis.Severity(sev)
						last = append(last, v)
					}
				}
				r.tick(s.ticks, last...)
				if s.kill {
					data, err := r.m.Save()
					require.NoError(t, err)
					r.stop()
					m := incidents.NewManager(incidents.Options{Interval: interval, External: map[string]string{"cluster": "alpha"}})
					require.NoError(t, m.Restore(data))
					r = start(t, m, nil, targets...)
				}
			}
			for _, f := range fakes {
				f.set(func() { f.down, f.answer = false, nil })
			}
			r.tick(36, last...) // back-off, read-back and hold times are over
			want := []string{}
			for _, inc := range r.m.Live() {
				if inc.Announced {
					want = append(want, Fingerprint(inc.AlertLabels()))
				}
			}
			slices.Sort(want)
			for _, f := range fakes {
				require.Equal(t, want, slices.DeleteFunc(f.firing(), func(fp string) bool { return f.alerts[fp].Labels["class"] == "delivery_failing" }))
				checkHistory(t, f)
			}
			r.stop()
		})
	})
}

// checkHistory looks at everything a member was ever sent.
func checkHistory(t *testing.T, f *fake) {
	fired := map[string]time.Time{}
	for _, p := range f.posts {
		here := map[string]bool{}
		for _, a := range p.alerts {
			fp := Fingerprint(a.Labels)
			require.False(t, here[fp], "twice in one request")
			here[fp] = true
			require.False(t, time.Time(a.StartsAt).After(p.at))
			require.False(t, time.Time(a.EndsAt).After(p.at.Add(4*time.Minute)), "a far end cannot be taken back")
			require.LessOrEqual(t, len(p.alerts), 64)
			if time.Time(a.EndsAt).After(p.at) {
				if old, ok := fired[fp]; ok {
					require.False(t, time.Time(a.StartsAt).Before(old), "an episode never starts earlier than it did")
				}
				fired[fp] = time.Time(a.StartsAt)
			}
		}
	}
}
