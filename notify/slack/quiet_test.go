package slack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

// What happens while nobody may be told is told when the suppression ends, if it
// still lasts: a rise and a return have to reach people, not only the message.
func TestWhatWasQuietIsToldAfterwards(t *testing.T) {
	muted := alertmanager.State{MutedBy: []string{"nights"}}
	quiet := func(r *rig) {
		for range 200 {
			r.tick(1)
			if len(r.m.Live()) == 0 {
				break
			}
		}
		r.tick(1)
	}
	for name, c := range map[string]struct {
		before func(r *rig)
		during diagnosis.Verdict
		says   string
	}{
		"a rise":   {func(*rig) {}, critical("gpu-007"), "Severity rises from warning to critical"},
		"a return": {quiet, down("gpu-007"), "It came back"},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				in(t, func(t *testing.T) {
					r := newRig(t, func(o *Options) { o.Routes[0].Mentions = map[string][]string{"critical": {"@here"}} })
					r.tick(4, down("gpu-007"))
					c.before(r)
					r.sup.set(muted, false)
					r.tick(4, c.during)
					for _, m := range r.replies() {
						require.False(t, m.Broadcast, m.Text)
					}
					if restart {
						r.restart()
					}
					r.tick(4, c.during)
					r.sup.set(alertmanager.State{}, false)
					r.tick(4, c.during)
					last := r.replies()[len(r.replies())-1]
					require.Contains(t, last.Text, c.says)
					require.True(t, last.Broadcast)
					n := len(r.replies())
					r.tick(20, c.during)
					require.Len(t, r.replies(), n, "once")
				})
			})
		}
	}
}

// A rise is another alert: whether it is silenced is looked up before people
// hear of it, as for the first one.
func TestARiseThatIsSilencedIsNotTold(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.sup.later(silencedBy("alice", time.Now().Add(time.Hour))) // only the critical one: not known before it is there
		r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: []diagnosis.Verdict{critical("gpu-007")}})
		r.n.Sync()
		time.Sleep(interval)
		r.tick(4, critical("gpu-007"))
		require.Equal(t, red, r.visible()[0].Color)
		for _, m := range r.replies() {
			require.False(t, m.Broadcast, m.Text)
		}
	})
}

// Alertmanager restarts: it answers, and does not know the alert until that is
// repeated and dispatched. What it muted stays quiet meanwhile.
func TestARestartOfAlertmanagerBreaksNoQuiet(t *testing.T) {
	for name, state := range map[string]alertmanager.State{
		"muted":     {MutedBy: []string{"nights"}},
		"inhibited": {InhibitedBy: []string{"f"}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				r := newRig(t, nil)
				r.sup.set(state, false)
				r.tick(40, down("gpu-007"))
				r.sup.set(state, true)
				r.tick(8, down("gpu-007")) // two minutes
				require.Empty(t, r.s.Messages())
				r.sup.set(state, false)
				r.tick(40, down("gpu-007"))
				require.Empty(t, r.s.Messages())
				r.sup.set(state, true)
				r.tick(40, down("gpu-007"))
				require.Len(t, r.s.Messages(), 1, "what cannot be checked for long is told")
				require.Contains(t, r.visible()[0].Body, unchecked)
			})
		})
	}
}
