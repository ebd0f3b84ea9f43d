package alertmanager

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/prometheus/alertmanager/api/v2/models"
)

// fake is an Alertmanager that is stricter than the real one about what it
// gets, and misbehaves on demand as real ones and the proxies before them do.
type fake struct {
	t   testing.TB
	now func() time.Time

	mu     sync.Mutex
	alerts map[string]*models.PostableAlert // newest by fingerprint
	posted map[string]time.Time             // when, by fingerprint
	posts  []post
	// answer overrides the answer to POST /alerts; nil is the normal one.
	answer func(w http.ResponseWriter, r *http.Request, alerts models.PostableAlerts) (done bool)
	// lose drops alerts that were acknowledged.
	lose bool
	// fingerprint to state for GET.
	silenced, inhibited, muted map[string][]string
	noMutedBy                  bool
	ungrouped                  bool // nothing is dispatched yet
	version                    string
	silences                   map[string]*models.PostableSilence
	expired                    []string
	down                       bool
}

type post struct {
	at     time.Time
	alerts models.PostableAlerts
}

func newFake(t testing.TB, now func() time.Time) *fake {
	return &fake{
		t: t, now: now, alerts: map[string]*models.PostableAlert{}, posted: map[string]time.Time{}, version: "0.31.1",
		silenced: map[string][]string{}, inhibited: map[string][]string{}, muted: map[string][]string{},
		silences: map[string]*models.PostableSilence{},
	}
}

// ServeHTTP answers like API v2, below any prefix.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Date", f.now().UTC().Format(http.TimeFormat))
	_, path, ok := strings.Cut(r.URL.Path, "/api/v2/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	if !strings.HasPrefix(r.Header.Get("User-Agent"), "collwatch") {
		f.t.Errorf("user agent is %q", r.Header.Get("User-Agent"))
	}
	switch {
	case path == "status":
		f.json(w, map[string]any{
			"versionInfo": map[string]string{"version": f.version, "revision": "", "branch": "", "buildUser": "", "buildDate": "", "goVersion": ""},
			"cluster":     map[string]any{"status": "ready", "peers": []any{}}, "config": map[string]string{"original": ""}, "uptime": f.now(),
		})
	case path == "alerts" && r.Method == http.MethodPost:
		f.post(w, r)
	case path == "alerts":
		f.json(w, f.gettable(false))
	case path == "alerts/groups" && f.ungrouped:
		f.json(w, []any{})
	case path == "alerts/groups":
		f.json(w, []any{map[string]any{"labels": map[string]string{}, "receiver": map[string]string{"name": "x"}, "alerts": f.gettable(!f.noMutedBy)}})
	case path == "silences" && r.Method == http.MethodPost:
		var s models.PostableSilence
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil || s.Validate(strfmt.Default) != nil {
			f.t.Errorf("bad silence: %v %v", err, s.Validate(strfmt.Default))
		}
		id := fmt.Sprintf("00000000-0000-0000-0000-%012d", len(f.silences)+1)
		f.silences[id] = &s
		f.json(w, map[string]string{"silenceID": id})
	case strings.HasPrefix(path, "silence/"):
		f.silence(w, r, strings.TrimPrefix(path, "silence/"))
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) silence(w http.ResponseWriter, r *http.Request, id string) {
	s := f.silences[id]
	switch {
	case s == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		f.expired = append(f.expired, id)
		delete(f.silences, id)
	default:
		f.json(w, models.GettableSilence{Silence: s.Silence, ID: &id, UpdatedAt: s.StartsAt, Status: &models.SilenceStatus{State: new("active")}})
	}
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/json" {
		f.t.Errorf("content type is %q", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) > 1<<20 {
		f.t.Errorf("body of %d bytes: %v", len(body), err)
	}
	var alerts models.PostableAlerts
	if err := json.Unmarshal(body, &alerts); err != nil {
		f.t.Errorf("body: %v", err)
	}
	if err := alerts.Validate(strfmt.Default); err != nil {
		f.t.Errorf("the real one would answer 422: %v", err)
	}
	f.posts = append(f.posts, post{f.now(), alerts})
	if f.answer != nil && f.answer(w, r, alerts) {
		return
	}
	f.store(alerts)
}

func (f *fake) store(alerts models.PostableAlerts) {
	if f.lose {
		return
	}
	for _, a := range alerts {
		if time.Time(a.EndsAt).Before(time.Time(a.StartsAt)) {
			f.t.Errorf("ends before it starts: %v", a.Labels)
		}
		f.alerts[Fingerprint(a.Labels)] = a
		f.posted[Fingerprint(a.Labels)] = f.now()
	}
}

// firing are the fingerprints that fire now.
func (f *fake) firing() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.firingLocked()
}

func (f *fake) firingLocked() []string {
	out := []string{}
	for fp, a := range f.alerts {
		if time.Time(a.EndsAt).After(f.now()) && a.Labels["class"] != "heartbeat" {
			out = append(out, fp)
		}
	}
	slices.Sort(out)
	return out
}

func (f *fake) gettable(mutes bool) models.GettableAlerts {
	out := models.GettableAlerts{}
	for _, fp := range f.firingLocked() {
		a := f.alerts[fp]
		st := &models.AlertStatus{InhibitedBy: f.inhibited[fp], SilencedBy: f.silenced[fp], MutedBy: []string{}, State: new("active")}
		if mutes {
			st.MutedBy = f.muted[fp]
		}
		out = append(out, &models.GettableAlert{
			Fingerprint: &fp, Status: st, Annotations: a.Annotations, EndsAt: &a.EndsAt, StartsAt: &a.StartsAt,
			UpdatedAt: new(strfmt.DateTime(f.posted[fp])), Receivers: []*models.ReceiverReference{}, Alert: models.Alert{Labels: a.Labels},
		})
	}
	return out
}

func (f *fake) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		f.t.Error(err)
	}
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// count is the number of alerts posted so far, heartbeats not counted.
func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, p := range f.posts {
		for _, a := range p.alerts {
			if a.Labels["class"] != "heartbeat" {
				n++
			}
		}
	}
	return n
}

// RoundTrip answers without a network, so that tests can run in fake time.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	down := f.down
	f.mu.Unlock()
	if down {
		return nil, fmt.Errorf("dial tcp %s: connection refused", r.URL.Host)
	}
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, r)
	if r.Body != nil {
		r.Body.Close()
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// late is a transport whose answers take a while.
func late(f *fake, d time.Duration) func(DialFunc) (http.RoundTripper, error) {
	return func(DialFunc) (http.RoundTripper, error) { return lateTransport{f, d}, nil }
}

type lateTransport struct {
	f *fake
	d time.Duration
}

func (l lateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(l.d):
		return l.f.RoundTrip(r)
	}
}

func (f *fake) target(name string) Target {
	return Target{Name: name, URL: "http://" + name + ":9093", NewTransport: func(DialFunc) (http.RoundTripper, error) { return f, nil }}
}

func (f *fake) labels() []map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []map[string]string
	for _, fp := range f.firingLocked() {
		out = append(out, maps.Clone(f.alerts[fp].Labels))
	}
	return out
}
