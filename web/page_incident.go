package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

type incidentData struct {
	chrome
	Inc *incidents.Incident
	// Notes are the annotations of the alert.
	Notes      map[string]string
	Suppressed string
	Suspects   []diagnosis.Suspect
	Evidence   []diagnosis.Evidence // decisive facts first
	Labels     []label
	Life       []moment
	Receivers  []receiver
	Chart      *chart
	Own        []*chart // of signals of the user's own
	Expression string
	Fabric     *drawing
}

type label struct{ Name, Value string }

// moment is one event of an incident's life.
type moment struct {
	At   time.Time
	What string
}

// receiver is somebody who was told.
type receiver struct{ Name, What string }

type missingData struct {
	chrome
	ID string
}

func (s *Site) incidentPage(w http.ResponseWriter, r *http.Request) {
	inc, ok := s.find(r)
	if !ok {
		s.show(w, "missing", http.StatusNotFound, missingData{s.chrome("No such incident", ""), r.PathValue("id")})
		return
	}
	renderer := s.opts.Renderer()
	d := incidentData{
		Inc: inc, Notes: renderer.Annotations(inc), Suppressed: s.suppressed(inc), Suspects: inc.NamedSuspects(),
		Evidence: slices.Clone(inc.Verdict.Evidence), Life: life(inc), Receivers: s.receivers(inc),
	}
	d.chrome = s.chrome(d.Notes["summary"], "")
	slices.SortStableFunc(d.Evidence, func(a, b diagnosis.Evidence) int { return -cmp.Compare(number(a.Decisive), number(b.Decisive)) })
	d.Evidence = unique(d.Evidence)
	for name, value := range inc.AlertLabels() {
		d.Labels = append(d.Labels, label{name, value})
	}
	slices.SortFunc(d.Labels, func(a, b label) int { return cmp.Compare(a.Name, b.Name) })
	st := s.opts.State()
	d.Chart, d.Own = s.chart(r.Context(), inc, st), s.ownCharts(r.Context(), inc, st)
	if d.Expression = d.Notes["expression"]; d.Expression == "" && d.Chart != nil {
		d.Expression = d.Chart.Expression
	}
	if st != nil {
		d.Fabric = draw(inc, st.Fabric)
	}
	s.show(w, "incident", http.StatusOK, d)
}

// unique drops statements that say the same of two signals.
func unique(list []diagnosis.Evidence) []diagnosis.Evidence {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(e diagnosis.Evidence) bool {
		again := seen[e.Text]
		seen[e.Text] = true
		return again
	})
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// life lists what happened to the incident, in the order of time.
func life(inc *incidents.Incident) []moment {
	var out []moment
	add := func(t time.Time, what string, args ...any) {
		if !t.IsZero() {
			out = append(out, moment{t, fmt.Sprintf(what, args...)})
		}
	}
	add(inc.StartedAt, "onset of the fault")
	add(inc.ActiveAt, "first verdict")
	first := inc.Severity
	if len(inc.Raises) > 0 {
		first = inc.Raises[0].From
	}
	add(inc.FiredAt, "opened, severity %s", first)
	for i, raise := range inc.Raises {
		to := inc.Severity
		if i+1 < len(inc.Raises) {
			to = inc.Raises[i+1].From
		}
		add(raise.At, "severity rose from %s to %s", raise.From, to)
	}
	if inc.JobEnded {
		add(inc.JobEndedAt, "job %s ended", inc.Verdict.Job)
	}
	if inc.State != incidents.Resolved {
		add(inc.LastSeen, "confirmed last")
	}
	text := plain(string(inc.ResolveReason))
	if inc.RecoveryText != "" {
		text += ": " + inc.RecoveryText
	}
	add(inc.ResolvedAt, "over, %s", text)
	slices.SortStableFunc(out, func(a, b moment) int { return a.At.Compare(b.At) })
	return out
}

// receivers lists who was told.
func (s *Site) receivers(inc *incidents.Incident) []receiver {
	var out []receiver
	for name, record := range inc.Deliveries {
		what := ""
		if s.opts.Told != nil {
			what = s.opts.Told(name, record)
		}
		out = append(out, receiver{name, what})
	}
	slices.SortFunc(out, func(a, b receiver) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
