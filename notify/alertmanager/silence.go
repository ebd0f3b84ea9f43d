package alertmanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	silenceapi "github.com/prometheus/alertmanager/api/v2/client/silence"
	"github.com/prometheus/alertmanager/api/v2/models"

	"github.com/collwatch/collwatch/incidents"
)

var errNoTarget = errors.New("no alertmanager is configured")

// SilenceRequest is a silence that a person asked for.
type SilenceRequest struct {
	Incident string // whose alert is silenced
	Matchers []incidents.Matcher
	Duration time.Duration
	// Author and Comment say who and why; both are required, Alertmanager
	// would take an empty one.
	Author, Comment string
	// UntilResolved makes the silence end with the incident. Its comment
	// starts with the marker by which kthxbye and karma know an
	// acknowledgement.
	UntilResolved bool
}

// ackMarker is kthxbye's and karma's default prefix.
const ackMarker = "ACK! "

// ackRecord is the name under which an incident remembers a silence that ends
// with it.
const ackRecord = "alertmanager-silence"

type ackedSilence struct {
	Incident string `json:"-"`
	ID       string `json:"id"`
}

func ackOf(inc *incidents.Incident) (ackedSilence, bool) {
	a := ackedSilence{Incident: inc.ID}
	err := json.Unmarshal(inc.Deliveries[ackRecord], &a)
	return a, err == nil && a.ID != ""
}

func (r *SilenceRequest) validate() error {
	switch {
	case strings.TrimSpace(r.Author) == "" || strings.TrimSpace(r.Comment) == "":
		return errors.New("silence: author and comment are required")
	case r.Duration <= 0:
		return errors.New("silence: duration must be positive")
	case len(r.Matchers) == 0:
		return errors.New("silence: no matchers")
	}
	for _, m := range r.Matchers {
		if m.Name == "" || m.Value == "" {
			return fmt.Errorf("silence: matcher %s would match alerts without the label", m)
		}
	}
	return nil
}

// Silence creates a silence on one member, the next if that fails: members
// gossip silences.
func (n *Notifier) Silence(ctx context.Context, r SilenceRequest) (Silence, error) {
	if err := r.validate(); err != nil {
		return Silence{}, err
	}
	if r.UntilResolved {
		r.Comment = ackMarker + r.Comment
	}
	err := errNoTarget
	for _, m := range n.present() {
		var s Silence
		if s, err = m.client.createSilence(ctx, r); err != nil {
			continue
		}
		if r.UntilResolved {
			raw, _ := json.Marshal(ackedSilence{ID: s.ID}) // a string cannot fail
			if err := n.opts.Source.SetDeliveries(ackRecord, map[string]json.RawMessage{r.Incident: raw}); err != nil {
				return s, fmt.Errorf("silence %s is set but will not end by itself: %w", s.ID, err)
			}
		}
		return s, nil
	}
	return Silence{}, err
}

// Expire ends a silence on the first member that knows it. One that is gone
// everywhere is no error; while a member cannot be asked it may have it, as the
// only one of a torn cluster, and go on to silence.
func (n *Notifier) Expire(ctx context.Context, id string) error {
	err := errNoTarget
	for i, m := range n.present() {
		there, failed := m.client.expireSilence(ctx, id)
		switch {
		case there:
			return nil
		case i == 0 || failed != nil:
			err = failed
		}
	}
	return err
}

// expireAcks ends the silences whose incidents are over.
func (n *Notifier) expireAcks(ctx context.Context) {
	n.mu.Lock()
	acks := n.acks
	n.acks = nil
	n.mu.Unlock()
	for _, a := range acks {
		if err := n.Expire(ctx, a.ID); err != nil {
			n.opts.Logger.Warn("silence of a resolved incident cannot be ended", "silence", a.ID, "incident", a.Incident, "err", err)
			continue // the next tick finds its record again
		}
		_ = n.opts.Source.SetDeliveries(ackRecord, map[string]json.RawMessage{a.Incident: nil}) // pruned meanwhile: nothing to forget
	}
}

func (c *client) createSilence(ctx context.Context, r SilenceRequest) (out Silence, err error) {
	start := c.clock()
	end := start.Add(r.Duration)
	starts, ends := strfmt.DateTime(start), strfmt.DateTime(end)
	var ms models.Matchers
	for _, m := range r.Matchers {
		name, value, yes, no := m.Name, m.Value, true, false
		ms = append(ms, &models.Matcher{Name: &name, Value: &value, IsEqual: &yes, IsRegex: &no})
	}
	body := &models.PostableSilence{Silence: models.Silence{
		Matchers: ms, StartsAt: &starts, EndsAt: &ends, CreatedBy: &r.Author, Comment: &r.Comment,
	}}
	_, _, err = c.call(ctx, func(ctx context.Context) error {
		ok, err := c.api.Silence.PostSilences(silenceapi.NewPostSilencesParamsWithContext(ctx).WithSilence(body).WithTimeout(c.timeout))
		if err != nil {
			return err
		}
		if ok.Payload.SilenceID == "" {
			return errors.New("alertmanager took the silence but names none")
		}
		out = Silence{ID: ok.Payload.SilenceID, By: r.Author, Comment: r.Comment, Until: end}
		return nil
	})
	return out, err
}

// expireSilence ends a silence and says whether the member knew it.
func (c *client) expireSilence(ctx context.Context, id string) (there bool, err error) {
	_, a, err := c.call(ctx, func(ctx context.Context) error {
		p := silenceapi.NewDeleteSilenceParamsWithContext(ctx).WithSilenceID(strfmt.UUID(id)).WithTimeout(c.timeout)
		_, err := c.api.Silence.DeleteSilence(p)
		return err
	})
	if a.status == 404 {
		return false, nil
	}
	return err == nil, err
}

func (c *client) silence(ctx context.Context, id string) (out Silence, err error) {
	_, _, err = c.call(ctx, func(ctx context.Context) error {
		p := silenceapi.NewGetSilenceParamsWithContext(ctx).WithSilenceID(strfmt.UUID(id)).WithTimeout(c.timeout)
		ok, err := c.api.Silence.GetSilence(p)
		if err != nil {
			return err
		}
		s := ok.Payload
		out = Silence{ID: id}
		if s.CreatedBy != nil {
			out.By = *s.CreatedBy
		}
		if s.Comment != nil {
			out.Comment = *s.Comment
		}
		if s.EndsAt != nil {
			out.Until = time.Time(*s.EndsAt)
		}
		return nil
	})
	return out, err
}
