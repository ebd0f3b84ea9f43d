package slack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	slackapi "github.com/slack-go/slack"
)

// eventType marks our messages in their metadata.
const eventType = "collwatch_incident"

// searchWindow bounds a search: a call ends after its time-out, and clocks
// differ.
const searchWindow = 5 * time.Minute

// historyPages bounds what is read of a busy channel in that time, of 200
// messages each; some apps get 15.
const historyPages = 20

// channelPages bounds the list of the channels that a bot is in, of 200 each.
const channelPages = 10

// bot is the Web API by a bot's token.
type bot struct {
	token Secret
	url   string
	http  *http.Client

	mu     sync.Mutex
	stale  bool // Slack refused the token
	used   string
	client *slackapi.Client
}

func newBot(o *Options) *bot { return &bot{token: o.Token, url: o.APIURL, http: o.HTTP} }

// api returns a client with the present token.
func (b *bot) api() (*slackapi.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	token, err := b.token(b.stale)
	if err != nil {
		return nil, &apiError{class: classToken, code: err.Error()}
	}
	b.stale = false
	if b.client == nil || token != b.used {
		opts := []slackapi.Option{slackapi.OptionHTTPClient(b.http)}
		if b.url != "" {
			opts = append(opts, slackapi.OptionAPIURL(strings.TrimRight(b.url, "/")+"/"))
		}
		b.client, b.used = slackapi.New(token, opts...), token
	}
	return b.client, nil
}

// failed turns the library's errors into ours.
func (b *bot) failed(err error) error {
	if err == nil {
		return nil
	}
	e := translate(err)
	if e.class == classToken {
		b.mu.Lock()
		b.stale = true
		b.mu.Unlock()
	}
	return e
}

// translate never keeps the URL that is in an error of the network: it is a
// secret for a webhook.
func translate(err error) *apiError {
	if own, ok := errors.AsType[*apiError](err); ok {
		return own
	}
	if limited, ok := errors.AsType[*slackapi.RateLimitedError](err); ok {
		return &apiError{class: classRateLimited, code: "rate_limited", retry: limited.RetryAfter}
	}
	if answer, ok := errors.AsType[slackapi.SlackErrorResponse](err); ok {
		return &apiError{class: classOf(answer.Err), code: answer.Err}
	}
	if status, ok := errors.AsType[slackapi.StatusCodeError](err); ok {
		return ofStatus(status.Code)
	}
	return &apiError{class: classNetwork, code: unreachable(err)}
}

// ofStatus sorts bare HTTP answers, which are all that a webhook gives.
func ofStatus(status int) *apiError {
	e := &apiError{class: classOther, code: "HTTP " + strconv.Itoa(status)}
	switch {
	case status/100 == 3:
		e.class, e.code = classChannel, e.code+": redirects are not followed, check the address"
	case status == http.StatusTooManyRequests:
		e.class = classRateLimited
	case status >= 500, status == http.StatusRequestTimeout:
		e.class = classNetwork
	case status == http.StatusUnauthorized:
		e.class = classToken
	case status == http.StatusForbidden, status == http.StatusNotFound, status == http.StatusGone:
		e.class = classChannel
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge:
		e.class = classContent
	}
	return e
}

// PostMessage implements API.
func (b *bot) PostMessage(ctx context.Context, channel string, m *Message) (id, ts string, err error) {
	api, err := b.api()
	if err != nil {
		return "", "", err
	}
	opts := options(m)
	if m.Thread != "" {
		opts = append(opts, slackapi.MsgOptionTS(m.Thread))
	}
	if m.Broadcast {
		opts = append(opts, slackapi.MsgOptionBroadcast())
	}
	id, ts, err = api.PostMessageContext(ctx, channel, opts...)
	if err == nil && ts == "" {
		// Not Slack, or not all of its answer: whether the message is there is
		// looked for before it is posted again.
		err = &apiError{class: classNetwork, code: "an answer without a time stamp"}
	}
	return id, ts, b.failed(err)
}

