package alertmanager

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/api/v2/models"

	"github.com/collwatch/collwatch/incidents"
)

// Silence is a silence that covers an alert.
type Silence struct {
	ID      string    `json:"id"`
	By      string    `json:"by"`
	Comment string    `json:"comment"`
	Until   time.Time `json:"until"`
}

// State is what Alertmanager does with an alert.
type State struct {
	Silences    []Silence `json:"silences,omitempty"`
	InhibitedBy []string  `json:"inhibited_by,omitempty"` // fingerprints
	MutedBy     []string  `json:"muted_by,omitempty"`     // time intervals
	// Read is when Alertmanager was asked.
	Read time.Time `json:"read"`
}

// Suppressed says that people are not to be told.
func (s State) Suppressed() bool {
	return len(s.Silences) > 0 || len(s.InhibitedBy) > 0 || len(s.MutedBy) > 0
}

// By says in words what suppresses the alert, "" if nothing does.
func (s State) By() string {
	var parts []string
	for _, x := range s.Silences {
		t := "silenced"
		if x.By != "" {
			t += " by " + x.By
		}
		if !x.Until.IsZero() {
			t += " until " + x.Until.UTC().Format("2006-01-02 15:04 MST")
		}
		parts = append(parts, t)
	}
	if len(s.InhibitedBy) > 0 {
		parts = append(parts, "inhibited by another alert")
	}
	if len(s.MutedBy) > 0 {
		parts = append(parts, "muted by "+strings.Join(s.MutedBy, ", "))
	}
	return strings.Join(parts, "; ")
}

// Suppressor is the view that other receivers have of suppression.
type Suppressor interface {
	// Suppression returns what Alertmanager does with an alert. known is
	// false while no Alertmanager could be asked lately, or the alert is not
	// visible there yet. An alert that resolved keeps its last state.
	Suppression(fingerprint string) (s State, known bool)
	// Refresh asks now.
	Refresh(ctx context.Context) error
}

var _ Suppressor = (*Notifier)(nil)

// poller reads suppression from the first member that answers.
type poller struct {
	n *Notifier

	mu       sync.Mutex
	read     time.Time // newest success
	states   map[string]State
	resolved map[string]bool
	silences map[string]Silence // details by id
}

func (p *poller) init(n *Notifier) {
	p.n = n
	p.states, p.resolved, p.silences = map[string]State{}, map[string]bool{}, map[string]Silence{}
}

func (p *poller) run(ctx context.Context) {
	poll := time.NewTicker(p.n.opts.PollInterval)
	defer poll.Stop()
	readback := time.NewTicker(p.n.opts.ReadbackInterval)
	defer readback.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			_ = p.n.Refresh(ctx) // counted
			p.n.expireAcks(ctx)
		case <-readback.C:
			p.n.readback(ctx)
		}
	}
}

// Suppression implements Suppressor.
func (n *Notifier) Suppression(fingerprint string) (State, bool) {
	p := &n.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	s, seen := p.states[fingerprint]
	if p.resolved[fingerprint] {
		return s, seen
	}
	fresh := n.opts.Now().Sub(p.read) <= 3*n.opts.PollInterval
	return s, seen && fresh && s.Read.Equal(p.read)
}

// Refresh implements Suppressor.
func (n *Notifier) Refresh(ctx context.Context) error {
	err := errNoTarget
	for _, m := range n.present() {
		var states map[string]State
		if states, err = n.readStates(ctx, m); err == nil {
			n.poller.take(states, n.opts.Now())
			n.poller.export(n.metrics)
			return nil
		}
	}
	n.metrics.pollFailures.Inc()
	return err
}

// Bounds of what one poll asks and keeps of silences, whatever the server lists:
// a poll must end before the next one.
const (
	maxLookups  = 200 // details of silences
	maxSilences = 20  // of one alert
)

