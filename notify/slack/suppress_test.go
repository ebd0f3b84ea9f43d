package slack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

func TestSilencedBeforeThePostIsToldWhenTheSilenceExpires(t *testing.T) {
	for _, restart := range []bool{false, true} {
		in(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.sup.set(silencedBy("alice", time.Now().Add(2*time.Minute)), false)
			r.tick(8, down("gpu-007"))
			require.Empty(t, r.s.Messages())
			if restart {
				r.restart()
				r.tick(1, down("gpu-007"))
				require.Empty(t, r.s.Messages())
			}
			r.sup.set(alertmanager.State{}, false)
			r.tick(2, down("gpu-007"))
			require.Len(t, r.s.Messages(), 1)
			require.Contains(t, r.s.Messages()[0].Body, "The silence expired (silenced by alice until 2026-03-09 03:16 UTC) and the fault is still there.")
		})
	}
}

func TestSilencedToTheEndIsNeverTold(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.sup.set(silencedBy("alice", time.Now().Add(time.Hour)), false)
		r.tick(4, down("gpu-007"))
		r.tick(50)
		require.Empty(t, r.m.Live())
		require.Empty(t, r.s.Messages())
	})
}

func TestSilencedAfterThePost(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.sup.set(silencedBy("alice", time.Now().Add(time.Hour)), false)
		r.tick(2, down("gpu-007"))
		require.Contains(t, r.visible()[0].Body, "Silenced by alice until 2026-03-09 04:15 UTC.")
		require.Len(t, r.replies(), 1)
		worse := down("gpu-007")
		worse.Severity = diagnosis.Critical
		r.tick(2, worse)
		require.Equal(t, red, r.visible()[0].Color)
		require.Len(t, r.replies(), 1, "a rise is not announced while silenced")
		r.tick(50)
		require.Equal(t, green, r.visible()[0].Color)
		require.Len(t, r.s.Messages(), 2, "its resolve is not announced")
	})
}

func TestSilenceOfAToldIncidentExpires(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.sup.set(silencedBy("alice", time.Now().Add(time.Hour)), false)
		r.tick(2, down("gpu-007"))
		r.sup.set(alertmanager.State{}, false)
		r.tick(2, down("gpu-007"))
		require.NotContains(t, r.visible()[0].Body, "Silenced")
		require.Len(t, r.replies(), 2)
		require.Contains(t, r.replies()[1].Text, "still there")
	})
}

func TestOtherSuppressionIsNamed(t *testing.T) {
	for kind, c := range map[string]struct {
		state alertmanager.State
		says  string
	}{
		"inhibited": {alertmanager.State{InhibitedBy: []string{"f"}}, "The inhibition ended (inhibited by another alert)"},
		"muted":     {alertmanager.State{MutedBy: []string{"nights"}}, "The mute time ended (muted by nights)"},
	} {
		t.Run(kind, func(t *testing.T) {
			in(t, func(t *testing.T) {
				r := newRig(t, nil)
				r.sup.set(c.state, false)
				r.tick(4, down("gpu-007"))
				require.Empty(t, r.s.Messages())
				r.sup.set(alertmanager.State{}, false)
				r.tick(2, down("gpu-007"))
				require.Contains(t, r.visible()[0].Body, c.says)
			})
		})
	}
}

func TestAlertmanagerOutOfReach(t *testing.T) {
	t.Run("notify", func(t *testing.T) {
		in(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.sup.set(alertmanager.State{}, true)
			r.tick(2, down("gpu-007"))
			require.Empty(t, r.s.Messages(), "patience first")
			r.tick(3, down("gpu-007"))
			require.Len(t, r.s.Messages(), 1)
			require.Contains(t, r.s.Messages()[0].Body, unchecked)
			r.sup.set(alertmanager.State{}, false)
			r.tick(2, down("gpu-007"))
			require.Len(t, r.s.Messages(), 1)
			require.NotContains(t, r.s.Messages()[0].Body, unchecked)
		})
	})
	t.Run("hold", func(t *testing.T) {
		in(t, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.OnUnreachable = Hold })
			r.sup.set(alertmanager.State{}, true)
			r.tick(20, down("gpu-007"))
			require.Empty(t, r.s.Messages())
			r.sup.set(alertmanager.State{}, false)
			r.tick(2, down("gpu-007"))
			require.Len(t, r.s.Messages(), 1)
		})
	})
	t.Run("a silence that was seen lasts", func(t *testing.T) {
		in(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.sup.set(silencedBy("alice", time.Now().Add(10*time.Minute)), false)
			r.tick(4, down("gpu-007"))
			r.sup.set(alertmanager.State{}, true)
			r.tick(4, down("gpu-007"))
			r.restart()
			r.tick(20, down("gpu-007"))
			require.Empty(t, r.s.Messages())
			r.tick(20, down("gpu-007"))
			require.Len(t, r.s.Messages(), 1)
			require.Contains(t, r.s.Messages()[0].Body, unchecked)
		})
	})
}

func TestASilenceIsLookedForAfterTheAlertSettled(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.sup.set(alertmanager.State{}, false) // an old answer that knew nothing of the alert
		r.tick(1, down("gpu-007"))
		r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: []diagnosis.Verdict{down("gpu-007")}})
		r.n.Sync()
		time.Sleep(time.Second)
		require.Zero(t, r.sup.questions())
		require.Empty(t, r.s.Messages())
		r.sup.later(silencedBy("alice", time.Now().Add(time.Hour)))
		time.Sleep(2 * time.Second)
		require.Equal(t, 1, r.sup.questions())
		require.Empty(t, r.s.Messages())
	})
}

func TestWithoutAlertmanagerItIsToldAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Suppressor = nil })
		r.tick(2, down("gpu-007"))
		require.Len(t, r.s.Messages(), 1)
		r.tick(50)
		require.Equal(t, green, r.visible()[0].Color)
	})
}

func TestReturnAfterASilencedResolveIsAnnounced(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.sup.set(silencedBy("alice", time.Now().Add(time.Hour)), false)
		for range 200 {
			r.tick(1)
			if len(r.m.Live()) == 0 {
				break
			}
		}
		r.tick(1)
		lines := len(r.replies())
		r.sup.later(alertmanager.State{}) // nobody asked since
		r.tick(4, down("gpu-007"))
		require.Len(t, r.replies(), lines+1)
		require.Contains(t, r.replies()[lines].Text, "It came back")
		require.True(t, r.replies()[lines].Broadcast)
	})
}

func TestSilencedBetweenAKillAndTheRestart(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Routes[0].Channel = "C0123456789" })
		r.s.Fail("chat.postMessage", "500", 1)
		r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: []diagnosis.Verdict{down("gpu-007")}})
		time.Sleep(interval)
		r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: []diagnosis.Verdict{down("gpu-007")}})
		r.n.Sync()
		time.Sleep(2100 * time.Millisecond)
		require.Equal(t, 1, r.s.Calls("chat.postMessage"))
		r.sup.set(silencedBy("alice", time.Now().Add(time.Hour)), false)
		r.restart()
		r.tick(8, down("gpu-007"))
		require.Empty(t, r.s.Messages(), "a post that was only begun is no reason to break a silence")
	})
}
