package main

import (
	"context"
	"fmt"
	"net/http"

	promconfig "github.com/prometheus/common/config"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/alertmanager"
	"github.com/collwatch/collwatch/notify/slack"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/web"
)

// addSlack adds the receiver for the routes of [slack], if there are any.
func (g *generation) addSlack(source deliverySource) error {
	s := &g.cfg.Slack
	if len(s.Routes) == 0 {
		return nil
	}
	client, err := slackClient(s, g.dial)
	if err != nil {
		return err
	}
	// An interface that holds a nil pointer is not nil.
	var suppressor alertmanager.Suppressor
	if g.alerts != nil {
		suppressor = g.alerts
	}
	var silencer slack.Silencer
	if g.alerts != nil {
		silencer = g.alerts
	}
	n, err := slack.New(slack.Options{
		AppToken: slackSecret(s.AppTokenSource()), Silencer: silencer, AllowedUsers: s.AllowedUsers, AllowedGroups: s.AllowedGroups,
		Proxy:  s.ProxyURL.Reveal(),
		Source: source, Renderer: &g.asm.opts.renderer, Suppressor: suppressor, Routes: slackRoutes(s),
		Token: slackSecret(s.TokenSource()), APIURL: s.APIURL.Reveal().String(), HTTP: client,
		Series: g.series(), Chart: s.Chart,
		MessageInterval: s.MessageInterval.Std(), Storm: s.StormIncidents,
		OnUnreachable: g.cfg.Alertmanager.OnUnreachable, Settle: g.cfg.Alertmanager.Settle.Std(),
		Logger: g.log, Registerer: g.reg,
	})
	if err != nil {
		return err
	}
	g.receivers = append(g.receivers, receiver{name: "slack", sync: n.Sync, run: n.Run})
	return nil
}

// series is the chart of an incident's page for Slack to draw.
func (g *generation) series() func(context.Context, *incidents.Incident) (slack.Series, bool) {
	site := web.NewSite(web.Options{
		Settings: func() web.Settings { return webSettings(g.cfg) }, State: g.pages.Load,
		Querier: func(source string) promapi.Querier { return g.sources[source] },
	})
	return func(ctx context.Context, inc *incidents.Incident) (slack.Series, bool) {
		f, ok := site.Figures(ctx, inc)
		return slack.Series{
			Title: f.Title, Unit: f.Unit, Text: f.Text, Times: f.Times, Suspect: f.Suspect, Median: f.Median, Peers: f.Peers, Onset: inc.StartedAt,
		}, ok
	}
}

// slackClient is the HTTP client for all calls. Tokens and addresses are secrets
// and not part of it.
func slackClient(s *config.Slack, dial dialer) (*http.Client, error) {
	c := promconfig.DefaultHTTPClientConfig
	if !s.ProxyURL.IsZero() {
		c.ProxyURL = promconfig.URL{URL: s.ProxyURL.Reveal()}
	} else {
		c.ProxyFromEnvironment = true
	}
	rt, err := promconfig.NewRoundTripperFromConfig(c, "slack", clientOptions(dial)...)
	if err != nil {
		return nil, fmt.Errorf("slack: %w", err)
	}
	return &http.Client{Transport: rt, Timeout: s.Timeout.Std()}, nil
}

// slackRoutes maps the configured routes. A route with a webhook of its own uses
// it even if there is a bot; the common webhook is used if there is none.
func slackRoutes(s *config.Slack) []slack.Route {
	out := make([]slack.Route, 0, len(s.Routes))
	for i := range s.Routes {
		r := &s.Routes[i]
		route := slack.Route{
			Name: r.Name, Matchers: r.Matchers, Channel: r.Channel, Continue: r.Continue, Mentions: r.Mentions,
			ViaAlertmanager: r.Mode == "via_alertmanager",
		}
		if r.WebhookURL != "" || r.WebhookURLFile != "" || s.TokenSource() == nil {
			route.Webhook = slackSecret(s.WebhookSource(*r))
		}
		out = append(out, route)
	}
	return out
}

// slackSecret reads a secret anew for each use; a file that Slack refused the
// content of is read whatever its time stamp says.
func slackSecret(s config.SecretSource) slack.Secret {
	if s == nil {
		return nil
	}
	return func(fresh bool) (string, error) {
		get := s.Get
		if f, ok := s.(*config.SecretFile); ok && fresh {
			get = f.Reload
		}
		secret, err := get()
		return secret.Reveal(), err
	}
}

// slackText is the message of an incident as text, for the terminal.
func slackText(inc *incidents.Incident, r *incidents.Renderer) string { return slack.Text(inc, r) }