// readStates asks one member. Silences and inhibition are on the alerts, mute
// times on the groups only.
func (n *Notifier) readStates(ctx context.Context, m *member) (map[string]State, error) {
	list, err := m.client.alerts(ctx)
	if err != nil {
		return nil, err
	}
	groups, err := m.client.groups(ctx)
	if err != nil {
		return nil, err
	}
	states := map[string]State{}
	silences := map[string]Silence{} // as read now: many alerts share one
	for _, a := range list {
		if a == nil || a.Fingerprint == nil || a.Status == nil {
			continue
		}
		// Not dispatched yet: routes and mutes have not looked at it.
		if a.Status.State != nil && *a.Status.State == models.AlertStatusStateUnprocessed {
			continue
		}
		states[*a.Fingerprint] = State{InhibitedBy: a.Status.InhibitedBy, Silences: n.silencesOf(ctx, m, a.Status.SilencedBy, silences)}
	}
	addMutes(states, groups)
	return states, nil
}

// silencesOf are the silences with some ids, as known has them or as they are
// asked for. Above the limits it is known only that there is one.
func (n *Notifier) silencesOf(ctx context.Context, m *member, ids []string, known map[string]Silence) []Silence {
	var out []Silence
	for _, id := range ids {
		x, ok := known[id]
		switch {
		case ok:
		case len(known) >= maxLookups:
			x = Silence{ID: id}
		default:
			x = n.silenceInfo(ctx, m, id)
			known[id] = x
		}
		if out = append(out, x); len(out) >= maxSilences {
			break
		}
	}
	return out
}

// addMutes adds the mute times, which groups alone tell. What is in no group yet
// and not suppressed is dropped: its mute times cannot be known.
func addMutes(states map[string]State, groups models.AlertGroups) {
	grouped := map[string]bool{}
	for _, g := range groups {
		if g == nil {
			continue
		}
		for _, a := range g.Alerts {
			if a == nil || a.Fingerprint == nil || a.Status == nil {
				continue
			}
			if s, ok := states[*a.Fingerprint]; ok {
				s.MutedBy = a.Status.MutedBy
				states[*a.Fingerprint] = s
				grouped[*a.Fingerprint] = true
			}
		}
	}
	for fp, s := range states {
		if !grouped[fp] && !s.Suppressed() {
			delete(states, fp)
		}
	}
}

// silenceInfo returns the details of a silence. They are read again at each
// poll: a silence is extended under the same id. Listing all silences is
// avoided: one with several matcher sets makes the list fail.
func (n *Notifier) silenceInfo(ctx context.Context, m *member, id string) Silence {
	p := &n.poller
	s, err := m.client.silence(ctx, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.silences[id] = s
		return s
	}
	if s, ok := p.silences[id]; ok {
		return s
	}
	return Silence{ID: id}
}

func (p *poller) take(states map[string]State, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read = now
	used := map[string]bool{}
	for fp, s := range states {
		s.Read = now
		p.states[fp] = s
		for _, x := range s.Silences {
			used[x.ID] = true
		}
	}
	for id := range p.silences {
		if !used[id] {
			delete(p.silences, id)
		}
	}
}

// forget drops the states of alerts that are pruned and marks those of
// incidents that ended.
func (p *poller) forget(want map[string]*alert, _ []incidents.Incident) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.resolved)
	for fp := range p.states {
		a := want[fp]
		if a == nil {
			delete(p.states, fp)
			continue
		}
		p.resolved[fp] = a.resolved()
	}
}

func (p *poller) export(m *metrics) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := map[string]int{"silence": 0, "inhibition": 0, "mute_time": 0}
	for fp, s := range p.states {
		if p.resolved[fp] || !s.Read.Equal(p.read) {
			continue
		}
		if len(s.Silences) > 0 {
			n["silence"]++
		}
		if len(s.InhibitedBy) > 0 {
			n["inhibition"]++
		}
		if len(s.MutedBy) > 0 {
			n["mute_time"]++
		}
	}
	for by, count := range n {
		m.suppressed.WithLabelValues(by).Set(float64(count))
	}
}
