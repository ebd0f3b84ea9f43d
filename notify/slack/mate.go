package slack

import (
	"time"

	"github.com/collwatch/collwatch/incidents"
)

// former is a record that goes on under another name.
type former struct {
	name, incident string
}

// sharesChannel says that one of routes leads to the channel of r.
func sharesChannel(routes []*Route, r *Route) bool {
	for _, o := range routes {
		if o.channelKey() == r.channelKey() {
			return true
		}
	}
	return false
}

// takeOver looks for the message of a chain that another route made in the
// channel of r: a rise may change the route, and with it who is called, but not
// the message. The caller holds the lock; nil is none.
func (n *Notifier) takeOver(chain []*incidents.Incident, r *Route, thread string, now time.Time) (*item, former) {
	for i := range n.opts.Routes {
		o := &n.opts.Routes[i]
		if o == r || o.ViaAlertmanager || o.channelKey() != r.channelKey() {
			continue
		}
		key := itemKey(o.Name, thread)
		rec, from := recordOf(chain, o)
		it := n.items[key]
		if it == nil && from == nil {
			continue
		}
		if it == nil {
			it = &item{thread: thread, rec: rec, since: now}
		}
		was := former{o.deliveryName(), it.inc.ID}
		if from != nil {
			was.incident = from.ID
		}
		delete(n.items, key)
		it.route = r
		n.remember(r, &it.rec)
		return it, was
	}
	return nil, former{}
}
