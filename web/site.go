package web

import (
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// Incidents is where incidents come from. *incidents.Manager is one.
type Incidents interface {
	Live() []incidents.Incident
	Ended() []incidents.Incident
	Past() []incidents.Incident
	Find(id string) (incidents.Incident, bool)
}

// Settings are what a configuration says about the pages.
type Settings struct {
	Title string
	// ExternalURL is where people reach the pages; its path is the prefix.
	ExternalURL string
	// ChartBefore is the time before the onset that charts show.
	ChartBefore time.Duration
	// PageSize is the number of incidents on one page.
	PageSize int
	// Interval is the time between two evaluations; QueryOffset is how far
	// they lie in the past.
	Interval, QueryOffset time.Duration
}

func (s Settings) withDefaults() Settings {
	if s.Title == "" {
		s.Title = "collwatch"
	}
	if s.ChartBefore <= 0 {
		s.ChartBefore = 30 * time.Minute
	}
	if s.PageSize <= 0 {
		s.PageSize = 50
	}
	if s.Interval <= 0 {
		s.Interval = 15 * time.Second
	}
	return s
}

// prefix is the path of the external URL without a slash at its end.
func (s Settings) prefix() string {
	u, err := url.Parse(s.ExternalURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// Options are the sources of the pages. They are functions since a reload
// exchanges what is behind them; all are asked at each request and must be safe
// for concurrent use. Those without a remark are required.
type Options struct {
	Incidents func() Incidents
	Renderer  func() *incidents.Renderer
	Settings  func() Settings
	// State is what the newest evaluation saw, nil before the first.
	State func() *State
	// Evaluations are the last ones, newest first.
	Evaluations func() []engine.Tick
	// Config is the effective configuration with secrets masked.
	Config func() (string, error)
	// Querier answers for charts, nil for an unknown name. Without it pages
	// have no charts.
	Querier func(source string) promapi.Querier
	// Custom is the PromQL that shows a signal of the user's own, whose name is
	// in Entity.Detail, with peers on some hosts, none for all. May be nil.
	Custom func(e signals.Entity, hosts []string) (signals.Plot, bool)
	// Suppressed says in words why receivers are quiet about an incident, ""
	// if they are not. May be nil.
	Suppressed func(*incidents.Incident) string
	// Told says in words what a receiver was told last, from its own record.
	// May be nil.
	Told func(receiver string, record json.RawMessage) string
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Version of the program.
	Version string
}

// Site answers requests for pages and for the API.
type Site struct {
	opts      Options
	charts    chartCache
	templates map[string]*template.Template
}

// NewSite returns a site over its sources.
func NewSite(o Options) *Site {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.State == nil {
		o.State = func() *State { return nil }
	}
	s := &Site{opts: o, templates: map[string]*template.Template{}}
	for _, name := range []string{"index", "incident", "missing", "jobs", "coverage", "evaluations", "config"} {
		s.templates[name] = pages(name)
	}
	return s
}

// Register adds the handlers to mux.
func (s *Site) Register(mux *http.ServeMux) {
	page := func(pattern string, h func(http.ResponseWriter, *http.Request)) {
		mux.HandleFunc("GET "+pattern, h)
	}
	page("/{$}", s.indexPage)
	page("/incidents/{id}", s.incidentPage)
	page("/jobs", s.jobsPage)
	page("/coverage", s.coveragePage)
	page("/evaluations", s.evaluationsPage)
	page("/config", s.configPage)
	page("/assets/{name}", s.asset)
	page("/api/v1/incidents", s.apiIncidents)
	page("/api/v1/incidents/{id}", s.apiIncident)
	page("/api/v1/jobs", s.apiJobs)
	page("/api/v1/coverage", s.apiCoverage)
	page("/api/v1/evaluations", s.apiEvaluations)
	page("/api/v1/openapi.json", s.apiDescription)
}

// Prefixed takes the path of the external URL off requests, so that it works
// behind proxies that leave it and behind those that cut it.
func (s *Site) Prefixed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prefix := s.opts.Settings().prefix()
		if prefix != "" && (r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/")) {
			if r.URL.Path == prefix {
				r.URL.Path += "/" // http.StripPrefix would leave nothing
			}
			http.StripPrefix(prefix, next).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// suppressed asks the source if there is one.
func (s *Site) suppressed(inc *incidents.Incident) string {
	if s.opts.Suppressed == nil || !inc.Active() {
		return ""
	}
	return s.opts.Suppressed(inc)
}

// find looks an incident up by the id in the path.
func (s *Site) find(r *http.Request) (*incidents.Incident, bool) {
	inc, ok := s.opts.Incidents().Find(r.PathValue("id"))
	return &inc, ok
}

// chartContext bounds what a request may cost the server that is asked.
func chartContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 5*time.Second)
}
