package slack

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/fakeslack"
)

func TestRoutesByLabels(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) {
			o.Routes = []Route{
				{Name: "theirs", Matchers: []string{`class="gpu_throttle"`}, ViaAlertmanager: true},
				{Name: "pager", Matchers: []string{`severity="critical"`, `suspect_node=~"gpu-.*"`}, Channel: "#pager", Continue: true},
				{Name: "same", Matchers: []string{`severity="critical"`}, Channel: "pager", Continue: true},
				{Name: "all", Channel: "#gpu"},
			}
		})
		throttled := down("gpu-009")
		throttled.Class = diagnosis.GPUThrottle
		r.tick(4, down("gpu-007"), throttled)
		require.Len(t, r.visible(), 1)
		require.Equal(t, "gpu", r.visible()[0].ChannelName)
		r.tick(4, critical("gpu-007"), throttled)
		require.Len(t, r.visible(), 2, "a rise reaches the route of the higher severity")
		require.Equal(t, "pager", r.visible()[1].ChannelName)
		r.tick(60)
		for _, m := range r.visible() {
			require.Equal(t, green, m.Color, m.ChannelName)
		}
	})
}

func TestWhoWasToldStaysInformed(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) {
			o.Routes = []Route{{Name: "low", Matchers: []string{`severity="warning"`}, Channel: "#low"}}
		})
		r.tick(4, down("gpu-007"))
		r.tick(4, critical("gpu-007"))
		require.Equal(t, red, r.visible()[0].Color)
		r.restart()
		r.tick(60)
		require.Equal(t, green, r.visible()[0].Color)
		require.Len(t, r.visible(), 1)
	})
}

func TestMentionsBySeverity(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) {
			o.Routes[0].Mentions = map[string][]string{"critical": {"@here", "S0GPUONCALL", "U012AB", "@bob <x>"}}
		})
		r.tick(4, down("gpu-007"))
		require.NotContains(t, r.visible()[0].Body, "<!here>")
		r.tick(4, critical("gpu-007"))
		const who = "<!here> <!subteam^S0GPUONCALL> <@U012AB> @bob &lt;x&gt; "
		require.Contains(t, r.visible()[0].Body, who)
		require.Contains(t, r.replies()[0].Text, who+"Severity rises")
		r.tick(60)
		require.NotContains(t, r.visible()[0].Body, "<!here>", "a resolve calls nobody")
	})
}

func TestSupersedingIncidentTakesTheMessageOver(t *testing.T) {
	for _, restart := range []bool{false, true} {
		in(t, func(t *testing.T) {
			r := newRig(t, nil)
			coarse := down("gpu-007")
			coarse.Class, coarse.Reason = diagnosis.NodeSuspect, ""
			coarse.Suspects = []diagnosis.Suspect{{Kind: "node", Node: "gpu-007"}}
			r.tick(4, coarse)
			first := r.m.Live()[0].ID
			r.tick(2, down("gpu-007"))
			if restart {
				r.restart()
			}
			r.tick(4, down("gpu-007"))
			require.Len(t, r.m.Live(), 1)
			require.NotEqual(t, first, r.m.Live()[0].ID)
			require.Len(t, r.visible(), 1)
			require.Contains(t, r.visible()[0].Text, "NIC degraded")
			require.Len(t, r.replies(), 1)
			require.Contains(t, r.replies()[0].Text, "Now known more exactly")
			r.tick(150) // the former one is pruned meanwhile
			require.Len(t, r.visible(), 1)
			require.Equal(t, green, r.visible()[0].Color)
		})
	}
}

func TestReturnIsShownInTheSameMessage(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		for range 200 {
			r.tick(1)
			if len(r.m.Live()) == 0 {
				break
			}
		}
		r.tick(1)
		require.Equal(t, green, r.visible()[0].Color)
		r.tick(4, down("gpu-007"))
		require.Len(t, r.visible(), 1)
		require.Equal(t, yellow, r.visible()[0].Color)
		last := r.replies()[len(r.replies())-1]
		require.Contains(t, last.Text, "It came back")
		require.True(t, last.Broadcast)
	})
}

func TestWebhookPostsOpenRiseAndResolveOnly(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) {
			hook := o.APIURL[:len(o.APIURL)-len("/api/")] + "/services/T0/B0/fake-secret"
			o.Token = nil
			o.Routes = []Route{{Name: "hook", Webhook: func(bool) (string, error) { return hook, nil }}}
		})
		r.tick(6, down("gpu-007"))
		require.Len(t, r.s.Messages(), 1)
		r.restart()
		r.tick(6, critical("gpu-007"))
		require.Len(t, r.s.Messages(), 2)
		r.tick(60)
		require.Len(t, r.s.Messages(), 3)
		golden(t, "webhook.txt", r.s.Transcript())
	})
}

func TestWebhookOfASilencedIncidentStaysQuiet(t *testing.T) {
	in(t, func(t *testing.T) {
		s := fakeslack.New(time.Now)
		r := newRig(t, func(o *Options) {
			o.Token = nil
			o.Routes = []Route{{Name: "hook", Webhook: func(bool) (string, error) { return s.Webhook(), nil }}}
			o.HTTP.Transport = direct{s}
		})
		r.tick(4, down("gpu-007"))
		r.sup.set(silencedBy("alice", time.Now().Add(time.Hour)), false)
		r.tick(4, critical("gpu-007"))
		r.tick(60)
		require.Len(t, s.Messages(), 1)
	})
}

func TestMetricsAreWellFormed(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		families, err := r.reg.Gather()
		require.NoError(t, err)
		problems, err := promlint.NewWithMetricFamilies(families).Lint()
		require.NoError(t, err)
		require.Empty(t, problems)
		require.Len(t, families, 5)
	})
}

func TestOptionsAreChecked(t *testing.T) {
	source := newSource(t)
	token := func(bool) (string, error) { return "", nil }
	for name, c := range map[string]struct {
		o    Options
		says string
	}{
		"no source":  {Options{}, "slack: no source of incidents"},
		"no name":    {Options{Source: source, Routes: []Route{{}}}, `slack route "": each route needs a name of its own`},
		"two":        {Options{Source: source, Token: token, Routes: []Route{{Name: "a", Channel: "x"}, {Name: "a"}}}, `slack route "a": each route needs a name of its own`},
		"no way":     {Options{Source: source, Routes: []Route{{Name: "a", Channel: "x"}}}, `slack route "a": neither a token nor a webhook`},
		"no channel": {Options{Source: source, Token: token, Routes: []Route{{Name: "a"}}}, `slack route "a": no channel`},
		"policy":     {Options{Source: source, OnUnreachable: "x"}, `slack: on_unreachable must be "notify" or "hold", got "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.o)
			require.EqualError(t, err, c.says)
		})
	}
	_, err := New(Options{Source: source, Token: token, Routes: []Route{{Name: "a", Channel: "x", Matchers: []string{"="}}}})
	require.ErrorContains(t, err, `slack route "a": matcher "="`)
}
