package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

// Silencer creates silences. *alertmanager.Notifier is one.
type Silencer interface {
	Silence(ctx context.Context, r alertmanager.SilenceRequest) (alertmanager.Silence, error)
}

// Actions of the buttons.
const (
	actionSilence = "collwatch_silence"
	actionAck     = "collwatch_acknowledge"
)

// ackFor bounds an acknowledgement, which ends with its incident: Alertmanager
// wants an end, and one that was forgotten must not last for ever.
const ackFor = 7 * 24 * time.Hour

// menu are the durations of a silence that a person can choose from, besides
// one that lasts until the incident is over.
func menu() []time.Duration { return []time.Duration{time.Hour, 8 * time.Hour} }

// untilResolved is the word of that one.
const untilResolved = "resolved"

// press is a button that a person pressed.
type press struct {
	action, value string
	channel       string
	user, name    string // id and name of the person
}

// pressed does what a button asks for and returns what the person is told.
// Presses come twice, late, and after the end; the incident is looked up first
// and the answer says what was found.
func (n *Notifier) pressed(ctx context.Context, p press) string {
	word, thread, _ := strings.Cut(p.value, ":")
	duration, err := time.ParseDuration(word)
	known := p.action == actionAck || p.action == actionSilence && (word == untilResolved || err == nil && slices.Contains(menu(), duration))
	if !known {
		return "This button is not known any more."
	}
	inc, held, ok := n.lookup(thread)
	switch {
	case !ok:
		return "This incident is over and forgotten."
	case inc.State == incidents.Resolved:
		return "This incident is over: " + ending(&inc)
	case held != nil:
		return "Nothing to do: it is " + held.Text + " already."
	case !n.allowed(ctx, p.user):
		return "You may not silence: ask for slack.allowed_users or slack.allowed_groups."
	}
	r := alertmanager.SilenceRequest{
		Incident: inc.ID, Matchers: inc.SilenceMatchers(), Duration: duration,
		Author: oneLine(p.name + " (Slack " + p.user + ")"), Comment: "collwatch incident " + inc.ID,
	}
	if p.action == actionAck || word == untilResolved {
		r.Duration, r.UntilResolved = ackFor, true
	}
	s, err := n.opts.Silencer.Silence(ctx, r)
	if err != nil {
		n.opts.Logger.Warn("a silence asked for in slack cannot be set", "incident", inc.ID, "err", err)
		return "The silence could not be set: Alertmanager did not take it."
	}
	n.opts.Logger.Info("silence set from slack", "incident", inc.ID, "silence", s.ID, "by", r.Author, "until_resolved", r.UntilResolved)
	if n.opts.Suppressor != nil {
		_ = n.opts.Suppressor.Refresh(ctx) // the next poll tells otherwise
	}
	poke(n.wake)
	switch {
	case p.action == actionAck:
		return "Acknowledged: silenced until it is resolved."
	case r.UntilResolved:
		return "Silenced until it is resolved."
	}
	return fmt.Sprintf("Silenced for %s, until %s.", incidents.Span(duration), clock(s.Until))
}

// lookup finds an incident that was shown, by its thread.
func (n *Notifier) lookup(thread string) (inc incidents.Incident, held *hold, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, it := range n.items {
		if it.thread == thread {
			return it.inc, it.rec.Held, true
		}
	}
	return inc, nil, false
}

// allowed says whether a person may silence. Without lists everybody in the
// channel may; a group that cannot be read lets nobody in.
func (n *Notifier) allowed(ctx context.Context, user string) bool {
	if len(n.opts.AllowedUsers)+len(n.opts.AllowedGroups) == 0 || slices.Contains(n.opts.AllowedUsers, user) {
		return true
	}
	for _, g := range n.opts.AllowedGroups {
		members, err := n.bot.Members(ctx, g)
		if err != nil {
			n.opts.Logger.Warn("members of a slack group cannot be read; the scope is usergroups:read", "group", g, "err", err)
		}
		if slices.Contains(members, user) {
			return true
		}
	}
	return false
}

// withButtons says that messages have buttons.
func (o *Options) withButtons() bool { return o.AppToken != nil && o.Silencer != nil }

// buttons are those of an incident: none when it is over, or suppressed, where
// a line says by whom and until when in their place.
func buttons(thread string, inc *incidents.Incident, held *hold) []Button {
	if held != nil || inc.State == incidents.Resolved {
		return nil
	}
	b := Button{Action: actionSilence, Text: "Silence"}
	for _, d := range menu() {
		b.Choices = append(b.Choices, Choice{"for " + incidents.Span(d), d.String() + ":" + thread})
	}
	b.Choices = append(b.Choices, Choice{"until resolved", untilResolved + ":" + thread})
	return []Button{b, {Action: actionAck, Text: "Acknowledge", Value: ":" + thread}}
}

// maxURL is the longest address that a button may have.
const maxURL = 3000

// button makes a link a button, if it may be one: Slack refuses the whole
// message for an address that is none.
func (l link) button() (Button, bool) {
	url := address(l.url)
	return Button{Action: "collwatch_" + strings.ToLower(l.label), Text: l.label, URL: url}, url != "" && units(url) <= maxURL
}
