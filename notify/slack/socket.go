package slack

import (
	"context"
	"io"
	"log" //nolint:depguard // what the library takes; it is thrown away
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	slackapi "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// listen takes presses of buttons through Socket Mode until ctx ends: the
// connection goes out, so a host without a way in from outside has buttons too.
func (n *Notifier) listen(ctx context.Context) {
	wait, trouble := time.Second, ""
	for ctx.Err() == nil {
		start := time.Now()
		err := n.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		code := translate(err).code
		if code != trouble {
			trouble = code
			n.opts.Logger.Warn("slack buttons do not work at present", "err", code)
		}
		if time.Since(start) > time.Minute {
			wait = time.Second
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, time.Minute)
	}
}

// connect holds one connection and answers what comes through it.
func (n *Notifier) connect(ctx context.Context) error {
	token, err := n.opts.AppToken(true)
	if err != nil {
		return &apiError{class: classToken, code: err.Error()}
	}
	opts := []slackapi.Option{slackapi.OptionHTTPClient(n.opts.HTTP), slackapi.OptionAppLevelToken(token)}
	if n.opts.APIURL != "" {
		opts = append(opts, slackapi.OptionAPIURL(strings.TrimRight(n.opts.APIURL, "/")+"/"))
	}
	proxy := http.ProxyFromEnvironment
	if n.opts.Proxy != nil {
		proxy = func(*http.Request) (*url.URL, error) { return n.opts.Proxy, nil }
	}
	client := socketmode.New(slackapi.New("", opts...),
		socketmode.OptionDialer(&websocket.Dialer{Proxy: proxy, HandshakeTimeout: 15 * time.Second}),
		// The library logs addresses that hold a ticket.
		socketmode.OptionLog(log.New(io.Discard, "", 0)))
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case ev := <-client.Events:
				n.event(ctx, client, &ev)
			}
		}
	}()
	err = client.RunContext(ctx)
	cancel()
	<-done
	return err
}

func (n *Notifier) event(ctx context.Context, client *socketmode.Client, ev *socketmode.Event) {
	if ev.Type == socketmode.EventTypeConnected {
		n.opts.Logger.Info("slack buttons work")
	}
	if ev.Type != socketmode.EventTypeInteractive || ev.Request == nil {
		return
	}
	// Slack wants its receipt within three seconds.
	_ = client.AckCtx(ctx, ev.Request.EnvelopeID, nil) // a press without receipt comes again, which is harmless
	in, ok := ev.Data.(slackapi.InteractionCallback)
	if !ok || in.Type != slackapi.InteractionTypeBlockActions {
		return
	}
	for _, a := range in.ActionCallback.BlockActions {
		if a == nil || a.ActionID != actionSilence && a.ActionID != actionAck {
			continue
		}
		p := press{action: a.ActionID, value: a.Value, channel: in.Channel.ID, user: in.User.ID, name: in.User.Name}
		if a.SelectedOption.Value != "" {
			p.value = a.SelectedOption.Value
		}
		answer := n.pressed(ctx, p)
		if err := n.bot.Tell(ctx, p.channel, p.user, escape(answer, maxLead)); err != nil {
			n.opts.Logger.Debug("a press cannot be answered", "err", err)
		}
	}
}
