package config

import (
	"fmt"
	"net/url"
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
