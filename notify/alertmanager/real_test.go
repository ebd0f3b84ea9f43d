package alertmanager

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/api/v2/models"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/realserver"
)

// pager is a webhook receiver that notes what people would have been told.
type pager struct {
	url  string
	mu   sync.Mutex
	told []string // "firing warning link_down"
}

func newPager(t *testing.T) *pager {
	p := &pager{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var msg struct {
			Alerts []struct {
				Status string            `json:"status"`
				Labels map[string]string `json:"labels"`
			} `json:"alerts"`
		}
		if json.NewDecoder(r.Body).Decode(&msg) != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, a := range msg.Alerts {
			line := a.Status + " " + a.Labels["severity"] + " " + a.Labels["suspect_node"]
			if len(p.told) == 0 || !slices.Contains(p.told, line) {
				p.told = append(p.told, line)
			}
		}
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func (p *pager) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// config is an Alertmanager's configuration: host c is muted, the alert Parent
// inhibits host b.
func (p *pager) config() string {
	return `
route:
  receiver: pager
  group_by: ['...']
  group_wait: 100ms
  group_interval: 300ms
  routes:
    - matchers: ['suspect_node="c"']
      mute_time_intervals: [always]
time_intervals:
  - name: always
    time_intervals: [{times: [{start_time: '00:00', end_time: '24:00'}]}]
inhibit_rules:
  - source_matchers: ['alertname="Parent"']
    target_matchers: ['suspect_node="b"']
receivers:
  - name: pager
    webhook_configs: [{url: '` + p.url + `', send_resolved: true}]
`
}

// live is a manager and a notifier in real time.
type live struct {
	t *testing.T
	m *incidents.Manager
	n *Notifier
}

func goLive(t *testing.T, m *incidents.Manager, targets ...Target) *live {
	t.Helper()
	if m == nil {
		m = incidents.NewManager(incidents.Options{External: map[string]string{"cluster": "alpha"}})
	}
	n, err := New(Options{
		// Alerts live for four intervals: on a machine that stands still for
		// seconds they must not lapse between two repetitions.
		Source: m, Targets: targets, Interval: 10 * time.Second, ResendDelay: 500 * time.Millisecond,
		PollInterval: 200 * time.Millisecond, ReadbackInterval: 500 * time.Millisecond, DrainTimeout: time.Second,
		Renderer: &incidents.Renderer{ExternalURL: "http://collwatch:9877"},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait(); http.DefaultClient.CloseIdleConnections() })
	return &live{t, m, n}
}

func (l *live) tick(n int, vs ...diagnosis.Verdict) {
	for range n {
		l.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
		l.n.Sync()
	}
}

func (l *live) eventually(what string, ok func() bool) {
	l.t.Helper()
	require.Eventually(l.t, ok, time.Minute, 50*time.Millisecond, what)
}

// there returns the alerts of a server by suspect node and severity.
func there(t *testing.T, s *realserver.Server) map[string]*models.GettableAlert {
	t.Helper()
	resp, err := http.Get(s.URL + "/api/v2/alerts")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var list models.GettableAlerts
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
	out := map[string]*models.GettableAlert{}
	for _, a := range list {
		out[a.Labels["suspect_node"]+" "+a.Labels["severity"]] = a
	}
	return out
}

func (l *live) state(node string) (State, bool) {
	for _, inc := range l.m.Live() {
		if inc.Labels["suspect_node"] == node {
			return l.n.Suppression(Fingerprint(inc.AlertLabels()))
		}
	}
	return State{}, false
}

func needServers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
}

func TestRealAlertmanager(t *testing.T) {
	needServers(t)
	p := newPager(t)
	am := realserver.StartAlertmanager(t, p.config())
	l := goLive(t, nil, Target{Name: "am", URL: am.URL})

	a, b, c := down("a"), down("b"), down("c")
	l.tick(2, a, b, c)
	l.eventually("all fire", func() bool { return len(there(t, am)) == 3 })
	got := there(t, am)["a warning"]
	inc := l.m.Live()[slices.IndexFunc(l.m.Live(), func(i incidents.Incident) bool { return i.Labels["suspect_node"] == "a" })]
	require.Equal(t, Fingerprint(inc.AlertLabels()), *got.Fingerprint, "our fingerprint is Alertmanager's")
	require.Equal(t, models.LabelSet(inc.AlertLabels()), got.Labels)
	require.Equal(t, inc.FiredAt.UnixMilli(), time.Time(*got.StartsAt).UnixMilli())
	require.NotEmpty(t, got.Annotations["silence"])
	require.Equal(t, "http://collwatch:9877/incidents/"+inc.ID, got.GeneratorURL.String())

	l.eventually("c is muted", func() bool { s, ok := l.state("c"); return ok && slices.Equal(s.MutedBy, []string{"always"}) })
	s, known := l.state("a")
	require.True(t, known)
	require.False(t, s.Suppressed())

	am.Kill()
	am.Restart()
	l.eventually("the restarted one is told again", func() bool { return len(there(t, am)) == 3 })

	sil, err := l.n.Silence(t.Context(), SilenceRequest{
		Incident: inc.ID, Matchers: inc.SilenceMatchers(), Duration: time.Hour,
		Author: "ada", Comment: "on it", UntilResolved: true,
	})
	require.NoError(t, err)
	l.eventually("a is silenced", func() bool {
		s, ok := l.state("a")
		return ok && len(s.Silences) == 1 && s.Silences[0].By == "ada" && s.Silences[0].Comment == "ACK! on it"
	})
	parent := []byte(`[{"labels":{"alertname":"Parent"}}]`)
	resp, err := http.Post(am.URL+"/api/v2/alerts", "application/json", strings.NewReader(string(parent)))
	require.NoError(t, err)
	resp.Body.Close()
	l.eventually("b is inhibited", func() bool { s, ok := l.state("b"); return ok && len(s.InhibitedBy) == 1 })

	c.Severity = diagnosis.Critical
	l.tick(1, a, b, c)
	l.eventually("severity rises under one incident", func() bool {
		m := there(t, am)
		return m["c critical"] != nil && m["c warning"] == nil
	})

	l.tick(6)
	l.eventually("all resolve", func() bool { return len(there(t, am)) == 0 || len(there(t, am)) == 1 && there(t, am)[" "] != nil })
	l.tick(1)
	l.eventually("the acknowledgement ends with the incident", func() bool {
		resp, err := http.Get(am.URL + "/api/v2/silence/" + sil.ID)
		require.NoError(t, err)
		defer resp.Body.Close()
		var s models.GettableSilence
		return json.NewDecoder(resp.Body).Decode(&s) == nil && s.Status != nil && *s.Status.State == models.SilenceStatusStateExpired
	})
	require.NotContains(t, p.lines(), "firing critical c", "muted")
	require.Contains(t, p.lines(), "firing warning a")
}

func TestRealClusterWithOneMemberDown(t *testing.T) {
	needServers(t)
	p := newPager(t)
	one := realserver.StartAlertmanager(t, p.config())
	two := realserver.StartAlertmanager(t, p.config(), one.Cluster)
	two.Kill()
	l := goLive(t, nil, Target{Name: "two", URL: two.URL}, Target{Name: "one", URL: one.URL})
	l.tick(2, down("a"), down("x"))
	l.eventually("the living one knows", func() bool { return len(there(t, one)) == 2 })
	l.tick(6, down("x"))
	l.eventually("and learns of the end", func() bool { return len(there(t, one)) == 1 })
	two.Restart()
	l.eventually("the other catches up with the newest state only", func() bool {
		m := there(t, two)
		return len(m) == 1 && m["x warning"] != nil
	})
}

func TestRealRestartOfTheDaemon(t *testing.T) {
	needServers(t)
	p := newPager(t)
	am := realserver.StartAlertmanager(t, p.config())
	l := goLive(t, nil, Target{Name: "am", URL: am.URL})
	l.tick(2, down("a"))
	l.eventually("it fires", func() bool { return slices.Contains(p.lines(), "firing warning a") })
	data, err := l.m.Save()
	require.NoError(t, err)
	m := incidents.NewManager(incidents.Options{})
	require.NoError(t, m.Restore(data))
	again := goLive(t, m, Target{Name: "am", URL: am.URL})
	again.tick(3, down("a"))
	time.Sleep(time.Second)
	require.Equal(t, []string{"firing warning a"}, p.lines(), "no resolve, no second message")
	again.tick(6)
	again.eventually("it resolves", func() bool { return slices.Contains(p.lines(), "resolved warning a") })
}
