package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/signals"
)

// Word says whether the job communicates: stalled, running, paused, ended or
// unknown.
func (j *Job) Word() string {
	switch {
	case j.Ended:
		return "ended"
	case j.Stalled && j.Phase == "":
		return "stalled"
	case j.Phase != "":
		return "paused"
	case j.Known && len(j.Clocks) > 0:
		return "running"
	default:
		return "unknown"
	}
}

type jobsData struct {
	chrome
	Evaluated bool
	At        time.Time
	Jobs      []jobRow
}

type jobRow struct {
	*Job
	Incidents []row
}

func (s *Site) jobsPage(w http.ResponseWriter, _ *http.Request) {
	d := jobsData{chrome: s.chrome("Jobs", "/jobs")}
	if st := s.opts.State(); st != nil {
		d.Evaluated, d.At = true, st.Time
		open := s.openByJob()
		for i := range st.Jobs {
			d.Jobs = append(d.Jobs, jobRow{&st.Jobs[i], open[st.Jobs[i].ID]})
		}
	}
	s.show(w, "jobs", http.StatusOK, d)
}

type coverageData struct {
	chrome
	Coverage *signals.Coverage
	// Offered are the signals that are there, Absent those that nobody offers.
	Offered, Absent []signals.SignalCoverage
	// Counts of classes by level.
	Full, Coarse, Blind int
}

func (s *Site) coveragePage(w http.ResponseWriter, _ *http.Request) {
	d := coverageData{chrome: s.chrome("Coverage", "/coverage")}
	if st := s.opts.State(); st != nil && st.Coverage != nil {
		d.Coverage = st.Coverage
		for _, x := range st.Coverage.Signals {
			if x.Dialect == "" {
				d.Absent = append(d.Absent, x)
			} else {
				d.Offered = append(d.Offered, x)
			}
		}
		for _, c := range st.Coverage.Classes {
			switch c.Level {
			case signals.LevelFull:
				d.Full++
			case signals.LevelCoarse:
				d.Coarse++
			default:
				d.Blind++
			}
		}
	}
	s.show(w, "coverage", http.StatusOK, d)
}

type evaluationsData struct {
	chrome
	Ticks   []tickRow
	Blind   []string
	Queries []signals.QueryStat
}

type tickRow struct {
	engine.Tick
	Error string
	// Share is the part of the interval that it took, in percent.
	Share int
}

func (s *Site) evaluationsPage(w http.ResponseWriter, _ *http.Request) {
	d := evaluationsData{chrome: s.chrome("Evaluations", "/evaluations")}
	for _, t := range s.opts.Evaluations() {
		x := tickRow{Tick: t, Share: int(100 * t.Took / d.Settings.Interval)}
		if t.Err != nil {
			x.Error = firstLine(t.Err.Error())
		}
		d.Ticks = append(d.Ticks, x)
	}
	if st := s.opts.State(); st != nil {
		d.Blind, d.Queries = st.Blind, st.Queries
	}
	s.show(w, "evaluations", http.StatusOK, d)
}

type configData struct {
	chrome
	Text string
}

// configPage answers with the file to programs and with a page to browsers.
func (s *Site) configPage(w http.ResponseWriter, r *http.Request) {
	text, err := s.opts.Config()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Add("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Content-Type", "application/toml; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write([]byte(text)) // the client went away
		return
	}
	s.show(w, "config", http.StatusOK, configData{s.chrome("Configuration", "/config"), text})
}
