package config

// Slack is the table [slack].
type Slack struct {
	// Token of a bot ("xoxb-…"). Better in a file.
	Token Secret `toml:"token"`
	// File with that token, read again after each change.
	TokenFile string `toml:"token_file" check:"file"`
	// Token of the app ("xapp-…"), for buttons. Better in a file.
	AppToken Secret `toml:"app_token"`
	// File with that token, read again after each change.
	AppTokenFile string `toml:"app_token_file" check:"file"`
	// Incoming webhook, the minimal way in: no edits, no threads, no buttons. It is a secret.
	WebhookURL Secret `toml:"webhook_url"`
	// File with that address, read again after each change.
	WebhookURLFile string `toml:"webhook_url_file" check:"file"`
	// Address of Slack's API, for a relay.
	APIURL URL `toml:"api_url" check:"required"`
	// Proxy to use.
	ProxyURL URL `toml:"proxy_url"`
	// Longest time for one request.
	Timeout Duration `toml:"timeout" check:"positive"`
	// Least time between two messages in one channel.
	MessageInterval Duration `toml:"message_interval" check:"positive"`
	// Open incidents in one channel above which a summary takes over.
	StormIncidents int `toml:"storm_incidents" check:"one"`
	// How the suspect is drawn against its peers: native tries Slack's own chart and falls back to a picture.
	Chart string `toml:"chart" check:"oneof=native|png|text|none"`
	// Groups of users ("S0…") that may press buttons. Empty is everybody in the channel.
	AllowedGroups []string `toml:"allowed_groups"`
	// Users ("U0…") that may press buttons besides.
	AllowedUsers []string `toml:"allowed_users"`
	// Who is told what. An incident goes to the first route that matches, and on while continue is set.
	Routes []SlackRoute `toml:"route"`
}

// SlackRoute is one [[slack.route]].
type SlackRoute struct {
	// Name for metrics and messages.
	Name string `toml:"name" check:"required" example:"gpu-oncall"`
	// Matchers of alert labels as in Alertmanager, such as 'severity=~"warning|critical"'. All must match; none matches everything.
	Matchers []string `toml:"matchers" check:"matcher"`
	// Channel, by id ("C0…") or name.
	Channel string `toml:"channel" example:"C0123456789"`
	// Who posts: this daemon, or Alertmanager's own Slack receiver.
	Mode string `toml:"mode" check:"oneof=direct|via_alertmanager"`
	// Go on to the next route after this one matched.
	Continue bool `toml:"continue"`
	// Who is mentioned at which severity, such as critical = ["@here", "S0GPUONCALL"].
	Mentions map[string][]string `toml:"mentions" check:"severity"`
	// Webhook of this channel, in place of the common one. It is a secret.
	WebhookURL Secret `toml:"webhook_url"`
	// File with that address, read again after each change.
	WebhookURLFile string `toml:"webhook_url_file" check:"file"`
}

func (s *Slack) setDefaults() {
	*s = Slack{
		APIURL:          mustURL("https://slack.com/api/"),
		Timeout:         15 * second,
		MessageInterval: second,
		StormIncidents:  20,
		Chart:           "native",
	}
}

func (r *SlackRoute) setDefaults() { *r = SlackRoute{Mode: "direct"} }

// TokenSource returns the bot's token, nil if there is none.
func (s Slack) TokenSource() SecretSource { return secretSource(s.Token, s.TokenFile) }

// AppTokenSource returns the app's token, nil if there is none.
func (s Slack) AppTokenSource() SecretSource { return secretSource(s.AppToken, s.AppTokenFile) }

// WebhookSource returns the webhook for r: its own, else the common one; nil if
// there is none.
func (s Slack) WebhookSource(r SlackRoute) SecretSource {
	if own := secretSource(r.WebhookURL, r.WebhookURLFile); own != nil {
		return own
	}
	return secretSource(s.WebhookURL, s.WebhookURLFile)
}
