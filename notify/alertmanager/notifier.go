package alertmanager

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/collwatch/collwatch/incidents"
)

// Notifier delivers incidents to all members of all targets.
type Notifier struct {
	opts    Options
	metrics *metrics
	started time.Time
	poller  poller

	mu sync.Mutex
	// want is what every member should know, records what each was told
	// before a restart, by member and incident.
	want    map[string]*alert
	records map[string]map[string]json.RawMessage
	members []*member // of all targets, in the order of the configuration
	synced  time.Time
	acks    []ackedSilence
}

// New checks the options and returns a Notifier that does nothing before Run.
func New(o Options) (*Notifier, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Notifier{opts: o, metrics: newMetrics(o.Registerer), started: o.Now(), want: map[string]*alert{}}
	n.poller.init(n)
	return n, nil
}

// Run delivers until ctx ends and returns after the last drain. It first posts
// what the source already has.
func (n *Notifier) Run(ctx context.Context) error {
	n.Sync()
	var wg sync.WaitGroup
	sets := make([]*memberSet, len(n.opts.Targets))
	for i, t := range n.opts.Targets {
		sets[i] = &memberSet{n: n, target: t}
		if err := sets[i].check(); err != nil {
			return err
		}
	}
	for _, s := range sets {
		wg.Go(func() { s.run(ctx) })
	}
	wg.Go(func() { n.poller.run(ctx) })
	wg.Wait()
	return nil
}

// Sync takes the present state of all incidents over. The engine calls it after
// each tick, when the state is saved. It never blocks on the network.
func (n *Notifier) Sync() {
	now := n.opts.Now()
	live, ended := n.opts.Source.Live(), n.opts.Source.Ended()
	want := desired(live, ended, n.opts.Renderer)
	records := map[string]map[string]json.RawMessage{}
	var acks []ackedSilence
	for _, list := range [][]incidents.Incident{live, ended} {
		for i := range list {
			inc := &list[i]
			for name, raw := range inc.Deliveries {
				if records[name] == nil {
					records[name] = map[string]json.RawMessage{}
				}
				records[name][inc.ID] = raw
			}
			if a, ok := ackOf(inc); ok && inc.State == incidents.Resolved {
				acks = append(acks, a)
			}
		}
	}
	if n.opts.Heartbeat {
		n.addMeta(want, n.heartbeat(now))
	}
	for _, a := range append(n.metaAlerts(now), n.blind()...) {
		n.addMeta(want, a)
	}
	n.mu.Lock()
	n.want, n.records, n.synced, n.acks = want, records, now, acks
	members := slices.Clone(n.members)
	n.mu.Unlock()
	for _, m := range members {
		m.set(want, records[m.deliveryName()])
	}
	n.poller.forget(want, ended)
}

func (n *Notifier) addMeta(want map[string]*alert, a *alert) {
	a.fingerprint = Fingerprint(a.labels)
	want[a.fingerprint] = a
}

// heartbeat always fires, for a dead man's switch.
func (n *Notifier) heartbeat(now time.Time) *alert {
	until := now.Add(n.opts.keep())
	labels := n.metaLabels("CollwatchHeartbeat", "heartbeat", "info")
	return &alert{labels: labels, starts: n.started, until: until, annotations: map[string]string{
		"summary": "collwatch is running",
		"description": "This alert always fires. Route it to a dead man's switch: when it stops, collwatch is down and other alerts lapse " +
			"without having recovered.",
	}}
}

// metaAfter is how long a member must be in trouble before others are told.
const metaAfter = 5 * time.Minute

// metaAlerts tells the healthy members about the others.
func (n *Notifier) metaAlerts(now time.Time) []*alert {
	var out []*alert
	seen := map[string]bool{}
	for _, c := range n.Conditions() {
		if now.Sub(c.Since) < metaAfter || seen[c.Target] || c.Reason == "refused" {
			continue
		}
		seen[c.Target] = true
		labels := n.metaLabels("CollwatchDeliveryFailing", "delivery_failing", "warning")
		labels["target"] = c.Target
		out = append(out, &alert{labels: labels, starts: c.Since, annotations: map[string]string{
			"summary":     "Alertmanager " + c.Target + " does not hold collwatch's alerts: " + c.Reason,
			"description": "Since " + c.Since.UTC().Format(time.RFC3339) + ": " + c.Text,
		}})
	}
	return out
}

// blind is the alert that collwatch cannot see. What is open stays open
// meanwhile, and what is new goes unseen.
func (n *Notifier) blind() []*alert {
	if n.opts.Blind == nil {
		return nil
	}
	since, text := n.opts.Blind()
	if since.IsZero() {
		return nil
	}
	return []*alert{{labels: n.metaLabels("CollwatchBlind", "blind", "warning"), starts: since, annotations: map[string]string{
		"summary": "collwatch cannot judge: " + text,
		"description": "Since " + since.UTC().Format(time.RFC3339) + ": " + text +
			". Open incidents keep their state, new faults of these kinds are not seen.",
	}}}
}

func (n *Notifier) metaLabels(name, class, severity string) map[string]string {
	labels := maps.Clone(n.opts.External)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["alertname"], labels["class"], labels["severity"] = name, class, severity
	labels["source"] = incidents.Source
	return labels
}

// Conditions are the present troubles, the oldest first.
func (n *Notifier) Conditions() []Condition {
	var out []Condition
	for _, m := range n.present() {
		out = append(out, m.health.conditions(m.name)...)
	}
	slices.SortFunc(out, func(a, b Condition) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// Member is what is known of one Alertmanager, for pages.
type Member struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Cluster string `json:"cluster"`
	Pending int    `json:"pending"`
}

// Members lists the Alertmanagers that alerts are sent to.
func (n *Notifier) Members() []Member {
	var out []Member
	for _, m := range n.present() {
		m.health.mu.Lock()
		mem := Member{Name: m.name, Version: m.health.version, Cluster: m.health.cluster}
		m.health.mu.Unlock()
		m.mu.Lock()
		mem.Pending = m.pending.length(n.opts.Now())
		m.mu.Unlock()
		out = append(out, mem)
	}
	return out
}

func (n *Notifier) present() []*member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.members)
}
