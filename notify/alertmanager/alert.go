package alertmanager

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-openapi/strfmt"
	"github.com/prometheus/alertmanager/api/v2/models"
	"github.com/prometheus/common/model"

	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/internal/order"
)

// alert is the state that a member should know under one fingerprint.
type alert struct {
	fingerprint string
	incident    string // "" for our own meta-alerts
	labels      map[string]string
	annotations map[string]string
	generator   string
	starts      time.Time
	ends        time.Time // zero while it fires
	over        time.Time // when it ended, whatever the clock said since
	version     uint64
	// until bounds the life of an alert that only an evaluating daemon may
	// keep alive; zero is no bound.
	until time.Time
}

func (a *alert) resolved() bool { return !a.ends.IsZero() }

// Fingerprint is Alertmanager's number of a label set, in hexadecimal.
func Fingerprint(labels map[string]string) string {
	ls := make(model.LabelSet, len(labels))
	for k, v := range labels {
		if v != "" { // Alertmanager drops empty ones before hashing
			ls[model.LabelName(k)] = model.LabelValue(v)
		}
	}
	return ls.Fingerprint().String()
}

// desired returns what Alertmanager should know of the incidents, by
// fingerprint. Where two incidents share one, what fires counts, else the
// younger.
func desired(live, ended []incidents.Incident, r *incidents.Renderer) map[string]*alert {
	all := slices.Concat(ended, live)
	slices.SortStableFunc(all, func(a, b incidents.Incident) int {
		return cmp.Or(a.FiredAt.Compare(b.FiredAt), order.Bools(a.Active(), b.Active()))
	})
	out := map[string]*alert{}
	for i := range all {
		inc := &all[i]
		if !inc.Announced || inc.State == incidents.Pending {
			continue
		}
		annotations := r.Annotations(inc)
		put := func(labels map[string]string, ends time.Time) {
			over := ends
			if !ends.IsZero() && ends.Before(inc.FiredAt) { // in a former life, or the clock stepped back
				ends = inc.FiredAt
			}
			a := &alert{
				fingerprint: Fingerprint(labels), incident: inc.ID, labels: labels, annotations: annotations,
				generator: r.IncidentURL(inc), starts: inc.FiredAt, ends: ends, over: over, version: inc.Version,
			}
			if old := out[a.fingerprint]; old == nil || old.resolved() || !a.resolved() {
				out[a.fingerprint] = a
			}
		}
		for _, raise := range inc.Raises {
			put(inc.LabelsAt(raise.From), raise.At)
		}
		put(inc.AlertLabels(), inc.ResolvedAt)
	}
	return out
}

// validate says why an alert must not be sent: one bad alert can cost the
// whole request.
func (a *alert) validate() error {
	if a.labels[model.AlertNameLabel] == "" {
		return errors.New("no alertname")
	}
	for _, set := range []map[string]string{a.labels, a.annotations} {
		for _, k := range slices.Sorted(maps.Keys(set)) {
			if k == "" || !utf8.ValidString(k) || !utf8.ValidString(set[k]) {
				return fmt.Errorf("label or annotation %q is not valid UTF-8", k)
			}
		}
	}
	switch {
	case a.starts.IsZero():
		return errors.New("no start")
	case a.resolved() && a.ends.Before(a.starts):
		return fmt.Errorf("ends %s before it starts %s", a.ends, a.starts)
	}
	return nil
}

// model returns the alert as it is posted now. keep is how long it stays alive
// without being repeated.
func (a *alert) model(now time.Time, keep time.Duration) *models.PostableAlert {
	starts := a.starts
	if starts.After(now) { // the clock stepped back
		starts = now
	}
	ends := a.ends
	if !a.resolved() {
		ends = now.Add(keep)
		if !a.until.IsZero() && a.until.Before(ends) {
			ends = a.until
		}
	} else if ends.After(now) { // it ended by a clock that was ahead: what ends later still fires
		ends = now
	}
	if ends.Before(starts) {
		ends = starts
	}
	m := &models.PostableAlert{
		Annotations: a.annotations,
		StartsAt:    strfmt.DateTime(starts),
		EndsAt:      strfmt.DateTime(ends),
		Alert:       models.Alert{Labels: a.labels},
	}
	// One malformed URL makes Alertmanager refuse the whole request.
	if strfmt.Default.Validates("uri", a.generator) {
		m.GeneratorURL = strfmt.URI(a.generator)
	}
	return m
}
