package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"time"
)

//go:embed templates assets
var files embed.FS

// policy forbids everything that the pages do not need: nothing is loaded from
// elsewhere, nothing inline runs, nobody frames them.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// chrome is what all pages have around their content.
type chrome struct {
	Settings Settings
	Heading  string // of the page, and of its tab
	Here     string // path of the entry in the menu
	Version  string
	Now      time.Time
	Status   status
	Menu     []entry
}

type entry struct{ Path, Name string }

// status says how current the pages are.
type status struct {
	// Level is ok, warn or bad; Word says it for those who see no colour.
	Level, Word, Text string
}

func (s *Site) chrome(heading, here string) chrome {
	return chrome{
		Settings: s.opts.Settings().withDefaults(), Heading: heading, Here: here, Version: s.opts.Version, Now: s.opts.Now(), Status: s.status(),
		Menu: []entry{{"/", "Incidents"}, {"/jobs", "Jobs"}, {"/coverage", "Coverage"}, {"/evaluations", "Evaluations"}, {"/config", "Configuration"}},
	}
}

// URL puts the prefix before a path.
func (c chrome) URL(p string) string { return c.Settings.prefix() + p }

// IncidentURL is the address of an incident's page.
func (c chrome) IncidentURL(id string) string { return c.URL("/incidents/" + url.PathEscape(id)) }

// JobURL is the address of the incidents of a job.
func (c chrome) JobURL(id string) string { return c.URL("/?job=" + url.QueryEscape(id)) }

// Ago says how long ago something was.
func (c chrome) Ago(t time.Time) string { return ago(c.Now.Sub(t)) }

func (s *Site) status() status {
	set := s.opts.Settings().withDefaults()
	ticks := s.opts.Evaluations()
	if len(ticks) == 0 {
		return status{"warn", "starting", "The first evaluation is not finished."}
	}
	t := ticks[0]
	age := s.opts.Now().Sub(t.At.Add(set.QueryOffset))
	at := "Evaluated " + ago(max(age, 0))
	switch {
	case t.Err != nil:
		return status{"bad", "failed", "The last evaluation failed; incidents keep their state."}
	case age > 4*set.Interval+time.Minute:
		return status{"bad", "stale", at + ": what follows is old."}
	case s.blind() > 0:
		return status{"warn", "partly blind", at + ". Some inputs are missing, see Evaluations."}
	default:
		return status{"ok", "current", at + "."}
	}
}

func (s *Site) blind() int {
	if st := s.opts.State(); st != nil {
		return len(st.Blind)
	}
	return 0
}

// pages parses the template of a page with what is around it.
func pages(name string) *template.Template {
	return template.Must(template.New("").Funcs(words).ParseFS(files, "templates/layout.html", "templates/"+name+".html"))
}

// show renders a page. Nothing is sent unless all of it can be.
func (s *Site) show(w http.ResponseWriter, name string, code int, data any) {
	var b bytes.Buffer
	if err := s.templates[name].ExecuteTemplate(&b, "layout", data); err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = b.WriteTo(w) // the client went away
}

// asset serves the style sheet, the script and the icon.
func (s *Site) asset(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.PathValue("name"))
	data, err := files.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "max-age=300")
	_, _ = w.Write(data) //nolint:gosec // a file of the program; an error means that the client went away
}
