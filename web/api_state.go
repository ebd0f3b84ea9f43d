package web

import (
	"net/http"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// jobJSON is a job as the API shows it.
type jobJSON struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	User       string          `json:"user"`
	State      string          `json:"state"`
	Hosts      []string        `json:"hosts"`
	GPUs       int             `json:"gpus"`
	FirstSeen  time.Time       `json:"first_seen"`
	LastSeen   time.Time       `json:"last_seen"`
	Since      *time.Time      `json:"since,omitempty"`
	Clocks     []clockJSON     `json:"clocks"`
	Members    map[string]int  `json:"members"`
	Operations []operationJSON `json:"operations"`
	Incidents  []string        `json:"incidents"`
}

type clockJSON struct {
	Name    string     `json:"name"`
	Running bool       `json:"running"`
	Stopped *time.Time `json:"stopped,omitempty"`
}

type operationJSON struct {
	Operation string    `json:"operation"`
	Members   int       `json:"members"`
	Time      *float64  `json:"time_seconds,omitempty"`
	Bandwidth *float64  `json:"bus_bandwidth_bytes_per_second,omitempty"`
	Slowest   *float64  `json:"slowest_ratio,omitempty"`
	At        time.Time `json:"at"`
}

// noState is the answer before the first evaluation has finished.
func noState(w http.ResponseWriter) {
	writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "the first evaluation is not finished"})
}

func (s *Site) apiJobs(w http.ResponseWriter, _ *http.Request) {
	st := s.opts.State()
	if st == nil {
		noState(w)
		return
	}
	open := s.openByJob()
	out := []jobJSON{}
	for i := range st.Jobs {
		j := &st.Jobs[i]
		x := jobJSON{
			ID: j.ID, Name: j.Name, User: j.User, State: j.Word(), Hosts: j.Hosts, GPUs: j.GPUs, FirstSeen: j.FirstSeen.UTC(), LastSeen: j.LastSeen.UTC(),
			Clocks: []clockJSON{}, Members: map[string]int{}, Operations: []operationJSON{}, Incidents: []string{},
		}
		if x.Hosts == nil {
			x.Hosts = []string{}
		}
		if j.Stalled {
			x.Since = happened(j.Since)
		}
		for _, c := range j.Clocks {
			x.Clocks = append(x.Clocks, clockJSON{c.Name, c.Running, happened(c.Stopped)})
		}
		for _, m := range j.Members {
			x.Members[m.State] = m.Count
		}
		for _, o := range j.Operations {
			x.Operations = append(x.Operations, operationJSON{o.Name, o.Members, known(o.Time), known(o.Bandwidth), known(o.Slowest), o.At.UTC()})
		}
		for _, inc := range open[j.ID] {
			x.Incidents = append(x.Incidents, inc.ID)
		}
		out = append(out, x)
	}
	writeJSON(w, http.StatusOK, map[string]any{"time": st.Time.UTC(), "jobs": out})
}

func (s *Site) apiCoverage(w http.ResponseWriter, _ *http.Request) {
	st := s.opts.State()
	if st == nil || st.Coverage == nil {
		noState(w)
		return
	}
	c := *st.Coverage // shared with others: never changed
	c.Time = c.Time.UTC()
	fill(&c)
	writeJSON(w, http.StatusOK, c)
}

// fill makes lists of nothing empty instead of null.
func fill(c *signals.Coverage) {
	if c.Short == nil {
		c.Short = []signals.Shortage{}
	}
	if c.Idle == nil {
		c.Idle = []string{}
	}
	if c.Gaps == nil {
		c.Gaps = []string{}
	}
}

// evaluationJSON is one evaluation as the API shows it.
type evaluationJSON struct {
	At       time.Time `json:"at"`
	Took     float64   `json:"duration_seconds"`
	Query    float64   `json:"query_seconds"`
	Series   int       `json:"series"`
	Findings int       `json:"findings"`
	Verdicts int       `json:"verdicts"`
	Events   int       `json:"events"`
	Err      string    `json:"error,omitempty"`
}

func (s *Site) apiEvaluations(w http.ResponseWriter, _ *http.Request) {
	out := []evaluationJSON{}
	for _, t := range s.opts.Evaluations() {
		e := evaluationJSON{
			At: t.At.UTC(), Took: t.Took.Seconds(), Query: t.Query.Seconds(), Series: t.Series,
			Findings: t.Findings, Verdicts: t.Verdicts, Events: len(t.Events),
		}
		if t.Err != nil {
			e.Err = firstLine(t.Err.Error())
		}
		out = append(out, e)
	}
	writeJSON(w, http.StatusOK, map[string]any{"evaluations": out})
}
