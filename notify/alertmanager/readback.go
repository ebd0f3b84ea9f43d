package alertmanager

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// settle is how long a fresh alert may take to show.
const settle = 10 * time.Second

// readback compares, on every member, what was acknowledged with what is there.
// Success can be a lie: a proxy's page, a limit per alert name, a restart.
func (n *Notifier) readback(ctx context.Context) {
	var wg sync.WaitGroup
	for _, m := range n.present() {
		wg.Go(func() { m.readback(ctx) })
	}
	wg.Wait()
}

func (m *member) readback(ctx context.Context) {
	m.greet(ctx)
	start := m.opts.Now()
	list, err := m.client.alerts(ctx)
	if err != nil {
		return // deliveries tell whether it is down
	}
	there := make(map[string]bool, len(list))
	for _, a := range list {
		if a != nil && a.Fingerprint != nil {
			there[*a.Fingerprint] = true
		}
	}
	missing, lasting := 0, 0
	m.mu.Lock()
	for fp, it := range m.pending.items {
		if it.alert.resolved() || it.known == nil || it.known.Resolved || start.Sub(it.known.At) < settle && it.missing == 0 {
			continue
		}
		if there[fp] {
			it.missing = 0
			continue
		}
		missing++
		if it.missing++; it.missing > 1 {
			lasting++
		}
		it.known = nil // sent again at once
	}
	m.mu.Unlock()
	m.m.missing.WithLabelValues(m.name).Set(float64(missing))
	if lasting == 0 {
		m.health.unset("readback")
	} else {
		c := Condition{Reason: "losing_alerts", Since: start, Text: fmt.Sprintf("%d alerts were acknowledged and are not there", lasting)}
		if m.health.set("readback", c) {
			m.log.Error("alertmanager loses alerts that it acknowledged", "alerts", lasting)
		}
	}
	if missing > 0 {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// yield looks whether another daemon fires what is resolved here: a replica that
// cannot see the end, since its Prometheus is down, holds its incident open. Who
// still sees a fault has the last word, or the two would make the alert flap for
// as long as the resolve is repeated.
func (m *member) yield(ctx context.Context) {
	list, err := m.client.alerts(ctx)
	if err != nil {
		return // repeated as if nobody else were there
	}
	skew := m.client.clockSkew()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range list {
		if a == nil || a.Fingerprint == nil || a.UpdatedAt == nil {
			continue
		}
		it := m.pending.items[*a.Fingerprint]
		if it == nil || !it.alert.resolved() || it.known == nil || !it.known.Resolved {
			continue
		}
		if time.Time(*a.UpdatedAt).After(it.known.At.Add(skew + time.Second)) {
			it.yielded = true
			m.log.Info("another collwatch still sees what is over here", "incident", it.alert.incident, "alertname", it.alert.labels["alertname"])
		}
	}
}
