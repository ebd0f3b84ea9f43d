package alertmanager

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/api/v2/models"
)

// member is one Alertmanager process.
type member struct {
	name   string
	opts   *Options
	client *client
	m      *metrics
	log    *slog.Logger
	wake   chan struct{}
	health health

	// Owned by the goroutine of run.
	limit   int // alerts in a request, lower after a 413
	good    int // requests in a row that were taken whole
	tries   int // failures in a row
	backoff time.Time
	looked  time.Time // for other daemons that fire what is resolved here

	mu      sync.Mutex
	pending pending
}

func newMember(name string, t Target, dial DialFunc, o *Options, m *metrics) (*member, error) {
	c, err := newClient(t, dial, guard{userAgent: o.UserAgent, now: o.Now, observe: m.observe(name)})
	if err != nil {
		return nil, err
	}
	m.init(name)
	return &member{
		name: name, opts: o, client: c, m: m, log: o.Logger.With("target", name),
		wake: make(chan struct{}, 1), limit: o.BatchSize,
		pending: pending{resend: o.ResendDelay, repeat: o.ResolveRepeat, trying: o.longestWait(), items: map[string]*item{}},
	}, nil
}

// deliveryName is the name of the member's records beside the incidents.
func (m *member) deliveryName() string { return "alertmanager/" + m.name }

// set replaces what the member should know and wakes its goroutine.
func (m *member) set(want map[string]*alert, records map[string]json.RawMessage) {
	m.mu.Lock()
	m.pending.set(want, func(a *alert) *delivery { return parseDelivery(records[a.incident], a.fingerprint) })
	m.m.queue.WithLabelValues(m.name).Set(float64(m.pending.length(m.opts.Now())))
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// run delivers until ctx ends, then drains. Nothing is resolved at the end: the
// next process goes on.
func (m *member) run(ctx context.Context) {
	defer m.client.close()
	m.greet(ctx)
	for ctx.Err() == nil {
		next := m.flush(ctx)
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-m.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.opts.DrainTimeout)
	defer cancel()
	m.drain(drain)
}

// idle is the longest sleep of a member with nothing to do.
const idle = time.Minute

// flush sends what is due and returns how long it may sleep.
func (m *member) flush(ctx context.Context) time.Duration {
	for {
		now := m.opts.Now()
		if wait := m.backoff.Sub(now); wait > 0 && wait <= m.opts.longestWait() { // longer: the clock stepped back
			return wait
		}
		m.mu.Lock()
		groups, next := m.pending.take(now)
		repeats := m.pending.repeats(groups)
		alerts, _ := m.pending.batch(groups, m.limit)
		m.mu.Unlock()
		if since := now.Sub(m.looked); repeats && (since < 0 || since >= m.opts.ResendDelay/2) {
			m.looked = now
			m.yield(ctx)
			continue
		}
		if len(groups) == 0 {
			if next.IsZero() {
				return idle
			}
			return min(max(next.Sub(now), time.Millisecond), idle)
		}
		if !m.deliver(ctx, alerts) {
			if ctx.Err() != nil {
				return 0
			}
			continue // to the back-off
		}
	}
}

// drain sends the states that the member does not know yet, once.
func (m *member) drain(ctx context.Context) {
	m.backoff = time.Time{}
	m.mu.Lock()
	groups, _ := m.pending.take(m.opts.Now())
	unknown := m.pending.length(m.opts.Now())
	m.mu.Unlock()
	if unknown == 0 {
		return
	}
	for len(groups) > 0 && ctx.Err() == nil {
		var alerts []*alert
		m.mu.Lock()
		alerts, groups = m.pending.batch(groups, m.limit)
		m.mu.Unlock()
		if !m.deliver(ctx, alerts) {
			break
		}
	}
}

// post sends alerts and returns those that are worth sending: invalid ones are
// refused on the way.
func (m *member) post(ctx context.Context, alerts []*alert) (reason, *answer, error) {
	if m.client.stepped() {
		m.greet(ctx) // its answer tells the difference anew
	}
	now := m.client.clock()
	skew := m.client.clockSkew()
	keep := m.opts.keep()
	posted := make(models.PostableAlerts, len(alerts))
	for i, a := range alerts {
		shifted := *a
		if skew != 0 && shifted.resolved() {
			// A resolve whose end lies in the member's future would not resolve.
			shifted.starts, shifted.ends = shifted.starts.Add(skew), shifted.ends.Add(skew)
		}
		posted[i] = shifted.model(now, keep)
	}
	return m.client.post(ctx, posted)
}

func parseDelivery(raw json.RawMessage, fingerprint string) *delivery {
	if raw == nil {
		return nil
	}
	var all map[string]*delivery
	if json.Unmarshal(raw, &all) != nil {
		return nil // an unreadable record is no record: the alert is sent again
	}
	return all[fingerprint]
}
