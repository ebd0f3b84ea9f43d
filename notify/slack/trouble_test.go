package slack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/fakeslack"
)

func critical(node string) diagnosis.Verdict {
	v := down(node)
	v.Severity = diagnosis.Critical
	return v
}

func TestRateLimitIsObeyedAndOnlyTheNewestStateSent(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.s.LimitRate("chat.postMessage", 90*time.Second, 1)
		r.tick(3, down("gpu-007"))
		require.Equal(t, 1, r.s.Calls("chat.postMessage"))
		r.tick(3, critical("gpu-007"))
		require.Empty(t, r.s.Messages())
		r.tick(3, critical("gpu-007"))
		require.Len(t, r.s.Messages(), 1, "one message, no line about what nobody saw")
		require.Equal(t, red, r.visible()[0].Color)
	})
}

func TestLostAnswerIsFoundInTheChannel(t *testing.T) {
	for _, channel := range []string{"C0123456789", "#gpu", "gpu"} {
		for _, how := range []struct{ restart, known bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
			restart, known := how.restart, how.known // a name has an id once anything was posted
			in(t, func(t *testing.T) {
				r := newRig(t, func(o *Options) { o.Routes[0].Channel = channel })
				if known {
					r.tick(3, down("gpu-001"))
				}
				r.s.LoseAnswers("chat.postMessage", 1)
				r.tick(2, down("gpu-001"), down("gpu-007"))
				if restart {
					r.restart()
				}
				r.tick(4, down("gpu-001"), down("gpu-007"))
				require.Len(t, r.visible(), 2)
				r.tick(50)
				for _, m := range r.visible() {
					require.Equal(t, green, m.Color)
				}
			})
		}
	}
}

func TestLostAnswerOfALineIsFoundInTheThread(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.s.LoseAnswers("chat.postMessage", 1)
		r.tick(4, critical("gpu-007"))
		require.Len(t, r.replies(), 1)
		r.restart()
		r.tick(4, critical("gpu-007"))
		require.Len(t, r.replies(), 1)
	})
}

func TestWithoutLeaveToReadAMessageTwiceIsBetterThanNone(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Routes[0].Channel = "C0123456789" })
		r.s.Fail("conversations.history", "missing_scope", 9)
		r.s.LimitRate("chat.postMessage", time.Second, 1)
		r.s.LoseAnswers("chat.postMessage", 1)
		r.tick(6, down("gpu-007"))
		require.Len(t, r.visible(), 2)
	})
}

func TestLostAnswerInANamedChannelThatIsNotListed(t *testing.T) {
	for name, tc := range map[string]struct {
		code  string
		times int
		want  int
	}{
		"private channels may not be listed": {"missing_scope", 1, 1},
		"no channel may be":                  {"missing_scope", 9, 2},
		"Slack is out of order for a while":  {"internal_error", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				r := newRig(t, func(o *Options) { o.Routes[0].Channel = "#gpu" })
				r.s.Fail("users.conversations", tc.code, tc.times)
				r.s.LoseAnswers("chat.postMessage", 1)
				r.tick(8, down("gpu-007"))
				require.Len(t, r.visible(), tc.want)
			})
		})
	}
}

func TestDeletedMessageComesAnew(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.s.Delete(r.s.Messages()[0].TS)
		r.tick(4, critical("gpu-007"))
		require.Len(t, r.visible(), 1)
		require.Equal(t, red, r.visible()[0].Color)
		r.s.Delete(r.visible()[0].TS)
		r.tick(50)
		require.Len(t, r.visible(), 1)
		require.Equal(t, green, r.visible()[0].Color)
	})
}

func TestDeletedMessageOfASilencedIncidentStaysAway(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.sup.set(silencedBy("alice", time.Now().Add(time.Hour)), false)
		r.s.Delete(r.s.Messages()[0].TS)
		r.tick(4, critical("gpu-007"))
		r.tick(50)
		require.Empty(t, r.visible())
	})
}

func TestArchivedChannelGetsTheNewestStateWhenItIsBack(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.s.Archive("#gpu", true)
		r.tick(8, critical("gpu-007"), down("gpu-008"))
		require.Len(t, r.s.Messages(), 1)
		r.s.Archive("#gpu", false)
		r.tick(16, critical("gpu-007"), down("gpu-008"))
		require.Len(t, r.visible(), 2)
		require.Equal(t, red, r.visible()[0].Color)
	})
}

func TestWhatWasDueIsToldEvenIfItIsOverWhenTheChannelIsBack(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.s.Archive("#gpu", true)
		r.tick(4, down("gpu-007"))
		r.tick(50)
		require.Empty(t, r.m.Live())
		r.restart()
		r.s.Archive("#gpu", false)
		r.tick(16)
		require.Len(t, r.s.Messages(), 1)
		require.Contains(t, r.s.Messages()[0].Text, "Resolved: ")
	})
}

func TestRotatedTokenIsReadAgain(t *testing.T) {
	in(t, func(t *testing.T) {
		token, fresh := fakeslack.Token, 0
		r := newRig(t, func(o *Options) {
			o.Token = func(again bool) (string, error) {
				if again {
					fresh++
					return "xoxb-new", nil
				}
				return token, nil
			}
		})
		r.s.Rotate("xoxb-new")
		r.tick(6, down("gpu-007"))
		require.Len(t, r.s.Messages(), 1)
		require.Equal(t, 1, fresh)
	})
}

func TestSlackDownFromOpenToResolveTellsOnce(t *testing.T) {
	for _, restart := range []bool{false, true} {
		in(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.s.Fail("", "500", 1000)
			r.tick(4, down("gpu-007"))
			r.tick(50)
			if restart {
				r.restart()
			}
			require.Empty(t, r.m.Live())
			r.s.Heal()
			r.tick(6)
			require.Len(t, r.s.Messages(), 1)
			require.Contains(t, r.s.Messages()[0].Text, "Resolved: ")
		})
	}
}

func TestRefusedLayoutFallsBackToText(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.s.Fail("chat.postMessage", "invalid_blocks", 1)
		r.tick(4, down("gpu-007"))
		require.Len(t, r.s.Messages(), 1)
		require.Empty(t, r.s.Messages()[0].Body)
		require.Contains(t, r.s.Messages()[0].Text, "NIC degraded: gpu-007/mlx5_3")
		r.tick(50)
		require.Contains(t, r.s.Messages()[0].Text, "Resolved: ")
	})
}

func TestOneRefusedIncidentDelaysNoOther(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.s.Fail("chat.postMessage", "msg_too_long", 2)
		r.tick(4, down("gpu-007"))
		require.Empty(t, r.s.Messages())
		r.tick(4, down("gpu-007"), down("gpu-008"))
		require.Len(t, r.s.Messages(), 1)
		r.tick(4, critical("gpu-007"), down("gpu-008"))
		require.Len(t, r.visible(), 2, "the next state is tried again")
	})
}
