package slack

import (
	"context"
	"time"

	"github.com/collwatch/collwatch/notify/alertmanager"
)

// patience is how long a new alert may be invisible in Alertmanager before
// silences count as not to be checked. It covers one slow answer.
const patience = 15 * time.Second

// lasting is how long what Alertmanager suppressed stays quiet after that was
// seen last, where no end is known. It covers a restart of Alertmanager, which
// answers before it knows its alerts again: they are repeated each minute, and
// dispatch.start-delay is as long.
const lasting = 5 * time.Minute

// gate decides what may be shown until ctx ends.
func (n *Notifier) gate(ctx context.Context) {
	for ctx.Err() == nil {
		n.absorb(n.opts.Now())
		next, ask := n.judge()
		if ask {
			_ = n.opts.Suppressor.Refresh(ctx) // counted there; what is not known shows below
			next, _ = n.judge()
		}
		for _, c := range n.channels {
			poke(c.wake)
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-n.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// idle is the longest sleep with nothing to do.
const idle = time.Minute

// judge decides for all items. It returns when to do so again at the latest,
// and whether Alertmanager has to be asked now.
func (n *Notifier) judge() (next time.Duration, ask bool) {
	now := n.opts.Now()
	next = idle
	n.mu.Lock()
	var changed []*item
	held := 0
	for _, it := range n.items {
		v := n.verdictOn(it, now)
		it.show = v.show
		if v.change != nil {
			v.change(&it.rec)
			changed = append(changed, it)
		}
		if !v.show && it.inc.Active() {
			held++
		}
		if v.ask {
			ask = true
			it.ask = now.Add(max(n.opts.Settle, time.Second))
		}
		if v.again > 0 {
			next = min(next, v.again)
		}
	}
	n.mu.Unlock()
	n.metrics.held.Set(float64(held))
	n.store(changed...)
	return next, ask
}

// decision is what the gate says of one item.
type decision struct {
	show   bool
	ask    bool
	again  time.Duration // look again after, 0 is at the next tick
	change func(*record)
}

// verdictOn decides for one item. The caller holds the lock.
func (n *Notifier) verdictOn(it *item, now time.Time) decision {
	if n.opts.Suppressor == nil {
		return decision{show: it.told() || !it.over() || !it.rec.Due.IsZero()}
	}
	fp := alertmanager.Fingerprint(it.inc.AlertLabels())
	if fp != it.fingerprint || !it.inc.FiredAt.Equal(it.fired) {
		it.fingerprint, it.fired, it.since, it.ask = fp, it.inc.FiredAt, now, time.Time{}
	}
	if it.since.After(now) { // the clock stepped back
		it.since, it.ask = now, time.Time{}
	}
	state, known := n.opts.Suppressor.Suppression(fp)
	// What was read before the alert was posted says nothing about it.
	known = known && !state.Read.Before(it.since)
	switch {
	case it.over():
		return n.ofEnded(it)
	case known:
		h := holdOf(state)
		if h != nil {
			it.quiet = now
		}
		return n.ofKnown(it, h)
	case it.told() && !it.rec.Said.Over && it.rec.Said.Severity == it.inc.Severity.String():
		// People know of it; what was last seen counts.
		return decision{show: true}
	}
	return n.ofUnknown(it, now)
}

// ofEnded decides about an incident that is over: what nobody was told is told
// only if it should have been.
func (n *Notifier) ofEnded(it *item) decision {
	if it.told() {
		return decision{show: true}
	}
	return decision{show: !it.rec.Due.IsZero() && it.rec.Held == nil}
}

func (n *Notifier) ofKnown(it *item, h *hold) decision {
	d := decision{show: h == nil || it.told()}
	before, note := it.rec.Held, it.rec.Note
	if note == unchecked {
		note = ""
	}
	if before != nil && h == nil && !it.told() {
		note = before.over()
	}
	if !sameHold(before, h) || note != it.rec.Note {
		d.change = func(r *record) { r.Held, r.Note = h, note }
	}
	return d
}

// ofUnknown decides about an incident of which nobody was told, or whose return
// or rise nobody was told of, and whose suppression is not known.
func (n *Notifier) ofUnknown(it *item, now time.Time) decision {
	settled := it.since.Add(n.opts.Settle)
	limit := settled.Add(patience)
	if now.Before(settled) {
		return decision{again: settled.Sub(now)}
	}
	if now.Before(limit) {
		if now.Before(it.ask) {
			return decision{again: it.ask.Sub(now)}
		}
		return decision{ask: true, again: max(n.opts.Settle, time.Second)}
	}
	if n.opts.OnUnreachable == Hold {
		return decision{}
	}
	if h := it.rec.Held; h != nil && h.Until.After(now) {
		// It was silenced when Alertmanager was last seen, and that lasts.
		return decision{again: h.Until.Sub(now)}
	}
	if h := it.rec.Held; h != nil && h.Until.IsZero() {
		if it.quiet.IsZero() || it.quiet.After(now) { // a restart, or the clock stepped back
			it.quiet = now
		}
		if wait := it.quiet.Add(lasting).Sub(now); wait > 0 {
			return decision{again: wait}
		}
	}
	if it.rec.Note == unchecked && it.rec.Held == nil {
		return decision{show: true}
	}
	return decision{show: true, change: func(r *record) { r.Held, r.Note = nil, unchecked }}
}
