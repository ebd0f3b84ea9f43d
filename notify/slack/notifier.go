package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/internal/order"
)

// Notifier shows incidents in Slack.
type Notifier struct {
	opts    Options
	metrics *metrics
	bot     API // nil without a token
	wake    chan struct{}
	// channels have a sender each, in the order of the configuration.
	channels []*channel

	mu    sync.Mutex
	live  []incidents.Incident
	ended []incidents.Incident
	items map[string]*item // by itemKey
	// ids are the channel ids that Slack answered, by the configured name.
	ids map[string]string
}

// New checks the options and returns a Notifier that does nothing before Run.
func New(o Options) (*Notifier, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Notifier{
		opts: o, metrics: newMetrics(o.Registerer), wake: make(chan struct{}, 1),
		items: map[string]*item{}, ids: map[string]string{},
	}
	if o.Token != nil {
		n.bot = newBot(&o)
	}
	seen := map[string]bool{}
	for i := range o.Routes {
		r := &n.opts.Routes[i]
		if key := r.channelKey(); !r.ViaAlertmanager && !seen[key] {
			seen[key] = true
			n.channels = append(n.channels, newChannel(n, r))
		}
	}
	return n, nil
}

// Run delivers until ctx ends. It then waits for the call under way and returns
// without draining: what is due is on disk, and the next process goes on.
func (n *Notifier) Run(ctx context.Context) error {
	n.Sync()
	var wg sync.WaitGroup
	wg.Go(func() { n.greet(ctx) })
	wg.Go(func() { n.gate(ctx) })
	if n.bot != nil && n.opts.withButtons() {
		wg.Go(func() { n.listen(ctx) })
	}
	for _, c := range n.channels {
		wg.Go(func() { c.run(ctx) })
	}
	wg.Wait()
	n.opts.HTTP.CloseIdleConnections()
	return nil
}

// greet makes a wrong token known before the first incident does.
func (n *Notifier) greet(ctx context.Context) {
	if n.bot == nil {
		return
	}
	who, err := n.bot.AuthTest(ctx)
	switch {
	case err == nil:
		n.opts.Logger.Info("slack knows us", "as", who)
	case ctx.Err() == nil:
		n.opts.Logger.Error("slack does not take the token; incidents wait until it does", "err", err)
	}
}

// Sync takes the present state of all incidents over. The engine calls it after
// each tick, when the state is saved. It never blocks on the network.
func (n *Notifier) Sync() {
	live, ended := n.opts.Source.Live(), n.opts.Source.Ended()
	n.mu.Lock()
	n.live, n.ended = live, ended
	n.mu.Unlock()
	poke(n.wake)
}

// absorb brings the items up to date with the incidents.
func (n *Notifier) absorb(now time.Time) {
	n.mu.Lock()
	var moved []*item
	var left []former
	used := map[string]bool{}
	for thread, chain := range chains(n.live, n.ended) {
		newest := chain[len(chain)-1]
		routes := matching(n.opts.Routes, newest)
		for i := range n.opts.Routes {
			r := &n.opts.Routes[i]
			if r.ViaAlertmanager {
				continue
			}
			rec, from := recordOf(chain, r)
			key := itemKey(r.Name, thread)
			it := n.items[key]
			// Whoever was told of something stays informed, whatever the labels
			// are now; in one channel that is the route which matches now.
			if chosen := slices.Contains(routes, r); !chosen && (it == nil && from == nil || sharesChannel(routes, r)) {
				continue
			}
			used[key] = true
			if it == nil && from == nil {
				var was former
				if it, was = n.takeOver(chain, r, thread, now); it != nil {
					n.items[key] = it
					moved, left = append(moved, it), append(left, was)
				}
			}
			if it == nil {
				it = &item{route: r, thread: thread, rec: rec, since: now}
				n.items[key] = it
				n.remember(r, &rec)
			}
			if it.inc.ID != "" && it.inc.ID != newest.ID || from != nil && from.ID != newest.ID {
				moved = append(moved, it)
			}
			it.inc = *newest
		}
	}
	for key := range n.items {
		if !used[key] {
			delete(n.items, key)
		}
	}
	n.mu.Unlock()
	// A chain goes on in another incident: the record follows it before the
	// former one is pruned.
	n.store(moved...)
	for _, l := range left {
		_ = n.opts.Source.SetDeliveries(l.name, map[string]json.RawMessage{l.incident: nil}) // pruned: forgotten already
	}
}

// remember learns a channel's id from a record. The caller holds the lock.
func (n *Notifier) remember(r *Route, rec *record) {
	if rec.Channel != "" && (rec.Of == "" || rec.Of == r.channelKey()) && n.ids[r.channelKey()] == "" {
		n.ids[r.channelKey()] = rec.Channel
	}
}

// chains are the announced incidents by thread, the newest last.
func chains(live, ended []incidents.Incident) map[string][]*incidents.Incident {
	out := map[string][]*incidents.Incident{}
	for _, list := range [][]incidents.Incident{ended, live} {
		for i := range list {
			if inc := &list[i]; inc.Announced && inc.State != incidents.Pending {
				out[inc.Thread] = append(out[inc.Thread], inc)
			}
		}
	}
	for _, chain := range out {
		slices.SortFunc(chain, func(a, b *incidents.Incident) int {
			return cmp.Or(order.Bools(a.Active(), b.Active()), a.FiredAt.Compare(b.FiredAt), cmp.Compare(a.ID, b.ID))
		})
	}
	return out
}

// recordOf returns what a route was told last of a chain, and of which incident.
func recordOf(chain []*incidents.Incident, r *Route) (record, *incidents.Incident) {
	for _, c := range slices.Backward(chain) {
		if rec, ok := parseRecord(c.Deliveries[r.deliveryName()]); ok {
			return rec, c
		}
	}
	return record{}, nil
}

// change alters a record and stores it before it returns.
func (n *Notifier) change(it *item, f func(*record)) {
	n.mu.Lock()
	f(&it.rec)
	n.remember(it.route, &it.rec)
	n.mu.Unlock()
	n.store(it)
}

// store keeps the present records beside the incidents, those of a route at
// once.
func (n *Notifier) store(items ...*item) {
	routes := map[string]map[string]json.RawMessage{}
	n.mu.Lock()
	for _, it := range items {
		raw, err := json.Marshal(&it.rec)
		if err != nil {
			continue // texts and times only: it cannot fail
		}
		name := it.route.deliveryName()
		if routes[name] == nil {
			routes[name] = map[string]json.RawMessage{}
		}
		routes[name][it.inc.ID] = raw
	}
	n.mu.Unlock()
	for name, records := range routes {
		if err := n.opts.Source.SetDeliveries(name, records); err != nil {
			// The incident is over and pruned: nothing is left to remember.
			n.opts.Logger.Debug("slack records are not kept", "route", name, "err", err)
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