// UpdateMessage implements API.
func (b *bot) UpdateMessage(ctx context.Context, channel, ts string, m *Message) error {
	api, err := b.api()
	if err != nil {
		return err
	}
	opts := options(m)
	if m.Header == "" {
		// An edit keeps what it does not mention.
		opts = append(opts, slackapi.MsgOptionBlocks(), slackapi.MsgOptionAttachments([]slackapi.Attachment{}...))
	}
	_, _, _, err = api.UpdateMessageContext(ctx, channel, ts, opts...)
	return b.failed(err)
}

// FindMessage implements API.
func (b *bot) FindMessage(ctx context.Context, channel, thread, key string, since time.Time) (string, error) {
	api, err := b.api()
	if err != nil {
		return "", err
	}
	oldest, latest := fmt.Sprintf("%d.000000", since.Unix()), fmt.Sprintf("%d.000000", since.Add(searchWindow).Unix())
	cursor := ""
	for range historyPages {
		var found []slackapi.Message
		if thread != "" {
			found, _, cursor, err = api.GetConversationRepliesContext(ctx, &slackapi.GetConversationRepliesParameters{
				ChannelID: channel, Timestamp: thread, Oldest: oldest, Latest: latest, Cursor: cursor, Limit: 200, IncludeAllMetadata: true,
			})
		} else {
			var page *slackapi.GetConversationHistoryResponse
			page, err = api.GetConversationHistoryContext(ctx, &slackapi.GetConversationHistoryParameters{
				ChannelID: channel, Oldest: oldest, Latest: latest, Cursor: cursor, Limit: 200, IncludeAllMetadata: true,
			})
			if page != nil {
				found, cursor = page.Messages, page.ResponseMetaData.NextCursor
			}
		}
		if err != nil {
			// Reading is another scope than writing: its refusal says nothing of the token.
			return "", translate(err)
		}
		for i := range found {
			if found[i].Metadata.EventType == eventType && found[i].Metadata.EventPayload["key"] == key {
				return found[i].Timestamp, nil
			}
		}
		if cursor == "" {
			break
		}
	}
	return "", nil
}

