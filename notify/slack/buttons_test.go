package slack

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

// silencer remembers what was asked for and makes it visible.
type silencer struct {
	mu   sync.Mutex
	got  []alertmanager.SilenceRequest
	sup  *suppressor
	fail bool
}

func (s *silencer) Silence(_ context.Context, r alertmanager.SilenceRequest) (alertmanager.Silence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail {
		return alertmanager.Silence{}, errors.New("down")
	}
	s.got = append(s.got, r)
	until := time.Now().Add(r.Duration)
	if s.sup != nil {
		s.sup.set(silencedBy(r.Author, until), false)
	}
	return alertmanager.Silence{ID: "s1", By: r.Author, Until: until}, nil
}

func buttonRig(t *testing.T, change func(*Options)) (*rig, *silencer) {
	t.Helper()
	sil := &silencer{}
	r := newRig(t, func(o *Options) {
		// Without an address nothing connects in fake time; presses come by hand.
		o.Silencer = sil
		o.AppToken = func(bool) (string, error) { return "", errors.New("no socket in this test") }
		if change != nil {
			change(o)
		}
	})
	sil.sup = r.sup
	return r, sil
}

func TestAPressSilencesAndTakesTheButtonsAway(t *testing.T) {
	in(t, func(t *testing.T) {
		r, sil := buttonRig(t, nil)
		r.tick(4, down("gpu-007"))
		require.Contains(t, r.visible()[0].Body, "static_select: Silence, for 1 h, for 8 h, until resolved\nbutton: Acknowledge")
		thread := r.m.Live()[0].Thread
		p := press{action: actionSilence, value: "1h0m0s:" + thread, user: "U1", name: "alice"}
		require.Equal(t, "Silenced for 1 h, until 2026-03-09 04:15:15 UTC.", r.n.pressed(t.Context(), p))
		require.Equal(t, time.Hour, sil.got[0].Duration)
		require.Equal(t, "alice (Slack U1)", sil.got[0].Author)
		require.NotEmpty(t, sil.got[0].Matchers)
		time.Sleep(interval)
		require.Contains(t, r.visible()[0].Body, "Silenced by alice (Slack U1) until")
		require.NotContains(t, r.visible()[0].Body, "static_select")
		require.Contains(t, r.n.pressed(t.Context(), p), "Nothing to do: it is silenced by alice")
		require.Len(t, sil.got, 1)
	})
}

func TestPressesThatAreLateOrWrong(t *testing.T) {
	in(t, func(t *testing.T) {
		r, sil := buttonRig(t, func(o *Options) { o.AllowedUsers, o.AllowedGroups = []string{"U1"}, []string{"S1", "S2"} })
		r.s.Group("S1", "U2")
		r.tick(4, down("gpu-007"))
		thread := r.m.Live()[0].Thread
		ack := press{action: actionAck, value: ":" + thread, name: "x"}
		require.Contains(t, r.n.pressed(t.Context(), ack), "You may not silence")
		require.Contains(t, r.n.pressed(t.Context(), press{action: actionSilence, value: "9999h:" + thread}), "not known")
		require.Contains(t, r.n.pressed(t.Context(), press{action: actionAck, value: ":x"}), "over and forgotten")
		sil.fail = true
		ack.user = "U1"
		require.Contains(t, r.n.pressed(t.Context(), ack), "could not be set")
		sil.fail, sil.sup = false, nil
		ack.user = "U2"
		require.Contains(t, r.n.pressed(t.Context(), ack), "until it is resolved")
		require.True(t, sil.got[0].UntilResolved)
		r.tick(60)
		require.Contains(t, r.n.pressed(t.Context(), ack), "This incident is over: Resolved at")
		require.NotContains(t, r.visible()[0].Body, "button")
		require.Len(t, sil.got, 1)
	})
}

// The ways out to dashboard and runbook are buttons beside the two that are
// pressed, and links where there are no buttons.
func TestLinksAreButtonsBesideTheOthers(t *testing.T) {
	in(t, func(t *testing.T) {
		r, sil := buttonRig(t, func(o *Options) {
			o.Renderer = &incidents.Renderer{DashboardURL: "https://grafana.test/d/x?a=1&b=2", RunbookURL: "https://wiki.test/"}
		})
		r.tick(4, down("gpu-007"))
		body := r.visible()[0].Body
		require.Contains(t, body, "button: Acknowledge\nbutton: Dashboard https://grafana.test/d/x?a=1&b=2\nbutton: Runbook https://wiki.test/nic_degraded\n")
		require.NotContains(t, body, "|Dashboard>")
		thread := r.m.Live()[0].Thread
		require.Equal(t, "Silenced until it is resolved.", r.n.pressed(t.Context(), press{action: actionSilence, value: untilResolved + ":" + thread, user: "U1", name: "alice"}))
		require.True(t, sil.got[0].UntilResolved)
		require.Equal(t, ackFor, sil.got[0].Duration)
		time.Sleep(interval)
		body = r.visible()[0].Body
		require.NotContains(t, body, "button:")
		require.Contains(t, body, "<https://grafana.test/d/x?a=1&amp;b=2|Dashboard> · <https://wiki.test/nic_degraded|Runbook>")
	})
}

// TestPressThroughTheSocket runs in real time, over a real connection.
func TestPressThroughTheSocket(t *testing.T) {
	s := fakeslack.Start(t)
	sil := &silencer{}
	m := newManager()
	n, err := New(Options{
		Source: m, Silencer: sil, APIURL: s.URL(), HTTP: &http.Client{Timeout: 10 * time.Second},
		Token:    func(bool) (string, error) { return fakeslack.Token, nil },
		AppToken: func(bool) (string, error) { return fakeslack.AppToken, nil },
		Routes:   []Route{{Name: "oncall", Channel: "#gpu"}},
	})
	require.NoError(t, err)
	now := time.Now()
	for i := range 2 {
		m.Apply(&diagnosis.Result{Time: now.Add(time.Duration(i) * interval), Whole: true, Verdicts: []diagnosis.Verdict{down("gpu-007")}})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.Run(ctx) })
	defer func() { cancel(); wg.Wait() }()
	eventually := func(what string, f func() bool) {
		t.Helper()
		require.Eventually(t, f, 20*time.Second, 10*time.Millisecond, what)
	}
	eventually("message and connection", func() bool { return len(s.Messages()) == 1 && s.Connected() })
	require.NoError(t, s.Press("U1", "alice", "gpu", actionSilence, "", "8h0m0s:"+m.Live()[0].Thread))
	eventually("answer", func() bool { return strings.Contains(s.Transcript(), "chat.postEphemeral to U1") })
	sil.mu.Lock()
	defer sil.mu.Unlock()
	require.Equal(t, 8*time.Hour, sil.got[0].Duration)
	require.Equal(t, 1, s.Receipts())
}
