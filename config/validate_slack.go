package config

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/prometheus/alertmanager/pkg/labels"
)

func (c *checker) slack(s *Slack) {
	c.oneSecret("slack", "token", s.Token != "", s.TokenFile != "")
	c.oneSecret("slack", "app_token", s.AppToken != "", s.AppTokenFile != "")
	c.oneSecret("slack", "webhook_url", s.WebhookURL != "", s.WebhookURLFile != "")
	c.webhook("slack.webhook_url", s.WebhookURL)
	if s.AppTokenSource() != nil && s.TokenSource() == nil {
		c.add("slack.app_token", "needs token or token_file too: buttons come with messages of the bot")
	}
	if len(s.Routes) == 0 && (s.TokenSource() != nil || s.WebhookSource(SlackRoute{}) != nil) {
		c.addTable("slack", "has a token or webhook and no [[slack.route]]: nothing would be sent")
	}
	names := map[string]bool{}
	for i, route := range s.Routes {
		at := fmt.Sprintf("slack.route[%d]", i)
		c.unique(names, at, route.Name)
		c.oneSecret(at, "webhook_url", route.WebhookURL != "", route.WebhookURLFile != "")
		c.webhook(at+".webhook_url", route.WebhookURL)
		if route.Mode != "direct" {
			continue
		}
		switch {
		case s.TokenSource() == nil && s.WebhookSource(route) == nil:
			c.addTable(at, "is of mode \"direct\" and has no way to Slack: set token_file or webhook_url_file in [slack]")
		case s.TokenSource() != nil && secretSource(route.WebhookURL, route.WebhookURLFile) == nil && route.Channel == "":
			c.add(at+".channel", "is missing")
		}
	}
	c.unreached(s.Routes)
}

// unreached reports routes that no incident gets to, since one before them takes
// all that they ask for and does not continue. It reports what is certain only:
// several routes that together leave nothing are not found.
func (c *checker) unreached(routes []SlackRoute) {
	type taker struct {
		name     string
		matchers labels.Matchers
	}
	var takers []taker
	for i, r := range routes {
		own, ok := parsed(r.Matchers)
		if !ok {
			continue // reported where it stands
		}
		first := slices.IndexFunc(takers, func(t taker) bool {
			return !slices.ContainsFunc(t.matchers, func(m *labels.Matcher) bool { return !implied(m, own) })
		})
		if first >= 0 {
			c.addTable(fmt.Sprintf("slack.route[%d]", i), fmt.Sprintf(
				"is never reached: the route %q before it takes all of its incidents; put this one first, or set continue there", takers[first].name))
			continue
		}
		if !r.Continue {
			takers = append(takers, taker{r.Name, own})
		}
	}
}

func parsed(texts []string) (labels.Matchers, bool) {
	var all labels.Matchers
	for _, text := range texts {
		m, err := labels.ParseMatcher(text)
		if err != nil {
			return nil, false
		}
		all = append(all, m)
	}
	return all, true
}

// implied says that whatever fits all of the given matchers fits m too.
func implied(m *labels.Matcher, given labels.Matchers) bool {
	if m.Type == labels.MatchRegexp && m.Value == ".*" {
		return true
	}
	// Some labels have few values, all known.
	if values := map[string][]string{"severity": severities, "source": {"collwatch"}}[m.Name]; len(values) > 0 {
		return !slices.ContainsFunc(values, func(v string) bool {
			left := !slices.ContainsFunc(given, func(g *labels.Matcher) bool { return g.Name == m.Name && !g.Matches(v) })
			return left && !m.Matches(v)
		})
	}
	return slices.ContainsFunc(given, func(g *labels.Matcher) bool {
		return g.Name == m.Name && (g.Type == m.Type && g.Value == m.Value || g.Type == labels.MatchEqual && m.Matches(g.Value))
	})
}

// webhook checks an address that is a secret as a whole: no message shows it.
func (c *checker) webhook(at string, address Secret) {
	if address == "" {
		return
	}
	if u, err := url.Parse(address.Reveal()); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		c.add(at, "is not a URL with http or https (not shown, it is a secret)")
	}
}
