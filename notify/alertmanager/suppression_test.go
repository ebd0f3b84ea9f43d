package alertmanager

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func (r *rig) fingerprint() string { return Fingerprint(r.m.Live()[0].AlertLabels()) }

func TestSuppression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, func(o *Options) { o.PollInterval = 20 * time.Second }, f.target("am")) // never at the time of the first post
		r.tick(2, down("a"))
		fp := r.fingerprint()
		_, known := r.n.Suppression(fp)
		require.False(t, known, "posted a moment ago, not read yet")
		require.NoError(t, r.n.Refresh(t.Context()))
		s, known := r.n.Suppression(fp)
		require.True(t, known)
		require.False(t, s.Suppressed())
		require.Empty(t, s.By())

		id, err := r.n.Silence(t.Context(), SilenceRequest{Matchers: r.m.Live()[0].SilenceMatchers(), Duration: time.Hour, Author: "ada", Comment: "cable"})
		require.NoError(t, err)
		f.set(func() {
			f.silenced[fp] = []string{id.ID}
			f.inhibited[fp] = []string{"abc"}
			f.muted[fp] = []string{"weekend"}
		})
		r.tick(2, down("a"))
		s, known = r.n.Suppression(fp)
		require.True(t, known)
		require.Equal(t, []string{"weekend"}, s.MutedBy, "from the groups")
		require.Equal(t, "ada", s.Silences[0].By)
		require.Contains(t, s.By(), "silenced by ada until 2000-01-01 01:00 UTC; inhibited by another alert; muted by weekend")
		for _, by := range []string{"silence", "inhibition", "mute_time"} {
			require.Equal(t, 1.0, testutil.ToFloat64(r.n.metrics.suppressed.WithLabelValues(by)), by)
		}

		r.tick(8) // resolved: gone from the list
		s, known = r.n.Suppression(fp)
		require.True(t, known && s.Suppressed(), "a silenced alert does not announce its resolve")
		r.tick(4 * 45)
		_, known = r.n.Suppression(fp)
		require.False(t, known, "pruned with the incident")
	})
}

func TestSuppressionOfOldVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		f.version, f.noMutedBy = "0.25.0", true
		r := start(t, nil, nil, f.target("am"))
		r.tick(4, down("a"))
		s, known := r.n.Suppression(r.fingerprint())
		require.True(t, known)
		require.False(t, s.Suppressed())
		require.Equal(t, "0.25.0", r.n.Members()[0].Version)
	})
}

func TestSuppressionWhenNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFake(t, time.Now), newFake(t, time.Now)
		r := start(t, nil, nil, a.target("a"), b.target("b"))
		r.tick(4, down("x"))
		a.set(func() { a.down = true })
		b.set(func() { b.muted[r.fingerprint()] = []string{"night"} })
		r.tick(8, down("x"))
		s, known := r.n.Suppression(r.fingerprint())
		require.True(t, known, "the second member answers")
		require.Equal(t, []string{"night"}, s.MutedBy)
		b.set(func() { b.down = true })
		r.tick(8, down("x"))
		_, known = r.n.Suppression(r.fingerprint())
		require.False(t, known)
		require.NotZero(t, testutil.ToFloat64(r.n.metrics.pollFailures))
	})
}

func TestSilenceEndsWithTheIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, dead := newFake(t, time.Now), newFake(t, time.Now)
		dead.down = true
		r := start(t, nil, nil, dead.target("dead"), f.target("am"))
		r.tick(2, down("a"))
		inc := r.m.Live()[0]
		s, err := r.n.Silence(t.Context(), SilenceRequest{
			Incident: inc.ID, Matchers: inc.SilenceMatchers(), Duration: 24 * time.Hour,
			Author: "ada", Comment: "on it", UntilResolved: true,
		})
		require.NoError(t, err, "the second member takes it")
		require.Equal(t, "ACK! on it", *f.silences[s.ID].Comment)
		r.tick(10, down("a"))
		require.Empty(t, f.expired)

		data, err := r.m.Save() // the daemon restarts in between
		require.NoError(t, err)
		r.stop()
		m := incidents.NewManager(incidents.Options{Interval: interval})
		require.NoError(t, m.Restore(data))
		r = start(t, m, nil, dead.target("dead"), f.target("am"))
		r.tick(10)
		require.Equal(t, []string{s.ID}, f.expired)
		r.tick(10)
		require.Len(t, f.expired, 1, "once")
		dead.set(func() { dead.down = false })
		require.NoError(t, r.n.Expire(t.Context(), s.ID), "gone already is fine")
	})
}

func TestSilenceRequestsAreChecked(t *testing.T) {
	good := SilenceRequest{Matchers: []incidents.Matcher{{Name: "a", Value: "b"}}, Duration: time.Hour, Author: "x", Comment: "y"}
	require.NoError(t, good.validate())
	for name, change := range map[string]func(*SilenceRequest){
		"author":   func(r *SilenceRequest) { r.Author = " " },
		"comment":  func(r *SilenceRequest) { r.Comment = "" },
		"duration": func(r *SilenceRequest) { r.Duration = 0 },
		"none":     func(r *SilenceRequest) { r.Matchers = nil },
		"empty":    func(r *SilenceRequest) { r.Matchers = []incidents.Matcher{{Name: "a"}} },
	} {
		r := good
		change(&r)
		require.Error(t, r.validate(), name)
	}
}

func TestSeverityRiseHasItsOwnState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		r := start(t, nil, nil, f.target("am"))
		v := down("a")
		r.tick(3, v)
		before := r.fingerprint()
		v.Severity = diagnosis.Critical
		r.tick(3, v)
		require.NotEqual(t, before, r.fingerprint())
		_, known := r.n.Suppression(r.fingerprint())
		require.True(t, known)
	})
}
