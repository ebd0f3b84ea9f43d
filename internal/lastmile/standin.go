package lastmile

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/prometheus/alertmanager/api/v2/models"

	"github.com/collwatch/collwatch/notify/alertmanager"
)

// StandIn is an Alertmanager for tests in simulated time, where no real server
// can take part. It keeps the rules by which alerts get lost or doubled: an alert
// ends at its endsAt unless it is repeated, what people were told is remembered
// over restarts, the alerts themselves are not. Every alert is a group of its own.
type StandIn struct {
	// Pager is who is told.
	Pager *Pager
	// Invalid is called with what the real one would refuse.
	Invalid func(error)

	mu     sync.Mutex
	alerts map[string]*models.PostableAlert // by fingerprint
	posted map[string]time.Time
	told   map[string]string // newest status by fingerprint: the notification log
	down   bool
}

// NewStandIn returns one that nobody has posted to.
func NewStandIn(p *Pager, invalid func(error)) *StandIn {
	return &StandIn{
		Pager: p, Invalid: invalid, alerts: map[string]*models.PostableAlert{}, posted: map[string]time.Time{}, told: map[string]string{},
	}
}

// Run looks at the alerts every interval, until ctx ends.
func (s *StandIn) Run(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.notify(time.Now())
		}
	}
}

// Stop ends it: nobody is told anything, and the alerts are forgotten.
func (s *StandIn) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	clear(s.alerts)
	clear(s.posted)
}

// Start lets it begin anew.
func (s *StandIn) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
}

func (s *StandIn) notify(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return
	}
	for fp, a := range s.alerts {
		status := "firing"
		if !time.Time(a.EndsAt).After(now) {
			status = "resolved"
			delete(s.alerts, fp)
			delete(s.posted, fp)
			if s.told[fp] != "firing" {
				continue // nobody heard that it began
			}
		}
		if s.told[fp] != status {
			s.told[fp] = status
			s.Pager.tell(Told{Status: status, Labels: a.Labels, Fingerprint: fp, At: now})
		}
	}
}

// ServeHTTP answers the part of API v2 that the daemon uses.
func (s *StandIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		panic(http.ErrAbortHandler)
	}
	_, path, _ := strings.Cut(r.URL.Path, "/api/v2/")
	switch {
	case path == "status":
		answer(w, map[string]any{
			"versionInfo": map[string]string{"version": "0.31.1", "revision": "", "branch": "", "buildUser": "", "buildDate": "", "goVersion": ""},
			"cluster":     map[string]any{"status": "ready", "peers": []any{}}, "config": map[string]string{"original": ""}, "uptime": time.Now(),
		})
	case path == "alerts" && r.Method == http.MethodPost:
		s.post(r)
	case path == "alerts":
		answer(w, s.present())
	case path == "alerts/groups":
		answer(w, []any{map[string]any{"labels": map[string]string{}, "receiver": map[string]string{"name": "people"}, "alerts": s.present()}})
	default:
		http.NotFound(w, r)
	}
}

func (s *StandIn) post(r *http.Request) {
	var alerts models.PostableAlerts
	err := json.NewDecoder(r.Body).Decode(&alerts)
	if err == nil {
		err = alerts.Validate(strfmt.Default)
	}
	if err != nil {
		s.Invalid(err)
		return
	}
	now := time.Now()
	for _, a := range alerts {
		fp := alertmanager.Fingerprint(a.Labels)
		if before := s.alerts[fp]; before != nil && time.Time(before.StartsAt).Before(time.Time(a.StartsAt)) && time.Time(before.EndsAt).After(time.Time(a.StartsAt)) {
			a.StartsAt = before.StartsAt // what overlaps is merged
		}
		s.alerts[fp], s.posted[fp] = a, now
	}
}

func (s *StandIn) present() models.GettableAlerts {
	out := models.GettableAlerts{}
	now := time.Now()
	for fp, a := range s.alerts {
		if !time.Time(a.EndsAt).After(now) {
			continue
		}
		state := "active"
		out = append(out, &models.GettableAlert{
			Fingerprint: &fp, Status: &models.AlertStatus{InhibitedBy: []string{}, SilencedBy: []string{}, MutedBy: []string{}, State: &state},
			Annotations: a.Annotations, EndsAt: &a.EndsAt, StartsAt: &a.StartsAt, UpdatedAt: new(strfmt.DateTime(s.posted[fp])),
			Receivers: []*models.ReceiverReference{}, Alert: models.Alert{Labels: a.Labels},
		})
	}
	slices.SortFunc(out, func(a, b *models.GettableAlert) int { return strings.Compare(*a.Fingerprint, *b.Fingerprint) })
	return out
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	_ = json.NewEncoder(w).Encode(v) // the test's own process reads it
}
