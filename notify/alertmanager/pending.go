package alertmanager

import (
	"cmp"
	"slices"
	"time"

	"github.com/collwatch/collwatch/notify/internal/order"
)

// delivery is what a member acknowledged for a fingerprint, as kept over
// restarts.
type delivery struct {
	At       time.Time `json:"at"`
	Version  uint64    `json:"version"`
	Resolved bool      `json:"resolved,omitempty"`
}

// item is the newest state of an alert and what the member knows of it.
type item struct {
	alert *alert
	known *delivery // nil: nothing
	// refused is the version plus one that the member refused, retry when it is
	// asked once more: whoever refuses may be a proxy in a bad minute.
	refused uint64
	retry   time.Time
	failed  bool // the last attempt failed: the next is a retry
	missing int  // read-backs in a row that did not find it
	// yielded says that another daemon fired the alert after our resolve: it
	// still sees the fault, and repeating the resolve would only make it flap.
	yielded bool
}

// pending is the set of alerts of one member. It is no queue: it holds the
// newest state of each alert and nothing else, so it can neither overflow by
// waiting nor deliver what is stale.
type pending struct {
	resend, repeat time.Duration
	// trying is how long a refused alert rests.
	trying time.Duration
	items  map[string]*item
}

// set replaces what the member should know.
func (p *pending) set(want map[string]*alert, restored func(*alert) *delivery) {
	for fp := range p.items {
		if want[fp] == nil {
			delete(p.items, fp)
		}
	}
	for fp, a := range want {
		it := p.items[fp]
		if it == nil {
			it = &item{known: restored(a)}
			if it.known != nil && !a.resolved() {
				// After a restart the member is told at once: it may have
				// restarted too.
				it.known.At = time.Time{}
			}
			p.items[fp] = it
		}
		it.alert = a
	}
}

// due says when an item has to be sent: the zero time is at once, ok is false
// for never.
func (p *pending) due(it *item, now time.Time) (at time.Time, ok bool) {
	a := it.alert
	switch {
	case !a.until.IsZero() && now.After(a.until):
		return at, false
	case it.refused == a.version+1:
		if it.retry.Sub(now) > p.trying { // the clock stepped back
			return now, true
		}
		return it.retry, true
	case it.yielded && a.resolved():
		return at, false
	case it.known != nil && it.known.Resolved && a.resolved() && !it.known.At.Before(a.over):
		// It is over and the member knows: that the incident went on changing,
		// under a higher severity, is no news about this alert.
	case it.known == nil && a.resolved() && now.After(a.over.Add(p.repeat)):
		return at, false // a member that is new never heard that it fired
	case it.known == nil, it.known.Version != a.version, it.known.Resolved != a.resolved():
		return at, true
	}
	at = it.known.At.Add(p.resend)
	if it.known.At.After(now) { // the clock stepped back since
		at = now
	}
	return at, !a.resolved() || !at.After(a.over.Add(p.repeat))
}

// take returns groups of alerts that are due, those of one incident together,
// changes before repetitions and what fires before what is over, since one may
// replace the other, and the time of the next one that is not. What was refused
// comes last.
func (p *pending) take(now time.Time) (groups [][]*alert, next time.Time) {
	type group struct {
		alerts  []*alert
		change  bool
		refused bool
	}
	byIncident := map[string]*group{}
	for _, it := range p.items {
		at, ok := p.due(it, now)
		switch {
		case !ok:
		case at.After(now):
			if next.IsZero() || at.Before(next) {
				next = at
			}
		default:
			key := cmp.Or(it.alert.incident, it.alert.fingerprint)
			g := byIncident[key]
			if g == nil {
				g = &group{}
				byIncident[key] = g
			}
			g.alerts = append(g.alerts, it.alert)
			g.change = g.change || at.IsZero()
			g.refused = g.refused || it.refused == it.alert.version+1
		}
	}
	sorted := make([]*group, 0, len(byIncident))
	for _, g := range byIncident {
		// Firing first: the pager must not see the former severity resolve
		// before it sees the new one.
		slices.SortFunc(g.alerts, func(a, b *alert) int {
			return cmp.Or(order.Bools(a.resolved(), b.resolved()), cmp.Compare(a.fingerprint, b.fingerprint))
		})
		sorted = append(sorted, g)
	}
	slices.SortFunc(sorted, func(a, b *group) int {
		return cmp.Or(order.Bools(a.refused, b.refused), order.Bools(b.change, a.change),
			order.Bools(a.alerts[0].resolved(), b.alerts[0].resolved()), a.alerts[0].starts.Compare(b.alerts[0].starts),
			cmp.Compare(a.alerts[0].fingerprint, b.alerts[0].fingerprint))
	})
	for _, g := range sorted {
		groups = append(groups, g.alerts)
	}
	return groups, next
}

// batch takes groups from the front until a request is full. What was refused
// goes alone: it would cost the others their request.
func (p *pending) batch(groups [][]*alert, limit int) (now []*alert, rest [][]*alert) {
	for len(groups) > 0 && (len(now) == 0 || len(now)+len(groups[0]) <= limit && !p.refused(groups[0])) {
		now = append(now, groups[0]...)
		groups = groups[1:]
	}
	return now, groups
}

func (p *pending) refused(group []*alert) bool {
	return slices.ContainsFunc(group, func(a *alert) bool {
		it := p.items[a.fingerprint]
		return it != nil && it.refused == a.version+1
	})
}

// repeats says that a resolve which the member acknowledged is among groups.
func (p *pending) repeats(groups [][]*alert) bool {
	for _, g := range groups {
		for _, a := range g {
			if it := p.items[a.fingerprint]; it != nil && a.resolved() && it.known != nil && it.known.Resolved {
				return true
			}
		}
	}
	return false
}

// length is the number of alerts whose newest state the member does not know.
func (p *pending) length(now time.Time) int {
	n := 0
	for _, it := range p.items {
		if at, ok := p.due(it, now); ok && at.IsZero() {
			n++
		}
	}
	return n
}
