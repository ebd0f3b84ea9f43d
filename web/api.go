package web

import (
	"cmp"
	_ "embed" // the description of the API
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/incidents"
)

// incidentJSON is an incident as the API shows it. Times that did not happen
// yet are absent.
type incidentJSON struct {
	ID            string            `json:"id"`
	State         string            `json:"state"`
	Class         string            `json:"class"`
	Reason        string            `json:"reason"`
	Severity      string            `json:"severity"`
	Confidence    string            `json:"confidence"`
	Job           string            `json:"job"`
	Suspects      []suspectJSON     `json:"suspects"`
	TieSet        int               `json:"tie_set"`
	StartedAt     time.Time         `json:"started_at"`
	FiredAt       *time.Time        `json:"fired_at,omitempty"`
	LastSeen      time.Time         `json:"last_seen"`
	ResolvedAt    *time.Time        `json:"resolved_at,omitempty"`
	ResolveReason string            `json:"resolve_reason,omitempty"`
	Recovery      string            `json:"recovery,omitempty"`
	Held          string            `json:"held,omitempty"`
	Withheld      string            `json:"withheld,omitempty"`
	Suppressed    string            `json:"suppressed,omitempty"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
	Evidence      []evidenceJSON    `json:"evidence"`
}

type suspectJSON struct {
	Kind   string `json:"kind"`
	Node   string `json:"node,omitempty"`
	Device string `json:"device,omitempty"`
	Switch string `json:"switch,omitempty"`
}

type evidenceJSON struct {
	Signal   string `json:"signal"`
	Entity   string `json:"entity"`
	Text     string `json:"text"`
	Decisive bool   `json:"decisive"`
}

// inState says whether an incident is in the state that was asked for; "open"
// includes latched ones, "" is all.
func inState(inc *incidents.Incident, state string) bool {
	return state == "" || inc.State.String() == state || (state == "open" && inc.State == incidents.Latched)
}

func states() []string {
	var out []string
	for s := incidents.Pending; s <= incidents.Resolved; s++ {
		out = append(out, s.String())
	}
	return out
}

// all lists the incidents, open ones first and then the newest first.
func (s *Site) all() []incidents.Incident {
	src := s.opts.Incidents()
	list := slices.Concat(src.Live(), src.Ended(), src.Past())
	// An incident may move on between two of the calls.
	seen := map[string]bool{}
	list = slices.DeleteFunc(list, func(i incidents.Incident) bool {
		twice := seen[i.ID]
		seen[i.ID] = true
		return twice
	})
	rank := func(s incidents.State) int {
		return slices.Index([]incidents.State{incidents.Open, incidents.Latched, incidents.Pending, incidents.Resolved}, s)
	}
	slices.SortStableFunc(list, func(x, y incidents.Incident) int {
		return cmp.Or(rank(x.State)-rank(y.State), y.StartedAt.Compare(x.StartedAt), cmp.Compare(x.ID, y.ID))
	})
	return list
}

func (s *Site) apiIncidents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if state := q.Get("state"); state != "" && !slices.Contains(states(), state) {
		// A misspelt state must not look like a quiet cluster.
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "state is one of " + strings.Join(states(), ", ")})
		return
	}
	out := []incidentJSON{}
	for _, inc := range s.all() {
		if inState(&inc, q.Get("state")) && harms(&inc, q.Get("job")) {
			out = append(out, s.incidentJSON(&inc))
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"incidents": out})
}

// harms says that an incident concerns a job, "" being any.
func harms(inc *incidents.Incident, job string) bool {
	return job == "" || inc.Verdict.Job == job || slices.Contains(inc.Jobs, job)
}

func (s *Site) apiIncident(w http.ResponseWriter, r *http.Request) {
	inc, ok := s.find(r)
	if !ok {
		writeJSON(w, http.StatusNotFound, map[string]string{"error": "no such incident, or it ended too long ago"})
		return
	}
	writeJSON(w, http.StatusOK, s.incidentJSON(inc))
}

func (s *Site) incidentJSON(inc *incidents.Incident) incidentJSON {
	v := &inc.Verdict
	out := incidentJSON{
		ID: inc.ID, State: inc.State.String(), Class: string(v.Class), Reason: v.Reason, Severity: inc.Severity.String(),
		Confidence: v.Confidence.String(), Job: v.Job, Suspects: []suspectJSON{}, TieSet: v.TieSet,
		StartedAt: inc.StartedAt.UTC(), FiredAt: happened(inc.FiredAt), LastSeen: inc.LastSeen.UTC(), ResolvedAt: happened(inc.ResolvedAt),
		ResolveReason: string(inc.ResolveReason), Recovery: inc.RecoveryText, Held: inc.Held,
		Withheld: string(inc.Withheld), Suppressed: s.suppressed(inc),
		Labels: inc.AlertLabels(), Annotations: s.opts.Renderer().Annotations(inc), Evidence: []evidenceJSON{},
	}
	for _, s := range inc.NamedSuspects() {
		out.Suspects = append(out.Suspects, suspectJSON{s.Kind, s.Node, s.Device, s.Switch})
	}
	for _, e := range v.Evidence {
		out.Evidence = append(out.Evidence, evidenceJSON{e.Signal.String(), e.Entity.String(), e.Text, e.Decisive})
	}
	return out
}

//go:embed openapi.json
var openAPI []byte

func (s *Site) apiDescription(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(openAPI) // the client went away
}

func happened(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// known is nil for a figure that is not known: JSON has no NaN.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// firstLine cuts stack traces off.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client went away
}
