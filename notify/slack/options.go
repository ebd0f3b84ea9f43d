package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

// Source is where incidents come from, as for Alertmanager.
type Source = alertmanager.Source

// Secret returns a token or address that may rotate. fresh is set after Slack
// refused the former one: look again whatever a cache says.
type Secret func(fresh bool) (string, error)

// What to do while nobody can say whether an alert is silenced.
const (
	Notify = "notify" // tell, with a line that silences could not be checked
	Hold   = "hold"   // wait until it can be checked
)

// Route sends incidents with certain labels to a channel.
type Route struct {
	// Name is for records, metrics and messages. Records of what was sent are
	// kept under it: a new name starts new messages.
	Name string
	// Matchers of alert labels, in Alertmanager's syntax. All must match.
	Matchers []string
	// Channel is an id (better: only by id can a message whose answer was lost
	// be found again) or a name.
	Channel string
	// Webhook is set for a route that posts by incoming webhook, without edits.
	Webhook Secret
	// ViaAlertmanager leaves what matches to Alertmanager's own Slack receiver.
	ViaAlertmanager bool
	// Continue goes on to the next route after this one matched.
	Continue bool
	// Mentions are who is mentioned, by the word of the severity: "@here",
	// "@channel", a user ("U0…") or a group of users ("S0…").
	Mentions map[string][]string

	matchers labels.Matchers
}

// Options are the settings of a Notifier.
type Options struct {
	Source   Source
	Renderer *incidents.Renderer
	// Suppressor says what is silenced; nil is nothing.
	Suppressor alertmanager.Suppressor
	Routes     []Route
	// Token is the bot's; nil if all routes have webhooks.
	Token Secret
	// AppToken is the app's, for buttons; nil is no buttons. Silencer does what
	// they ask for, AllowedUsers and AllowedGroups may press them; both empty is
	// everybody in the channel.
	AppToken                    Secret
	Silencer                    Silencer
	AllowedUsers, AllowedGroups []string
	// Proxy is used for the connection of the buttons; nil is the environment's.
	Proxy *url.URL
	// APIURL is the Web API's; "" is Slack's own.
	APIURL string
	// HTTP is the client for all calls; nil has a timeout of 15 s. Its timeout
	// bounds a call.
	HTTP *http.Client
	// MessageInterval is the least time between two calls about one channel; 0
	// is 1 s, which is what Slack allows.
	MessageInterval time.Duration
	// Storm is the number of open incidents in a channel above which a summary
	// takes over; 0 is 20.
	Storm int
	// Series returns the course of the signal that decided, for the chart in the
	// thread; nil, or false, is no chart. Chart is one of the Chart constants; ""
	// is ChartNative.
	Series func(context.Context, *incidents.Incident) (Series, bool)
	Chart  string
	// OnUnreachable is Notify or Hold; "" is Notify.
	OnUnreachable string
	// Settle is the time between a post to Alertmanager and the look whether it
	// is silenced; 0 is 2 s.
	Settle time.Duration

	// Now is the clock; nil is time.Now.
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() (Options, error) {
	orElse(&o.MessageInterval, time.Second)
	orElse(&o.Storm, 20)
	orElse(&o.OnUnreachable, Notify)
	orElse(&o.Chart, ChartNative)
	orElse(&o.Settle, 2*time.Second)
	if o.Renderer == nil {
		o.Renderer = &incidents.Renderer{}
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: 15 * time.Second}
	}
	o.HTTP = guarded(o.HTTP)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Source == nil {
		return o, errors.New("slack: no source of incidents")
	}
	if o.OnUnreachable != Notify && o.OnUnreachable != Hold {
		return o, fmt.Errorf("slack: on_unreachable must be %q or %q, got %q", Notify, Hold, o.OnUnreachable)
	}
	return o, o.checkRoutes()
}

func (o *Options) checkRoutes() error {
	routes := make([]Route, len(o.Routes))
	seen := map[string]bool{}
	for i, r := range o.Routes {
		switch {
		case r.Name == "" || seen[r.Name]:
			return fmt.Errorf("slack route %q: each route needs a name of its own", r.Name)
		case r.ViaAlertmanager || r.Webhook != nil:
		case o.Token == nil:
			return fmt.Errorf("slack route %q: neither a token nor a webhook", r.Name)
		case r.Channel == "":
			return fmt.Errorf("slack route %q: no channel", r.Name)
		}
		for _, text := range r.Matchers {
			m, err := labels.ParseMatchers(text)
			if err != nil {
				return fmt.Errorf("slack route %q: matcher %q: %w", r.Name, text, err)
			}
			r.matchers = append(r.matchers, m...)
		}
		seen[r.Name] = true
		routes[i] = r
	}
	o.Routes = routes
	return nil
}

func orElse[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// matches says that an incident's labels are the route's.
func (r *Route) matches(set map[string]string) bool {
	for _, m := range r.matchers {
		if !m.Matches(set[m.Name]) {
			return false
		}
	}
	return true
}

// deliveryName is the name of the route's records beside the incidents.
func (r *Route) deliveryName() string { return "slack/" + r.Name }

// channelKey is equal for routes that share a sender.
func (r *Route) channelKey() string {
	if r.Webhook != nil {
		return "webhook:" + r.Name
	}
	return strings.TrimPrefix(r.Channel, "#")
}

// matching returns the routes that an incident goes to now. Two routes to one
// channel give one message.
func matching(routes []Route, inc *incidents.Incident) []*Route {
	set := inc.AlertLabels()
	var out []*Route
	seen := map[string]bool{}
	for i := range routes {
		r := &routes[i]
		if !r.matches(set) {
			continue
		}
		if key := r.channelKey(); !r.ViaAlertmanager && !seen[key] {
			seen[key] = true
			out = append(out, r)
		}
		if !r.Continue {
			break
		}
	}
	return out
}
