package slack

import (
	"context"
	"fmt"
	"time"
)

// API is what this package needs of Slack. It hides a client library that
// breaks its own interface about once a month.
type API interface {
	// PostMessage posts and returns the channel's id and the message's time
	// stamp, both needed for an edit. A webhook returns neither.
	PostMessage(ctx context.Context, channel string, m *Message) (id, ts string, err error)
	// UpdateMessage replaces a message. The channel must be an id.
	UpdateMessage(ctx context.Context, channel, ts string, m *Message) error
	// FindMessage looks for a message with a key, posted since a time in a
	// channel or, if thread is set, in that thread. "" is none.
	FindMessage(ctx context.Context, channel, thread, key string, since time.Time) (ts string, err error)
	// FindChannel returns the id of a channel by its name, of those that the bot
	// is in: no other can be read. "" is none.
	FindChannel(ctx context.Context, name string) (id string, err error)
	// AuthTest says who the token belongs to.
	AuthTest(ctx context.Context) (who string, err error)
	// Tell shows a text to one person in a channel.
	Tell(ctx context.Context, channel, user, text string) error
	// UploadFile puts a picture into a thread. Slack gives no time stamp back.
	UploadFile(ctx context.Context, channel, thread, title string, png []byte) error
	// Members are the ids of the users in a group.
	Members(ctx context.Context, group string) ([]string, error)
}

// Message is a message in the form in which Slack gets it. All texts are
// escaped and within the limits.
type Message struct {
	// Text is for phones and screen readers.
	Text string
	// Header is plain text, at most 150 characters; "" is a message of text
	// alone, such as a line in a thread.
	Header string
	// Lead is the first section, above the bar.
	Lead string
	// Color is that of the bar beside the sections.
	Color    string
	Sections []string
	// Context are lines in small print.
	Context []string
	// Buttons stand below the sections.
	Buttons []Button
	// Thread is the time stamp of the message to answer to; Broadcast shows the
	// answer in the channel too.
	Thread    string
	Broadcast bool
	// Chart is drawn below the text by Slack itself; nil is none.
	Chart *Series
	// Key finds the message again.
	Key string
}

// Button is a button, a menu if it has choices, or a link if it has an address.
type Button struct {
	Action, Text, Value, URL string
	Choices                  []Choice
}

// Choice is an entry of a menu.
type Choice struct{ Text, Value string }

// class says what a failure asks for.
type class string

const (
	classNetwork     class = "network"      // no answer, or 5xx: it may have happened
	classRateLimited class = "rate_limited" // wait
	classToken       class = "token"        // read the token again
	classChannel     class = "channel"      // a person has to mend the channel
	classGone        class = "gone"         // the message is no more
	classContent     class = "content"      // Slack refuses what the message holds
	classOther       class = "other"
)

func classes() []class {
	return []class{classNetwork, classRateLimited, classToken, classChannel, classGone, classContent, classOther}
}

// apiError is an answer of Slack, or none. It never holds a token or an
// address.
type apiError struct {
	class class
	code  string
	retry time.Duration
}

func (e *apiError) Error() string {
	if e.retry > 0 {
		return fmt.Sprintf("slack: %s, wait %s", e.code, e.retry)
	}
	return "slack: " + e.code
}

// happened says that the call may have had its effect in spite of the error.
func (e *apiError) happened() bool { return e.class == classNetwork }

// classOf sorts Slack's error names.
func classOf(code string) class {
	switch code {
	case "ratelimited", "rate_limited":
		return classRateLimited
	case "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org":
		return classNetwork
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "no_permission",
		"org_login_required", "ekm_access_denied", "missing_scope", "access_denied", "not_allowed_token_type":
		return classToken
	case "channel_not_found", "is_archived", "not_in_channel", "restricted_action", "channel_is_archived", "no_service",
		"action_prohibited", "posting_to_general_channel_denied", "restricted_action_read_only_channel", "no_team",
		"restricted_action_thread_only_channel", "restricted_action_non_threadable_channel", "team_access_not_granted":
		return classChannel
	case "message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found", "cannot_reply_to_message":
		return classGone
	case "invalid_blocks", "invalid_blocks_format", "invalid_attachments", "msg_too_long", "msg_blocks_too_long", "no_text",
		"too_many_attachments", "invalid_payload", "attachment_payload_limit_exceeded", "metadata_too_large",
		"invalid_metadata_format", "invalid_metadata_schema", "block_mismatch", "invalid_arguments", "invalid_form_data", "400":
		return classContent
	}
	return classOther
}
