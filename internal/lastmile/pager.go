package lastmile

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Pager is a receiver of Alertmanager's webhooks. It keeps every notification,
// doubled ones too: what it counts is what people would have heard.
type Pager struct {
	// URL is the address for webhook_configs.
	URL string

	mu   sync.Mutex
	told []Told
}

// Told is one alert in one notification.
type Told struct {
	Status      string            `json:"status"` // firing or resolved
	Labels      map[string]string `json:"labels"`
	Fingerprint string            `json:"fingerprint"`
	// At is when a StandIn told it; Alertmanager's webhooks do not say.
	At time.Time `json:"-"`
}

// tell is ServeHTTP without the network.
func (p *Pager) tell(t Told) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, t)
}

// Faults are the notifications about faults, in the order of time.
func (p *Pager) Faults() []Told {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.told), func(t Told) bool { return !t.aboutFault() })
}

// StartPager serves until the test ends.
func StartPager(t testing.TB) *Pager {
	p := &Pager{}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// ServeHTTP takes one notification.
func (p *Pager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var msg struct {
		Alerts []Told `json:"alerts"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&msg); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, msg.Alerts...)
}

// Own are the notifications of a class that collwatch says of itself.
func (p *Pager) Own(class string) []Told {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.told), func(t Told) bool { return t.Labels["class"] != class })
}

// Lines lists what people were told about faults, in the order of time, as
// "firing critical link_down gpu-007". What collwatch says of itself is left out.
func (p *Pager) Lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, t := range p.told {
		if t.aboutFault() {
			out = append(out, strings.Join(strings.Fields(t.Status+" "+t.Labels["severity"]+" "+t.Labels["class"]+" "+t.Labels["suspect_node"]), " "))
		}
	}
	return out
}

// aboutFault is false for what collwatch says of itself.
func (t *Told) aboutFault() bool {
	return !slices.Contains([]string{"heartbeat", "delivery_failing", "blind"}, t.Labels["class"])
}

// Count is the number of notifications about faults with a status for each
// alert, by its fingerprint.
func (p *Pager) Count(status string) map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]int{}
	for _, t := range p.told {
		if t.Status == status && t.aboutFault() {
			out[t.Fingerprint]++
		}
	}
	return out
}

// Config is an Alertmanager's configuration with this receiver: every alert is a
// notification of its own, told at once and never repeated; interval is the time
// between two looks at a group. extra are further receivers, in YAML and
// indented by four, that are told the same.
func (p *Pager) Config(interval time.Duration, extra string) string {
	return `
route:
  receiver: people
  group_by: ['...']
  group_wait: 100ms
  group_interval: ` + interval.String() + `
  repeat_interval: 24h
receivers:
  - name: people
    webhook_configs: [{url: '` + p.URL + `', send_resolved: true}]
` + extra
}
