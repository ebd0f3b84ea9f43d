package slack

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"
)

// channel sends to one channel: one call at a time, never faster than Slack
// allows, the newest state only.
type channel struct {
	n       *Notifier
	key     string
	address string // as configured
	api     API
	webhook bool
	log     *slog.Logger
	wake    chan struct{}

	// Owned by the goroutine of run.
	next    time.Time // of the next call
	backoff time.Time
	tries   int // failures in a row
	// plainCharts is set after Slack refused a chart of its own kind.
	plainCharts bool
	trouble     string // as logged last
	renamed     bool   // logged that the channel has another name now
	storm       storm
}

func newChannel(n *Notifier, r *Route) *channel {
	c := &channel{
		n: n, key: r.channelKey(), address: r.Channel, api: n.bot, webhook: r.Webhook != nil,
		wake: make(chan struct{}, 1), log: n.opts.Logger.With("channel", r.channelKey()),
	}
	if c.webhook {
		c.api = &hook{url: r.Webhook, http: n.opts.HTTP}
	}
	n.metrics.init(c.key)
	return c
}

// run sends until ctx ends. A call under way is not broken off: nobody would
// know whether it happened.
func (c *channel) run(ctx context.Context) {
	calls := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		timer := time.NewTimer(c.work(calls))
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// work makes at most one call and returns how long to sleep.
func (c *channel) work(ctx context.Context) time.Duration {
	now := c.n.opts.Now()
	jobs, later := c.jobs(now)
	c.n.metrics.queue.WithLabelValues(c.key).Set(float64(len(jobs)))
	// Not before the calls are due, and what is due stays due over a restart.
	if wait := max(c.next.Sub(now), c.backoff.Sub(now)); wait > 0 {
		if wait > maxWait { // the clock stepped back
			c.next, c.backoff = now, now
			return 0
		}
		return wait
	}
	if len(jobs) == 0 {
		return later
	}
	err := jobs[0].do(ctx)
	c.next = c.n.opts.Now().Add(c.n.opts.MessageInterval)
	c.settle(&jobs[0], err)
	return 0
}

// maxWait is the longest pause after a failure. Slack's own Retry-After is
// below it.
const maxWait = 10 * time.Minute

// job is one call that has to be made.
type job struct {
	rank int // 0 first
	kind string
	it   *item // nil for the summary of a storm
	do   func(ctx context.Context) error
}

// jobs lists what has to be sent, the most urgent first, and how long nothing
// has to be done if there is none.
func (c *channel) jobs(now time.Time) (jobs []job, later time.Duration) {
	later = idle
	c.n.mu.Lock()
	var mine []*item
	undecided := 0
	for _, it := range c.n.items {
		switch {
		case it.route.channelKey() != c.key:
		case it.show:
			mine = append(mine, it)
		case it.inc.Active() && it.rec.Held == nil && now.Before(it.since.Add(c.n.opts.Settle+patience)):
			undecided++
		}
	}
	slices.SortFunc(mine, func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.inc.Severity, a.inc.Severity), a.inc.FiredAt.Compare(b.inc.FiredAt),
			cmp.Compare(a.inc.ID, b.inc.ID))
	})
	c.storm.update(c, mine, undecided)
	var due []*item
	for _, it := range mine {
		if wait := it.retry.Sub(now); wait > 0 && wait <= maxWait { // longer: the clock stepped back
			later = min(later, wait)
			continue
		}
		j, ok := c.jobOf(it)
		if !ok {
			continue
		}
		jobs = append(jobs, j)
		if !it.told() && it.rec.Due.IsZero() {
			it.rec.Due = now
			due = append(due, it)
		}
	}
	j, wait, ok := c.storm.job(c, now)
	c.n.mu.Unlock()
	if ok {
		jobs = append(jobs, j)
	}
	if wait > 0 {
		later = min(later, wait)
	}
	c.n.store(due...)
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.rank, b.rank) })
	return jobs, later
}

// Ranks of jobs.
const (
	rankUrgent = iota // opens, resolves, returns and rises
	rankReply
	rankEdit
	rankChart // nobody waits for a picture
)

