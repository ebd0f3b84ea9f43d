package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/incidents/state"
	"github.com/collwatch/collwatch/signals"
)

// Names of the state files. Baselines lie apart, so that a damaged one never
// costs the continuity of alerts.
const (
	incidentsFile = "incidents"
	baselinesFile = "baselines"
)

// jobsFile says when each job was seen first: a job is no new one because the
// daemon is.
const (
	jobsFile   = "jobs"
	jobsSchema = 1
)

// baselineSchema is the version of the baselines file: 2 has the memories of the
// diagnosis beside the baselines of the detectors.
const baselineSchema = 2

// keeper is what has something to keep that was learned.
type keeper interface {
	Save() ([]byte, error)
}

// marker is what knows the jobs.
type marker interface{ Marks() []signals.JobMark }

// saver writes the state files. Its methods may be called from any goroutine;
// one writes at a time.
type saver struct {
	store   *state.Store
	manager *incidents.Manager

	mu        sync.Mutex
	every     time.Duration // between two writes of the baselines
	learned   keeper
	reader    marker
	jobs      []signals.JobMark // as of the last evaluation
	last      []byte            // incidents as written
	baselines time.Time
}

// tick writes incidents if they changed, and baselines from time to time.
func (s *saver) tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incidents()
	if s.reader != nil {
		s.jobs = s.reader.Marks()
	}
	if s.learned != nil && now.Sub(s.baselines) >= s.every {
		s.baselines = now
		s.saveBaselines()
	}
}

// deliveries writes incidents after a receiver was told something.
func (s *saver) deliveries() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incidents()
}

// all writes everything, at the end.
func (s *saver) all() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incidents()
	if s.learned != nil {
		s.saveBaselines()
	}
}

// use takes what learns in the running generation, and how often that is written.
func (s *saver) use(b keeper, r marker, every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learned, s.reader, s.every = b, r, every
}

// known are the jobs seen so far.
func (s *saver) known() []signals.JobMark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.jobs)
}

// restoreJobs takes the content of the jobs file.
func (s *saver) restoreJobs(data []byte) error { return json.Unmarshal(data, &s.jobs) }

// incidents saves if anything changed. The store logs its own failures and the
// next call tries again.
func (s *saver) incidents() {
	data, err := s.manager.Save()
	if err != nil || bytes.Equal(data, s.last) {
		return
	}
	if s.store.Save(incidentsFile, incidents.Schema, data) == nil {
		s.last = data
	}
}

func (s *saver) saveBaselines() {
	if data, err := json.Marshal(s.jobs); err == nil {
		_ = s.store.Save(jobsFile, jobsSchema, data)
	}
	if data, err := s.learned.Save(); err == nil {
		_ = s.store.Save(baselinesFile, baselineSchema, data)
	}
}
