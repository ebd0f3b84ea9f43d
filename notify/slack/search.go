package slack

import (
	"context"
	"errors"
	"strings"
	"time"
)

// searchChannel looks for a message of ours in the channel, and returns the
// channel's id with it. A name has no id until Slack has answered once, and the
// answer that was lost may have been the first: then the name is looked up.
func (c *channel) searchChannel(ctx context.Context, key string, since time.Time) (id, ts string, err error) {
	if c.webhook {
		return "", "", nil // there is nothing to read
	}
	c.n.mu.Lock()
	id = c.channelID()
	c.n.mu.Unlock()
	if id == "" {
		id, err = c.api.FindChannel(ctx, strings.TrimPrefix(c.address, "#"))
		if err = c.readable(err); err != nil || id == "" {
			return "", "", err
		}
	}
	ts, err = c.search(ctx, id, "", key, since)
	return id, ts, err
}

// search looks for a message of ours. Where reading is not allowed the answer is
// none: a message twice is better than none.
func (c *channel) search(ctx context.Context, id, thread, key string, since time.Time) (string, error) {
	// Clocks differ.
	ts, err := c.api.FindMessage(ctx, id, thread, key, since.Add(-2*time.Minute))
	return ts, c.readable(err)
}

// readable returns an error only if trying again can help.
func (c *channel) readable(err error) error {
	e, ok := errors.AsType[*apiError](err)
	if ok && (e.class == classNetwork || e.class == classRateLimited) {
		return err
	}
	if err != nil {
		c.log.Warn("a message whose answer was lost cannot be looked for; it may be there twice", "err", err)
	}
	return nil
}