// jobOf returns the next call for an item, if it needs one. The caller holds
// the lock.
func (c *channel) jobOf(it *item) (job, bool) {
	face, now := it.face(), it.said()
	turned := it.rec.Said.Over != now.Over || it.rec.Said.Severity != now.Severity || it.rec.Said.Incident != now.Incident
	switch {
	case it.refused == face:
		return job{}, false
	case c.webhook:
		if it.rec.Told && !repost(it.rec.Said, now) || c.storm.on && !it.rec.Told {
			return job{}, false
		}
		return job{rankUrgent, "post", it, func(ctx context.Context) error { return c.post(ctx, it) }}, true
	case it.rec.TS == "" && it.rec.Told && it.rec.Said.Over && now.Over:
		return job{}, false // by a webhook, whose route has a bot now
	case it.rec.TS == "":
		// Told before and suppressed now: its message was deleted, and a new
		// one would be heard.
		if c.storm.on && it.rec.Posting.IsZero() || it.rec.Held != nil {
			return job{}, false
		}
		return job{rankUrgent, "post", it, func(ctx context.Context) error { return c.post(ctx, it) }}, true
	case c.storm.on && !now.Over:
		return job{}, false
	case it.rec.Shown != face:
		rank := rankEdit
		if turned {
			rank = rankUrgent
		}
		return job{rank, "edit", it, func(ctx context.Context) error { return c.edit(ctx, it) }}, true
	case it.rec.Said != now:
		return job{rankReply, "reply", it, func(ctx context.Context) error { return c.reply(ctx, it) }}, true
	case c.wantsChart(it):
		return job{rankChart, "chart", it, func(ctx context.Context) error { return c.chart(ctx, it) }}, true
	}
	return job{}, false
}

// repost says that a webhook's readers have to be told again. A silenced
// incident does not announce its resolve.
func repost(before, now said) bool {
	if now.Suppressed {
		return false
	}
	return before.Over != now.Over || before.Severity != now.Severity || before.Incident != now.Incident
}

// settle takes the outcome of a call.
func (c *channel) settle(j *job, err error) {
	m := c.n.metrics
	if err == nil {
		m.sent.WithLabelValues(c.key, j.kind).Inc()
		c.tries = 0
		if c.trouble != "" {
			c.log.Info("slack takes messages again")
			c.trouble = ""
		}
		return
	}
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		e = &apiError{class: classOther, code: err.Error()}
	}
	m.failed.WithLabelValues(c.key, string(e.class)).Inc()
	if c.trouble != e.code && e.class != classGone {
		c.trouble = e.code
		c.log.Warn("slack does not take a message; the newest state waits", "err", e, "call", j.kind)
	}
	c.pause(j, e)
}

// pause says how long to wait after a failure: the channel where the channel or
// Slack is the reason, the item where its content is.
func (c *channel) pause(j *job, e *apiError) {
	now := c.n.opts.Now()
	c.tries++
	double := time.Second << min(c.tries-1, 6)
	switch e.class {
	case classRateLimited:
		c.backoff = now.Add(min(max(e.retry, time.Second), maxWait))
	case classNetwork:
		c.backoff = now.Add(min(double, time.Minute))
	case classToken:
		c.backoff = now.Add(min(5*double, time.Minute))
	case classChannel:
		c.backoff = now.Add(min(15*double, 2*time.Minute))
	case classGone:
		c.tries = 0
	case classContent, classOther:
		c.tries = 0
		if j.kind == "chart" { // it is tried without the picture, or given up
			return
		}
		if j.it != nil {
			c.n.mu.Lock()
			c.refuse(j.it, e)
			c.n.mu.Unlock()
			return
		}
		c.backoff = now.Add(time.Minute)
	}
}

// refuse makes the next attempt simpler, or gives this state up. The caller
// holds the lock.
func (c *channel) refuse(it *item, e *apiError) {
	switch {
	case e.class == classOther:
		it.retry = c.n.opts.Now().Add(time.Minute)
	case !it.plain:
		it.plain = true
	default:
		it.refused = it.face()
		c.log.Error("slack refuses an incident even as plain text", "incident", it.inc.ID, "err", e)
	}
}
