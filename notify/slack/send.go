package slack

import (
	"context"
	"errors"
	"time"

	"github.com/collwatch/collwatch/incidents"
)

// shot is a consistent picture of an item for one call.
type shot struct {
	inc  incidents.Incident
	rec  record
	face string
	said said
	msg  *Message
}

func (c *channel) shot(it *item) shot {
	c.n.mu.Lock()
	s := shot{inc: it.inc, rec: it.rec, face: it.face(), said: it.said()}
	mentions, plain := it.route.Mentions[it.inc.Severity.String()], it.plain
	c.n.mu.Unlock()
	x := extras{note: s.rec.Note, held: s.rec.Held, mentions: mentions}
	if !c.webhook && c.n.opts.withButtons() {
		x.buttons = it.thread
	}
	s.msg = render(&s.inc, c.n.opts.Renderer, x)
	s.msg.Key = it.thread
	if plain {
		s.msg = &Message{Text: s.msg.Text, Key: s.msg.Key}
	}
	return s
}

// channelID is the channel's id as configured or as Slack answered it. The
// caller holds the lock.
func (c *channel) channelID() string {
	if isID(c.address) {
		return c.address
	}
	return c.n.ids[c.key]
}

// post makes the incident's message. An earlier attempt whose answer was lost is
// looked for first.
func (c *channel) post(ctx context.Context, it *item) error {
	s := c.shot(it)
	if !s.rec.Posting.IsZero() {
		id, ts, err := c.searchChannel(ctx, it.thread, s.rec.Posting)
		if err != nil {
			return err
		}
		if ts != "" {
			// What it shows is not known, so it is edited next.
			c.n.change(it, func(r *record) {
				r.Channel, r.TS, r.Told, r.Posting, r.Said = id, ts, true, time.Time{}, s.said
			})
			return nil
		}
	}
	now := c.n.opts.Now()
	c.n.change(it, func(r *record) { r.Posting = now })
	id, ts, err := c.api.PostMessage(ctx, c.address, s.msg)
	if err != nil {
		if definite(err) {
			c.n.change(it, func(r *record) { r.Posting = time.Time{} })
		}
		return err
	}
	c.n.change(it, func(r *record) {
		r.Channel, r.TS, r.Told, r.Posting = id, ts, true, time.Time{}
		r.Shown, r.Said = s.face, s.said
	})
	return nil
}

func definite(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && !e.happened()
}

// refusedContent says that Slack did not take what a message holds.
func refusedContent(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && e.class == classContent
}

func gone(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && e.class == classGone
}

// edit brings the message up to date. One that is gone is posted anew.
func (c *channel) edit(ctx context.Context, it *item) error {
	s := c.shot(it)
	err := c.api.UpdateMessage(ctx, s.rec.Channel, s.rec.TS, s.msg)
	switch {
	case gone(err):
		c.n.change(it, func(r *record) {
			r.TS, r.Shown, r.Posting, r.Replying = "", "", time.Time{}, time.Time{}
			r.Charted, r.Charting = false, time.Time{} // its thread is gone with it
		})
		return err
	case err != nil:
		return err
	}
	c.n.change(it, func(r *record) { r.Shown = s.face })
	return nil
}

// reply writes a line into the thread on a change of state.
func (c *channel) reply(ctx context.Context, it *item) error {
	s := c.shot(it)
	text, broadcast := line(s.rec.Said, s.said, &s.inc, s.rec.Held)
	done := func(r *record) { r.Said, r.Replying = s.said, time.Time{} }
	if text == "" {
		c.n.change(it, done)
		return nil
	}
	key := it.thread + "/" + digest(s.said.Incident, s.said.Severity, text)
	if !s.rec.Replying.IsZero() {
		ts, err := c.search(ctx, s.rec.Channel, s.rec.TS, key, s.rec.Replying)
		if err != nil {
			return err
		}
		if ts != "" {
			c.n.change(it, done)
			return nil
		}
	}
	now := c.n.opts.Now()
	c.n.change(it, func(r *record) { r.Replying = now })
	if broadcast {
		text = withMentions(it.route.Mentions[s.inc.Severity.String()], text)
	}
	_, _, err := c.api.PostMessage(ctx, s.rec.Channel, &Message{Text: text, Thread: s.rec.TS, Broadcast: broadcast, Key: key})
	switch {
	case gone(err):
		// Without its message a thread has no place; the message comes anew.
		c.n.change(it, func(r *record) { done(r); r.Shown = "" })
		return err
	case err != nil:
		if definite(err) {
			c.n.change(it, func(r *record) { r.Replying = time.Time{} })
		}
		return err
	}
	c.n.change(it, done)
	return nil
}
