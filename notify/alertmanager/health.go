package alertmanager

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Condition is a lasting trouble with one member, for pages and meta-alerts.
type Condition struct {
	Target string    `json:"target"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	Text   string    `json:"text"`
}

// health is what is wrong with a member at present.
type health struct {
	mu      sync.Mutex
	trouble map[string]Condition // by kind: delivery, readback, refused, clock
	version string
	cluster string
}

func (h *health) set(kind string, c Condition) (fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old, there := h.trouble[kind]
	if there {
		c.Since = old.Since
	}
	if h.trouble == nil {
		h.trouble = map[string]Condition{}
	}
	h.trouble[kind] = c
	return !there || old.Reason != c.Reason
}

func (h *health) unset(kind string) (was bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, was = h.trouble[kind]
	delete(h.trouble, kind)
	return was
}

// sick notes a failed delivery and says whether that is news.
func (h *health) sick(r reason, now time.Time, err error) bool {
	return h.set("delivery", Condition{Reason: string(r), Since: now, Text: fmt.Sprint(err)})
}

// well says whether a delivery succeeded after failures.
func (h *health) well() bool { return h.unset("delivery") }

func (h *health) refused(a *alert, err error) {
	h.set("refused", Condition{Reason: "refused", Since: a.starts, Text: fmt.Sprintf("alert %s of incident %s: %v", a.labels["alertname"], a.incident, err)})
}

func (h *health) conditions(target string) []Condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Condition
	for _, c := range h.trouble {
		c.Target = target
		out = append(out, c)
	}
	return out
}

// short bounds what a server says of itself: it goes into logs and pages.
func short(s string) string { return strings.ToValidUTF8(s[:min(len(s), 64)], "") }

// greet asks a member who it is: the version decides what it can tell, and its
// clock what is the future. A member that does not answer is greeted again by
// the next poll.
func (m *member) greet(ctx context.Context) {
	st, err := m.client.status(ctx)
	if err != nil || st == nil {
		return
	}
	h := &m.health
	h.mu.Lock()
	before := h.version
	if st.VersionInfo != nil && st.VersionInfo.Version != nil {
		h.version = short(*st.VersionInfo.Version)
	}
	if st.Cluster != nil && st.Cluster.Status != nil {
		h.cluster = short(*st.Cluster.Status)
	}
	version := h.version
	h.mu.Unlock()
	if version != before {
		m.log.Info("alertmanager found", "version", version)
	}
	if skew := m.client.clockSkew(); skew != 0 {
		if h.set("clock", Condition{Reason: "clock", Since: m.opts.Now(), Text: fmt.Sprintf("its clock differs by %s", skew.Round(time.Second))}) {
			m.log.Warn("alertmanager has another time, alerts are sent in its time", "difference", skew.Round(time.Second))
		}
	} else {
		h.unset("clock")
	}
}
