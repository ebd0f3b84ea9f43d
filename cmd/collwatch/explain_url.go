package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

const (
	// maxAnswer bounds what a daemon tells; a thousand incidents are a few MB.
	maxAnswer = 64 << 20
	// askTimeout is for somebody who waits at a terminal.
	askTimeout = 30 * time.Second
)

// toldIncident is what explain needs of an incident of the API.
type toldIncident struct {
	ID, State, Class, Reason, Severity, Confidence, Held, Recovery string

	Suspects      []diagnosis.Suspect
	TieSet        int               `json:"tie_set"`
	StartedAt     time.Time         `json:"started_at"`
	ResolvedAt    time.Time         `json:"resolved_at"`
	ResolveReason string            `json:"resolve_reason"`
	Annotations   map[string]string `json:"annotations"`
}

// askIncidents asks a daemon for its incidents; base is the address of its pages.
func askIncidents(ctx context.Context, base string) ([]explanation, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, usageError(errors.New("explain: --url is no address of the daemon's pages: write http://HOST:9876"))
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("api/v1/incidents").String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("explain: %s answers %s: is it a collwatch daemon?", u.Redacted(), resp.Status)
	}
	var told struct{ Incidents []toldIncident }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&told); err != nil {
		return nil, fmt.Errorf("explain: what %s answers are no incidents: %w", u.Redacted(), err)
	}
	out := make([]explanation, len(told.Incidents))
	for i := range told.Incidents {
		out[i] = told.Incidents[i].explanation()
	}
	return out, nil
}

func (t *toldIncident) explanation() explanation {
	x := explanation{
		id: t.ID, state: t.State, held: t.Held, class: t.Class, reason: t.Reason, severity: t.Severity, confidence: t.Confidence,
		suspects: suspectNames(t.Suspects, t.TieSet), started: t.StartedAt,
		resolved: t.ResolvedAt, resolveReason: t.ResolveReason, recovery: t.Recovery, notes: t.Annotations,
	}
	for _, s := range []*string{&x.id, &x.state, &x.held, &x.class, &x.reason, &x.severity, &x.confidence, &x.suspects, &x.resolveReason, &x.recovery} {
		*s = incidents.Printable(*s)
	}
	for k, v := range x.notes {
		x.notes[k] = incidents.Printable(v)
	}
	return x
}
