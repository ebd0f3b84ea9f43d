package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/collwatch/collwatch/incidents"
)

// Incidents is where incidents come from. *incidents.Manager is one.
type Incidents interface {
	Live() []incidents.Incident
	Ended() []incidents.Incident
	Past() []incidents.Incident
	Find(id string) (incidents.Incident, bool)
}

// API answers below /api/v1.
type API struct {
	// Incidents and Renderer are asked at each request, because a reload
	// exchanges them.
	Incidents func() Incidents
	Renderer  func() *incidents.Renderer
}

// Register adds the handlers to mux.
func (a *API) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/incidents", a.list)
	mux.HandleFunc("GET /api/v1/incidents/{id}", a.one)
}

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

// list answers with the incidents, open ones first and then the newest first.
// The parameter state limits it to one state; "open" includes latched ones.
func (a *API) list(w http.ResponseWriter, r *http.Request) {
	src := a.Incidents()
	all := slices.Concat(src.Live(), src.Ended(), src.Past())
	state := r.URL.Query().Get("state")
	out := []incidentJSON{}
	for i := range all {
		inc := &all[i]
		if state != "" && inc.State.String() != state && !(state == "open" && inc.State == incidents.Latched) {
			continue
		}
		out = append(out, a.render(inc))
	}
	slices.SortStableFunc(out, func(x, y incidentJSON) int {
		return cmp.Or(rank(x.State)-rank(y.State), y.StartedAt.Compare(x.StartedAt), cmp.Compare(x.ID, y.ID))
	})
	writeJSON(w, http.StatusOK, map[string]any{"incidents": out})
}

func rank(state string) int {
	return slices.Index([]string{"open", "latched", "pending", "resolved"}, state)
}

func (a *API) one(w http.ResponseWriter, r *http.Request) {
	inc, ok := a.Incidents().Find(r.PathValue("id"))
	if !ok {
		writeJSON(w, http.StatusNotFound, map[string]string{"error": "no such incident, or it ended too long ago"})
		return
	}
	writeJSON(w, http.StatusOK, a.render(&inc))
}

func (a *API) render(inc *incidents.Incident) incidentJSON {
	v := &inc.Verdict
	out := incidentJSON{
		ID: inc.ID, State: inc.State.String(), Class: string(v.Class), Reason: v.Reason, Severity: inc.Severity.String(),
		Confidence: v.Confidence.String(), Job: v.Job, Suspects: []suspectJSON{}, TieSet: v.TieSet,
		StartedAt: inc.StartedAt.UTC(), FiredAt: happened(inc.FiredAt), LastSeen: inc.LastSeen.UTC(), ResolvedAt: happened(inc.ResolvedAt),
		ResolveReason: string(inc.ResolveReason), Recovery: inc.RecoveryText, Held: inc.Held,
		Labels: inc.AlertLabels(), Annotations: a.Renderer().Annotations(inc), Evidence: []evidenceJSON{},
	}
	for _, s := range inc.NamedSuspects() {
		out.Suspects = append(out.Suspects, suspectJSON{s.Kind, s.Node, s.Device, s.Switch})
	}
	for _, e := range v.Evidence {
		out.Evidence = append(out.Evidence, evidenceJSON{e.Signal.String(), e.Entity.String(), e.Text, e.Decisive})
	}
	return out
}

func happened(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client went away
}
