package slack

import (
	"context"
	"net/http"
	"time"

	slackapi "github.com/slack-go/slack"
)

// hook is an incoming webhook. It can only post.
type hook struct {
	url  Secret
	http *http.Client
}

var errOnlyPosts = &apiError{class: classOther, code: "a webhook can only post"}

// PostMessage implements API; there is nothing to edit later.
func (h *hook) PostMessage(ctx context.Context, _ string, m *Message) (id, ts string, err error) {
	url, err := h.url(false)
	if err != nil {
		return "", "", &apiError{class: classToken, code: err.Error()}
	}
	blocks, attachments := layout(m)
	no := false
	msg := &slackapi.WebhookMessage{Text: m.Text, Attachments: attachments, UnfurlLinks: &no, UnfurlMedia: &no}
	if len(blocks) > 0 {
		msg.Blocks = &slackapi.Blocks{BlockSet: blocks}
	}
	if err := slackapi.PostWebhookCustomHTTPContext(ctx, url, h.http, msg); err != nil {
		return "", "", translate(err)
	}
	return "", "", nil
}

// UpdateMessage implements API.
func (h *hook) UpdateMessage(context.Context, string, string, *Message) error { return errOnlyPosts }

// FindMessage implements API.
func (h *hook) FindMessage(context.Context, string, string, string, time.Time) (string, error) {
	return "", errOnlyPosts
}

// FindChannel implements API.
func (h *hook) FindChannel(context.Context, string) (string, error) { return "", errOnlyPosts }

// AuthTest implements API; a webhook cannot be asked.
func (h *hook) AuthTest(context.Context) (string, error) { return "", nil }

// Tell implements API.
func (h *hook) Tell(context.Context, string, string, string) error { return errOnlyPosts }

// UploadFile implements API.
func (h *hook) UploadFile(context.Context, string, string, string, []byte) error { return errOnlyPosts }

// Members implements API.
func (h *hook) Members(context.Context, string) ([]string, error) { return nil, errOnlyPosts }
