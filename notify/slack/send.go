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
	who  []string // is mentioned
}

func (c *channel) shot(it *item) shot {
	c.n.mu.Lock()
	s := shot{inc: it.inc, rec: it.rec, face: it.face(), said: it.said(), who: it.route.Mentions[it.inc.Severity.String()]}
	plain := it.plain
	c.n.mu.Unlock()
	x := extras{note: s.rec.Note, held: s.rec.Held, mentions: s.who}
	if !c.webhook && c.n.opts.withButtons() {
		x.buttons = it.thread
	}
	s.msg = render(&s.inc, c.n.opts.Renderer, x)
	s.msg.Key = it.thread
	if plain {
		s.msg = &Message{Text: s.msg.Text, Key: s.msg.Key}
		if s.inc.State != incidents.Resolved {
			s.msg.Text = withMentions(s.who, s.msg.Text)
		}
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
			// It shows the state of then, so it is edited next.
			was := s.rec.Saying
			if was == (said{}) { // of a former version
				was = s.said
			}
			c.n.change(it, func(r *record) {
				r.Channel, r.Of, r.TS, r.Told, r.Posting, r.Said = id, c.key, ts, true, time.Time{}, was
			})
			return nil
		}
	}
	now := c.n.opts.Now()
	c.n.change(it, func(r *record) { r.Posting, r.Saying = now, s.said })
	id, ts, err := c.say(ctx, s.msg)
	if err != nil {
		if definite(err) {
			c.n.change(it, func(r *record) { r.Posting = time.Time{} })
		}
		return err
	}
	c.n.change(it, func(r *record) {
		r.Channel, r.Of, r.TS, r.Told, r.Posting = id, c.key, ts, true, time.Time{}
		r.Shown, r.Said, r.Saying = s.face, s.said, said{}
	})
	return nil
}

// say posts to the channel. One that is not found by its name was renamed, as a
// rule, and is known by its id where anything was posted to it before.
func (c *channel) say(ctx context.Context, m *Message) (id, ts string, err error) {
	id, ts, err = c.api.PostMessage(ctx, c.address, m)
	e, ok := errors.AsType[*apiError](err)
	if !ok || e.code != "channel_not_found" {
		return id, ts, err
	}
	c.n.mu.Lock()
	known := c.channelID()
	c.n.mu.Unlock()
	if known == "" || known == c.address {
		return id, ts, err
	}
	if !c.renamed {
		c.renamed = true
		c.log.Warn("slack knows no channel of this name; messages go to the one that had it", "id", known)
	}
	return c.api.PostMessage(ctx, known, m)
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
		text = withMentions(s.who, text)
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
