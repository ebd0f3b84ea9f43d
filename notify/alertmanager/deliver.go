package alertmanager

import (
	"context"
	"encoding/json"
	"time"
)

// Waits after failures that a retry does not mend.
const (
	authWait   = time.Minute
	configWait = 5 * time.Minute
	firstWait  = time.Second
	longWait   = time.Minute
)

// deliver sends a batch and does what the answer asks for. It returns false if
// the member has to be left alone for a while; what was not acknowledged stays
// pending.
func (m *member) deliver(ctx context.Context, alerts []*alert) bool {
	alerts = m.dropInvalid(alerts)
	if len(alerts) == 0 {
		return true
	}
	m.countRetries(alerts)
	r, a, err := m.post(ctx, alerts)
	if r == auth {
		// The credential file may have changed; it is read for each request.
		m.fail(alerts, r)
		m.countRetries(alerts)
		r, a, err = m.post(ctx, alerts)
	}
	if r == sent {
		m.acknowledge(alerts)
		return true
	}
	if ctx.Err() != nil {
		m.fail(alerts, r)
		return false
	}
	m.fail(alerts, r)
	switch r {
	case invalid:
		// Some may have been stored. Each one alone tells which is at fault.
		return m.each(ctx, alerts, r, err)
	case schema, tooLarge:
		return m.halve(ctx, alerts, r, err)
	case auth:
		m.rest(r, authWait, err)
	case config:
		m.rest(r, configWait, err)
	default:
		m.rest(r, max(a.retryAfter, m.exponential()), err)
	}
	return false
}

func (m *member) each(ctx context.Context, alerts []*alert, r reason, err error) bool {
	if len(alerts) == 1 {
		m.refuse(alerts[0], r, err)
		return true
	}
	for i := range alerts {
		if !m.deliver(ctx, alerts[i:i+1]) {
			return false
		}
	}
	return true
}

func (m *member) halve(ctx context.Context, alerts []*alert, r reason, err error) bool {
	if len(alerts) == 1 {
		m.refuse(alerts[0], r, err)
		return true
	}
	half := len(alerts) / 2
	if r == tooLarge {
		m.limit, m.good = half, 0
	}
	return m.deliver(ctx, alerts[:half]) && m.deliver(ctx, alerts[half:])
}

func (m *member) exponential() time.Duration {
	d := min(firstWait<<min(m.tries, 10), longWait)
	m.tries++
	return time.Duration(float64(d) * (0.5 + m.opts.Rand()/2))
}

// rest leaves the member alone and says so, once.
func (m *member) rest(r reason, d time.Duration, err error) {
	d = min(d, m.opts.longestWait())
	m.backoff = m.opts.Now().Add(d)
	if m.health.sick(r, m.opts.Now(), err) {
		m.log.Error("alertmanager does not take alerts", "reason", string(r), "err", err, "next_try_in", d.Round(time.Millisecond))
	}
}

// acknowledge notes that the member knows these states now.
func (m *member) acknowledge(alerts []*alert) {
	m.tries = 0
	if m.health.well() {
		m.log.Info("alertmanager takes alerts again")
	}
	if m.good++; m.good >= 100 && m.limit < m.opts.BatchSize {
		m.limit, m.good = min(2*m.limit, m.opts.BatchSize), 0
	}
	m.m.sent.WithLabelValues(m.name).Add(float64(len(alerts)))
	now := m.opts.Now()
	touched := map[string]bool{}
	m.mu.Lock()
	for _, a := range alerts {
		it := m.pending.items[a.fingerprint]
		if it == nil {
			continue // pruned meanwhile
		}
		it.known = &delivery{At: now, Version: a.version, Resolved: a.resolved()}
		it.failed, it.yielded = false, false
		if it.refused != 0 {
			it.refused = 0
			m.health.unset("refused")
		}
		touched[a.incident] = true
	}
	records := m.recordsLocked(touched)
	m.m.queue.WithLabelValues(m.name).Set(float64(m.pending.length(now)))
	m.mu.Unlock()
	if len(records) == 0 {
		return
	}
	if err := m.opts.Source.SetDeliveries(m.deliveryName(), records); err != nil {
		m.log.Debug("delivery cannot be noted", "err", err) // the incident is over
	}
}

// recordsLocked returns what is kept over restarts, by incident.
func (m *member) recordsLocked(touched map[string]bool) map[string]json.RawMessage {
	all := map[string]map[string]*delivery{}
	for fp, it := range m.pending.items {
		id := it.alert.incident
		if id == "" || !touched[id] || it.known == nil {
			continue
		}
		if all[id] == nil {
			all[id] = map[string]*delivery{}
		}
		all[id][fp] = it.known
	}
	out := map[string]json.RawMessage{}
	for id, rec := range all {
		if raw, err := json.Marshal(rec); err == nil { // times and numbers only
			out[id] = raw
		}
	}
	return out
}

func (m *member) fail(alerts []*alert, r reason) {
	m.good = 0
	m.m.failed.WithLabelValues(m.name, string(r)).Add(float64(len(alerts)))
	m.eachItem(alerts, func(it *item) { it.failed = true })
}

func (m *member) countRetries(alerts []*alert) {
	n := 0
	m.eachItem(alerts, func(it *item) {
		if it.failed {
			n++
		}
	})
	m.m.retried.WithLabelValues(m.name).Add(float64(n))
}

// refuse remembers that the member does not want this version. It is told of it
// again, alone and seldom: an alert that it took before would lapse otherwise,
// and what refused it may have been a proxy.
func (m *member) refuse(a *alert, r reason, err error) {
	again := false
	m.eachItem([]*alert{a}, func(it *item) {
		again = it.refused == a.version+1
		it.refused, it.retry = a.version+1, m.opts.Now().Add(m.opts.longestWait())
	})
	m.health.refused(a, err)
	if again {
		return
	}
	m.m.dropped.WithLabelValues(m.name, string(r)).Inc()
	m.log.Error("alert refused", "incident", a.incident, "alertname", a.labels["alertname"], "reason", string(r), "err", err)
}

func (m *member) dropInvalid(alerts []*alert) []*alert {
	good := make([]*alert, 0, len(alerts))
	for _, a := range alerts {
		if err := a.validate(); err != nil {
			m.refuse(a, invalid, err)
			continue
		}
		good = append(good, a)
	}
	return good
}

func (m *member) eachItem(alerts []*alert, f func(*item)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range alerts {
		if it := m.pending.items[a.fingerprint]; it != nil {
			f(it)
		}
	}
}
