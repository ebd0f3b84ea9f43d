package slack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Routes by severity often lead to one channel, with other people to call. A rise
// changes the route and not the message.
func TestRiseToAnotherRouteOfTheSameChannelIsOneMessage(t *testing.T) {
	for _, restart := range []bool{false, true} {
		in(t, func(t *testing.T) {
			r := newRig(t, func(o *Options) {
				o.Routes = []Route{
					{Name: "urgent", Matchers: []string{`severity="critical"`}, Channel: "#gpu", Mentions: map[string][]string{"critical": {"@here"}}},
					{Name: "rest", Channel: "gpu"},
				}
			})
			r.tick(4, down("gpu-007"))
			if restart {
				r.restart()
			}
			r.tick(4, critical("gpu-007"))
			require.Len(t, r.visible(), 1)
			require.Equal(t, red, r.visible()[0].Color)
			require.Len(t, r.replies(), 1)
			require.Contains(t, r.replies()[0].Text, "<!here> Severity rises")
			for name := range r.m.Live()[0].Deliveries {
				require.NotEqual(t, "slack/rest", name, "one record for one message")
			}
			if restart {
				r.restart()
			}
			r.tick(60)
			require.Len(t, r.visible(), 1)
			require.Equal(t, green, r.visible()[0].Color)
		})
	}
}

// A message whose answer was lost may be older than what happened since: the rise
// that came in between is still to be told.
func TestARiseAfterALostAnswerIsTold(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Routes[0].Channel = "C0123456789" })
		r.s.LoseAnswers("chat.postMessage", 1)
		r.s.Fail("conversations.history", "internal_error", 4)
		r.tick(2, down("gpu-007"))
		r.tick(8, critical("gpu-007"))
		require.Len(t, r.visible(), 1)
		require.Equal(t, red, r.visible()[0].Color)
		require.Len(t, r.replies(), 1)
		require.Contains(t, r.replies()[0].Text, "Severity rises")
	})
}

func TestLostAnswerIsFoundInABusyChannel(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Routes[0].Channel = "C0123456789" })
		r.s.LoseAnswers("chat.postMessage", 1)
		r.s.Fail("conversations.history", "internal_error", 5)
		r.m.Apply(result(down("gpu-007")))
		r.tick(1, down("gpu-007"))
		r.s.Chat("C0123456789", 350)
		r.tick(8, down("gpu-007"))
		n := 0
		for _, m := range r.visible() {
			if m.Color != "" {
				n++
			}
		}
		require.Equal(t, 1, n)
	})
}

// A renamed channel is still the one that people read.
func TestARenamedChannelIsKnownByItsID(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.s.Rename("#gpu", "gpu-alerts")
		r.tick(4, down("gpu-007"), down("gpu-008"))
		require.Len(t, r.visible(), 2)
		require.Equal(t, r.visible()[0].Channel, r.visible()[1].Channel)
	})
}

// A reload leads a route to another channel. Messages stay where they are, and a
// lost answer is looked for where it was posted.
func TestARouteThatMovesToAnotherChannel(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.opts.Routes[0].Channel = "#elsewhere"
		r.restart()
		r.s.LoseAnswers("chat.postMessage", 1)
		r.tick(8, down("gpu-007"), down("gpu-008"))
		require.Len(t, r.visible(), 2)
		require.Equal(t, "elsewhere", r.visible()[1].ChannelName)
		r.tick(60)
		for _, m := range r.visible() {
			require.Equal(t, green, m.Color)
		}
	})
}

// A route gets a bot instead of a webhook: what is over stays over.
func TestABotDoesNotRepeatWhatAWebhookSaid(t *testing.T) {
	in(t, func(t *testing.T) {
		var hook string
		r := newRig(t, func(o *Options) {
			hook = o.APIURL[:len(o.APIURL)-len("/api/")] + "/services/T0/B0/fake-secret"
			o.Routes = []Route{{Name: "oncall", Webhook: func(bool) (string, error) { return hook, nil }}}
		})
		r.tick(4, down("gpu-007"), down("gpu-008"))
		for range 60 {
			r.tick(1, down("gpu-008"))
		}
		require.Len(t, r.s.Messages(), 3)
		r.opts.Routes = []Route{{Name: "oncall", Channel: "#gpu"}}
		r.restart()
		r.tick(4, down("gpu-008"))
		require.Len(t, r.s.Messages(), 4, "only what is open gets a message that can be edited")
	})
}

// Slack refuses the layout: the text alone still calls people.
func TestPlainTextCallsPeopleToo(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Routes[0].Mentions = map[string][]string{"warning": {"@here"}} })
		r.s.Fail("chat.postMessage", "invalid_blocks", 1)
		r.tick(4, down("gpu-007"))
		require.Len(t, r.visible(), 1)
		require.Contains(t, r.visible()[0].Text, "<!here> ")
	})
}

// The record of a summary outlives the incident that it stands beside.
func TestSummaryIsKnownWhoeverItStandsBeside(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Storm = 2 })
		coarse := down("gpu-000")
		coarse.Class, coarse.Severity, coarse.Suspects[0].Kind, coarse.Suspects[0].Device = "node_suspect", 3, "node", ""
		r.tick(6, coarse, down("gpu-001"), down("gpu-002"))
		before := len(r.visible())
		exact := down("gpu-000")
		exact.Severity = 3
		r.m.Apply(result(exact, down("gpu-001"), down("gpu-002")))
		time.Sleep(interval)
		r.m.Apply(result(exact, down("gpu-001"), down("gpu-002"))) // supersedes, and the process dies
		data, err := r.m.Save()
		require.NoError(t, err)
		r.stop()
		r.revive(data)
		r.tick(8, exact, down("gpu-001"), down("gpu-002"))
		require.Len(t, r.visible(), before)
	})
}
