package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// stormEvery is the least time between two edits of a summary: in a storm the
// channel's second is better spent on resolves.
const stormEvery = 15 * time.Second

// storm is the state of a channel with more open incidents than people can
// read: one summary stands for all, and their own messages rest until it is
// over. It is read and written under the notifier's lock.
type storm struct {
	on     bool
	loaded bool
	rec    stormRecord
	anchor string // incident beside which the record is kept
	edited time.Time
	page   page
	// undecided is the number of incidents that the gate has not let through yet.
	undecided int
}

// stormRecord is what was sent, as kept over restarts.
type stormRecord struct {
	Channel string    `json:"channel,omitempty"`
	TS      string    `json:"ts,omitempty"`
	Told    bool      `json:"told,omitempty"`
	Shown   string    `json:"shown,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Posting time.Time `json:"posting,omitzero"`
}

// page is the content of a summary.
type page struct {
	open, own, passed int
	worst             diagnosis.Severity
	anchor            string
	classes           []string
	titles            []string
}

func (c *channel) stormName() string { return "slack-storm/" + c.key }

// update counts the open incidents and begins or ends a storm. mine are the
// channel's items that may be shown, the worst first; undecided is the number of
// those that may be shown soon, as after a restart.
func (s *storm) update(c *channel, mine []*item, undecided int) {
	s.load(c)
	limit := c.n.opts.Storm
	s.page, s.undecided = pageOf(mine), undecided
	switch {
	case !s.on && s.page.open > limit, !s.on && s.rec.Told && s.page.open+undecided > limit*3/4:
		s.on = true
		if s.rec.Since.IsZero() {
			s.rec.Since = c.n.opts.Now()
		}
	case s.on && s.page.open+undecided <= limit*3/4:
		s.on = false
	}
	if s.on || s.rec.Told {
		for _, it := range c.n.items {
			if it.route.channelKey() == c.key && it.over() && !it.told() && it.rec.Held == nil && !it.inc.ResolvedAt.Before(s.rec.Since) {
				s.page.passed++
			}
		}
	}
	value := 0.0
	if s.on {
		value = 1
	}
	c.n.metrics.storm.WithLabelValues(c.key).Set(value)
}

// load finds the record of a storm that began before a restart.
func (s *storm) load(c *channel) {
	if s.loaded || len(c.n.items) == 0 {
		return
	}
	s.loaded = true
	// Also where the incident is over, or another one says it better since.
	for _, list := range [][]incidents.Incident{c.n.live, c.n.ended} {
		for i := range list {
			if raw := list[i].Deliveries[c.stormName()]; raw != nil && json.Unmarshal(raw, &s.rec) == nil {
				s.anchor = list[i].ID
				return
			}
		}
	}
}

func pageOf(mine []*item) page {
	var p page
	classes := map[string]int{}
	for _, it := range mine {
		if it.over() || it.rec.Held != nil {
			continue
		}
		p.open++
		p.worst = max(p.worst, it.inc.Severity)
		if p.anchor == "" {
			p.anchor = it.inc.ID
		}
		if it.rec.TS != "" || it.rec.Told {
			p.own++
		}
		classes[it.inc.Severity.String()+" "+strings.ReplaceAll(string(it.inc.Verdict.Class), "_", " ")]++
		if len(p.titles) < 10 {
			p.titles = append(p.titles, "• "+it.inc.Severity.String()+": "+title(&it.inc))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		p.classes = append(p.classes, fmt.Sprintf("• %d %s", classes[name], name))
	}
	return p
}

// job returns the call that brings the summary up to date, or how long it may
// wait. The caller holds the lock.
func (s *storm) job(c *channel, now time.Time) (j job, wait time.Duration, ok bool) {
	if !s.on && !s.rec.Told && s.rec.Posting.IsZero() {
		return j, 0, false
	}
	p, on, rec := s.page, s.on, s.rec
	face := digest(append(append([]string{fmt.Sprint(on, p.open, p.own, p.passed)}, p.classes...), p.titles...)...)
	switch {
	case on && (rec.Shown == face || c.webhook && rec.Told):
		return j, 0, false
	case on && s.undecided > 0 && rec.Told:
		return j, 0, false // nobody is to read that it shrank
	case on && rec.Told && now.Before(s.edited.Add(stormEvery)) && !now.Before(s.edited):
		return j, s.edited.Add(stormEvery).Sub(now), false
	}
	rank := rankEdit
	if on && !rec.Told {
		rank = rankUrgent - 1
	}
	return job{rank, "summary", nil, func(ctx context.Context) error { return c.summarise(ctx, p, on, rec, face) }}, 0, true
}

// summarise posts or edits the summary.
func (c *channel) summarise(ctx context.Context, p page, on bool, rec stormRecord, face string) error {
	m := c.summary(p, on)
	m.Key = "storm/" + c.key
	if rec.TS == "" && !rec.Posting.IsZero() {
		id, ts, err := c.searchChannel(ctx, m.Key, rec.Posting)
		if err != nil {
			return err
		}
		if ts != "" {
			rec.Channel, rec.TS, rec.Told = id, ts, true
		}
	}
	if rec.TS != "" {
		err := c.api.UpdateMessage(ctx, rec.Channel, rec.TS, m)
		if err != nil {
			if gone(err) {
				rec.TS, rec.Told, rec.Shown = "", !on, ""
				c.keepStorm(rec, p.anchor, on)
			}
			return err
		}
	} else {
		rec.Posting = c.n.opts.Now()
		c.keepStorm(rec, p.anchor, true)
		var err error
		if rec.Channel, rec.TS, err = c.say(ctx, m); err != nil {
			if definite(err) {
				rec.Posting = time.Time{}
				c.keepStorm(rec, p.anchor, true)
			}
			return err
		}
	}
	rec.Told, rec.Shown, rec.Posting = true, face, time.Time{}
	c.keepStorm(rec, p.anchor, on)
	return nil
}

// keepStorm stores the record beside an open incident, or forgets it when the
// storm is over.
func (c *channel) keepStorm(rec stormRecord, anchor string, on bool) {
	if !on {
		rec = stormRecord{}
	}
	c.n.mu.Lock()
	before := c.storm.anchor
	if anchor == "" {
		anchor = before // nothing is open that may be shown, as after a restart
	}
	c.storm.rec, c.storm.anchor, c.storm.edited = rec, anchor, c.n.opts.Now()
	if rec.Channel != "" && c.n.ids[c.key] == "" {
		c.n.ids[c.key] = rec.Channel
	}
	c.n.mu.Unlock()
	// The new place first: a kill in between must not forget it.
	source := c.n.opts.Source
	if raw, err := json.Marshal(rec); on && err == nil && anchor != "" {
		_ = source.SetDeliveries(c.stormName(), map[string]json.RawMessage{anchor: raw}) // pruned: the next edit finds another
	}
	if before != "" && (before != anchor || !on) {
		_ = source.SetDeliveries(c.stormName(), map[string]json.RawMessage{before: nil}) // pruned: forgotten already
	}
}

// summary is the message that stands for many.
func (c *channel) summary(p page, on bool) *Message {
	limit := c.n.opts.Storm
	k := card{title: fmt.Sprintf("Many incidents at once: %d open", p.open), color: color(&incidents.Incident{State: incidents.Open, Severity: p.worst})}
	if on {
		k.lead = fmt.Sprintf("%s at worst. More than %d incidents are open in this channel, so this message stands for them until %d or fewer are. "+
			"%d have messages of their own, which rest meanwhile.", capital(p.worst.String()), limit, limit*3/4, p.own)
	} else {
		k.title, k.color = fmt.Sprintf("Over: many incidents at once, %d still open", p.open), green
		k.lead = "The storm is over. Each incident that is still open has a message of its own."
	}
	if p.passed > 0 {
		k.lead += fmt.Sprintf(" %s began and ended meanwhile and had none.", count(p.passed, "incident"))
	}
	if on {
		k.add("By class", p.classes[:min(len(p.classes), 20)], "")
		k.add("The worst", p.titles, "")
		k.add("Next step", []string{"Look for a common cause first: a switch, a rail, a power or storage fault."}, "")
	}
	if u := c.n.opts.Renderer.ExternalURL; u != "" {
		k.link("All incidents", strings.TrimRight(u, "/")+"/incidents")
	}
	var who []string
	if on {
		who = c.mentions(p.worst)
	}
	return k.message(who)
}

// mentions are those of the channel's first route.
func (c *channel) mentions(s diagnosis.Severity) []string {
	for i := range c.n.opts.Routes {
		if r := &c.n.opts.Routes[i]; r.channelKey() == c.key {
			return r.Mentions[s.String()]
		}
	}
	return nil
}
