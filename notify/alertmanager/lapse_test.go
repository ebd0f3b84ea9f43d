package alertmanager

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/alertmanager/api/v2/models"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// TestABadMinuteResolvesNothing: whatever a member, or the proxy before it,
// answers to one repetition, the alerts that it has do not lapse.
func TestABadMinuteResolvesNothing(t *testing.T) {
	wait := func(code int) func(http.ResponseWriter, *http.Request, models.PostableAlerts) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ models.PostableAlerts) bool {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(code)
			return true
		}
	}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, models.PostableAlerts) bool{
		"a default backend's 404": status(404, "default backend"),
		"410":                     status(410, ""),
		"a proxy's 400":           status(400, "bad request"),
		"422":                     status(422, ""),
		"413":                     status(413, ""),
		"401":                     status(401, ""),
		"503 for an hour":         wait(503),
		"429 for an hour":         wait(429),
		"500":                     status(500, ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, time.Now)
				r := start(t, nil, nil, f.target("am"))
				r.tick(5, down("a"), down("b"))
				require.Len(t, f.firing(), 2)
				f.set(func() { f.answer = answer })
				r.tick(4, down("a"), down("b"))
				f.set(func() { f.answer = nil })
				for range 60 {
					r.tick(1, down("a"), down("b"))
					require.Len(t, withoutMeta(f), 2)
				}
				require.Empty(t, r.n.Conditions(), "nothing is wrong any more")
			})
		})
	}
}

// TestAnEndIsToldOnce: an alert that ended under a lower severity stays ended
// while the incident goes on and changes. Posted again hours later it would be
// another notification.
func TestAnEndIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, f.target("am"))
		v := down("a")
		r.tick(4, v)
		v.Severity = diagnosis.Critical
		r.tick(2*60*4, v)
		quiet := func(what string, n int, vs ...diagnosis.Verdict) {
			t.Helper()
			f.set(func() { f.posts = nil })
			r.tick(n, vs...)
			require.NotEmpty(t, f.posts)
			for _, p := range f.posts {
				for _, a := range p.alerts {
					require.Equal(t, "critical", a.Labels["severity"], what)
				}
			}
		}
		v.Reason = "carrier_lost"
		quiet("a new reason", 2, v)
		quiet("the end", 5)
		quiet("a return", 4, v)
		data, err := r.m.Save()
		require.NoError(t, err)
		r.stop()
		m := incidents.NewManager(incidents.Options{Interval: interval})
		require.NoError(t, m.Restore(data))
		r = start(t, m, nil, f.target("am"))
		v.Reason = "third"
		quiet("a restart", 2, v)
		r.stop()
		f = newFake(t, time.Now)
		r = start(t, m, nil, f.target("another"))
		quiet("a target that a reload adds", 2, v)
	})
}

// TestWhatFiresHasTheLastWord: two incidents may share their labels. The end of
// one is not the end of the other, whichever is older.
func TestWhatFiresHasTheLastWord(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	labels := map[string]string{"alertname": "CollwatchLinkDown"}
	inc := func(id string, fired time.Duration, s diagnosis.Severity, over bool, raises ...incidents.Raise) incidents.Incident {
		i := incidents.Incident{ID: id, State: incidents.Open, FiredAt: at.Add(fired), Severity: s, Labels: labels, Announced: true, Raises: raises}
		if over {
			i.State, i.ResolvedAt = incidents.Resolved, at.Add(time.Hour)
		}
		return i
	}
	fp := Fingerprint(map[string]string{"alertname": "CollwatchLinkDown", "severity": "warning"})
	for name, c := range map[string]struct {
		live, ended []incidents.Incident
		want        string
		fires       bool
	}{
		"the younger ended": {[]incidents.Incident{inc("a", 0, diagnosis.Warning, false)}, []incidents.Incident{inc("b", time.Minute, diagnosis.Warning, true)}, "a", true},
		"the older ended":   {[]incidents.Incident{inc("b", time.Minute, diagnosis.Warning, false)}, []incidents.Incident{inc("a", 0, diagnosis.Warning, true)}, "b", true},
		"both ended":        {nil, []incidents.Incident{inc("b", time.Minute, diagnosis.Warning, true), inc("a", 0, diagnosis.Warning, true)}, "b", false},
		"the younger rose": {
			[]incidents.Incident{
				inc("a", 0, diagnosis.Warning, false),
				inc("b", time.Minute, diagnosis.Critical, false, incidents.Raise{From: diagnosis.Warning, At: at.Add(2 * time.Minute)}),
			}, nil, "a", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := desired(c.live, c.ended, &incidents.Renderer{})[fp]
			require.Equal(t, c.want, got.incident)
			require.Equal(t, c.fires, !got.resolved())
		})
	}
}

// TestWhatReplacesIsToldFirst: if the request with the second half fails, people
// hear of two alerts for a while and not of none.
func TestWhatReplacesIsToldFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, func(o *Options) { o.BatchSize = 1 }, f.target("am"))
		unknown := diagnosis.Verdict{Class: diagnosis.CollectiveStall, Severity: diagnosis.Critical, Job: "1", Scope: "job", Hosts: []string{"a"}}
		named := unknown
		named.TieSet, named.Suspects = 1, []diagnosis.Suspect{{Kind: "gpu", Node: "a", Device: "GPU5"}}
		r.tick(4, unknown)
		f.set(func() { f.posts = nil })
		r.tick(2, named)
		var said []string
		for _, p := range f.posts {
			for _, a := range p.alerts {
				word := "fires "
				if !time.Time(a.EndsAt).After(p.at) {
					word = "ends "
				}
				said = append(said, word+a.Labels["suspect_kind"])
			}
		}
		require.Equal(t, []string{"fires gpu", "ends unknown"}, said[len(said)-2:])
	})
}

// TestASilenceIsSeenBeforeTheDispatch: an alert that is in no group yet, as after
// a start of Alertmanager with dispatch.start-delay, is silenced all the same.
func TestASilenceIsSeenBeforeTheDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		f.ungrouped = true
		r := start(t, nil, nil, f.target("am"))
		r.tick(4, down("a"))
		_, known := r.n.Suppression(r.fingerprint())
		require.False(t, known, "mute times are on the groups only")
		f.set(func() { f.inhibited[r.fingerprint()] = []string{"abc"} })
		r.tick(2, down("a"))
		s, known := r.n.Suppression(r.fingerprint())
		require.True(t, known && s.Suppressed())
	})
}

// TestASilenceEndsWhereverItIs: members of a torn cluster know different
// silences. One that does not know it has not ended it.
func TestASilenceEndsWhereverItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newFake(t, time.Now), newFake(t, time.Now)
		r := start(t, nil, nil, first.target("first"), second.target("second"))
		r.tick(2, down("a"))
		inc := r.m.Live()[0]
		first.set(func() { first.down = true })
		s, err := r.n.Silence(t.Context(), SilenceRequest{
			Incident: inc.ID, Matchers: inc.SilenceMatchers(), Duration: 24 * time.Hour, Author: "ada", Comment: "on it", UntilResolved: true,
		})
		require.NoError(t, err)
		first.set(func() { first.down = false })
		second.set(func() { second.down = true })
		r.tick(12)
		require.Error(t, r.n.Expire(t.Context(), s.ID), "who may have it cannot be asked")
		second.set(func() { second.down = false })
		r.tick(4)
		require.Equal(t, []string{s.ID}, second.expired)
		require.NoError(t, r.n.Expire(t.Context(), s.ID), "gone already is fine")
	})
}