// FindChannel implements API. Where a bot may not list private channels it is
// asked for the public ones alone.
func (b *bot) FindChannel(ctx context.Context, name string) (string, error) {
	api, err := b.api()
	if err != nil {
		return "", err
	}
	p := &slackapi.GetConversationsForUserParameters{Types: []string{"public_channel", "private_channel"}, Limit: 200, ExcludeArchived: true}
	for range channelPages {
		found, next, err := api.GetConversationsForUserContext(ctx, p)
		if answer, ok := errors.AsType[slackapi.SlackErrorResponse](err); ok && answer.Err == "missing_scope" && len(p.Types) > 1 {
			p.Types = p.Types[:1]
			continue
		}
		if err != nil {
			// Reading is another scope than writing: its refusal says nothing of the token.
			return "", translate(err)
		}
		for i := range found {
			if found[i].Name == name {
				return found[i].ID, nil
			}
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	return "", nil
}

// AuthTest implements API.
func (b *bot) AuthTest(ctx context.Context) (string, error) {
	api, err := b.api()
	if err != nil {
		return "", err
	}
	r, err := api.AuthTestContext(ctx)
	if err != nil {
		return "", b.failed(err)
	}
	return r.User + " in " + r.Team, nil
}

func options(m *Message) []slackapi.MsgOption {
	blocks, attachments := layout(m)
	opts := []slackapi.MsgOption{
		slackapi.MsgOptionText(m.Text, false), slackapi.MsgOptionDisableLinkUnfurl(), slackapi.MsgOptionDisableMediaUnfurl(),
	}
	if m.Header != "" {
		opts = append(opts, slackapi.MsgOptionBlocks(blocks...), slackapi.MsgOptionAttachments(attachments...))
	}
	if m.Chart != nil {
		if b := m.Chart.block(); b != nil {
			opts = append(opts, slackapi.MsgOptionBlocks(section(m.Text), b))
		}
	}
	if m.Key != "" {
		opts = append(opts, slackapi.MsgOptionMetadata(slackapi.SlackMetadata{
			EventType: eventType, EventPayload: map[string]any{"key": m.Key},
		}))
	}
	return opts
}

// layout puts title and lead on top, and the rest beside a bar in the colour of
// the severity.
func layout(m *Message) ([]slackapi.Block, []slackapi.Attachment) {
	if m.Header == "" {
		return nil, nil
	}
	top := []slackapi.Block{
		slackapi.NewHeaderBlock(slackapi.NewTextBlockObject(slackapi.PlainTextType, m.Header, false, false)),
		section(m.Lead),
	}
	var rest []slackapi.Block
	for _, s := range m.Sections {
		rest = append(rest, section(s))
	}
	if len(m.Buttons) > 0 {
		rest = append(rest, actions(m.Buttons))
	}
	if len(m.Context) > 0 {
		var lines []slackapi.MixedElement
		for _, c := range m.Context {
			lines = append(lines, mrkdwn(c))
		}
		rest = append(rest, slackapi.NewContextBlock("", lines...))
	}
	if len(rest) == 0 {
		return top, []slackapi.Attachment{}
	}
	return top, []slackapi.Attachment{{Color: m.Color, Fallback: m.Text, Blocks: slackapi.Blocks{BlockSet: rest}}}
}

func section(text string) *slackapi.SectionBlock {
	return slackapi.NewSectionBlock(mrkdwn(text), nil, nil)
}

// mrkdwn is verbatim: Slack makes no links or mentions of names that look like
// one.
func mrkdwn(text string) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.MarkdownType, text, false, true)
}

func actions(list []Button) *slackapi.ActionBlock {
	plain := func(text string) *slackapi.TextBlockObject {
		return slackapi.NewTextBlockObject(slackapi.PlainTextType, text, false, false)
	}
	var out []slackapi.BlockElement
	for _, b := range list {
		if len(b.Choices) == 0 {
			e := slackapi.NewButtonBlockElement(b.Action, b.Value, plain(b.Text))
			e.URL = b.URL
			out = append(out, e)
			continue
		}
		var choices []*slackapi.OptionBlockObject
		for _, c := range b.Choices {
			choices = append(choices, slackapi.NewOptionBlockObject(c.Value, plain(c.Text), nil))
		}
		out = append(out, slackapi.NewOptionsSelectBlockElement(slackapi.OptTypeStatic, plain(b.Text), b.Action, choices...))
	}
	return slackapi.NewActionBlock("", out...)
}

// Tell implements API.
func (b *bot) Tell(ctx context.Context, channel, user, text string) error {
	api, err := b.api()
	if err != nil {
		return err
	}
	_, err = api.PostEphemeralContext(ctx, channel, user, slackapi.MsgOptionText(text, false))
	return b.failed(err)
}

// UploadFile implements API.
func (b *bot) UploadFile(ctx context.Context, channel, thread, title string, png []byte) error {
	api, err := b.api()
	if err != nil {
		return err
	}
	_, err = api.UploadFileContext(ctx, slackapi.UploadFileParameters{
		Filename: "course.png", FileSize: len(png), Reader: bytes.NewReader(png), Title: title, AltTxt: title,
		Channel: channel, ThreadTimestamp: thread,
	})
	if err != nil {
		// Uploading is another scope than writing: its refusal says nothing of the token.
		return translate(err)
	}
	return nil
}

// Members implements API.
func (b *bot) Members(ctx context.Context, group string) ([]string, error) {
	api, err := b.api()
	if err != nil {
		return nil, err
	}
	ids, err := api.GetUserGroupMembersContext(ctx, group)
	if err != nil {
		return nil, translate(err)
	}
	return ids, nil
}
