package alertmanager

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"sync/atomic"
	"time"

	clientruntime "github.com/go-openapi/runtime/client"
	"github.com/go-openapi/strfmt"
	amclient "github.com/prometheus/alertmanager/api/v2/client"
	alertapi "github.com/prometheus/alertmanager/api/v2/client/alert"
	"github.com/prometheus/alertmanager/api/v2/client/alertgroup"
	"github.com/prometheus/alertmanager/api/v2/client/general"
	"github.com/prometheus/alertmanager/api/v2/models"
)

// client talks to one member.
type client struct {
	api     *amclient.AlertmanagerAPI
	timeout time.Duration
	http    *http.Client
	now     func() time.Time
	// skew is the member's clock minus ours, in nanoseconds, measured at the
	// answer seen last.
	skew     atomic.Int64
	measured atomic.Pointer[moment]
	start    time.Time // base of the time that only runs
}

// moment is one instant by the clock on the wall, which may step, and by the
// time since the start, which only runs.
type moment struct {
	wall time.Time
	run  time.Duration
}

func (c *client) moment() moment { return moment{c.now().Round(0), time.Since(c.start)} }

// stepped says that our clock jumped, or that the host slept, since the skew was
// measured: sent by it, an alert that fires could look ended, and its end could
// lie so far ahead that it cannot be taken back.
func (c *client) stepped() bool {
	was := c.measured.Load()
	if was == nil {
		return false
	}
	now := c.moment()
	d := now.wall.Sub(was.wall) - (now.run - was.run)
	return d > tolerated || d < -tolerated
}

// tolerated is the difference of clocks that is not worth a correction: the
// member's Date header has whole seconds, and requests take time.
const tolerated = 30 * time.Second

// clock is the time as the member sees it. The end of a firing alert must lie
// in the member's future, whoever's clock stepped.
func (c *client) clock() time.Time { return c.now().Add(c.clockSkew()) }

// clockSkew is how far the member's clock is ahead, 0 if within tolerance.
func (c *client) clockSkew() time.Duration {
	if d := time.Duration(c.skew.Load()); d > tolerated || d < -tolerated {
		return d
	}
	return 0
}

// newClient builds the generated client over one guarded transport.
func newClient(t Target, dial DialFunc, g guard) (*client, error) {
	next, err := t.NewTransport(dial)
	if err != nil {
		return nil, fmt.Errorf("alertmanager target %q: %w", t.Name, err)
	}
	g.next = next
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, fmt.Errorf("alertmanager target %q: bad url", t.Name)
	}
	hc := &http.Client{
		Transport: &g,
		// A redirected POST becomes a GET, and credentials would travel along.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	rt := clientruntime.NewWithClient(u.Host, path.Join("/", u.Path, "api/v2"), []string{u.Scheme}, hc)
	if u.User != nil {
		password, _ := u.User.Password()
		rt.DefaultAuthentication = clientruntime.BasicAuth(u.User.Username(), password)
	}
	return &client{api: amclient.New(rt, strfmt.Default), timeout: t.Timeout, http: hc, now: g.now, start: time.Now()}, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// call runs one request of the generated client with a time limit and without
// its panics, and judges the answer.
func (c *client) call(ctx context.Context, f func(context.Context) error) (r reason, a *answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ctx, a = withAnswer(ctx)
	defer func() {
		if p := recover(); p != nil {
			// Generated readers panic on answers that they do not know.
			r, err = transport, fmt.Errorf("status %d: answer cannot be read: %v", a.status, p)
		}
	}()
	err = f(ctx)
	if !a.date.IsZero() {
		now := c.moment()
		c.skew.Store(int64(a.date.Sub(now.wall)))
		c.measured.Store(&now)
	}
	r = judge(a)
	if r == sent {
		return r, a, err
	}
	return r, a, a.failure(r, err)
}

// post sends alerts. Whether they were taken is told by the status alone: the
// body of a success is empty, and readers differ about codes other than 200.
func (c *client) post(ctx context.Context, alerts models.PostableAlerts) (reason, *answer, error) {
	r, a, err := c.call(ctx, func(ctx context.Context) error {
		_, err := c.api.Alert.PostAlerts(alertapi.NewPostAlertsParamsWithContext(ctx).WithAlerts(alerts).WithTimeout(c.timeout))
		return err
	})
	if r == sent {
		err = nil
	}
	return r, a, err
}

// own is the filter for our own alerts.
const own = `source="collwatch"`

// alerts returns our alerts with silences and inhibition.
func (c *client) alerts(ctx context.Context) (out models.GettableAlerts, err error) {
	_, _, err = c.call(ctx, func(ctx context.Context) error {
		ok, err := c.api.Alert.GetAlerts(alertapi.NewGetAlertsParamsWithContext(ctx).WithFilter([]string{own}).WithTimeout(c.timeout))
		if err == nil {
			out = ok.Payload
		}
		return err
	})
	return out, err
}

// groups returns our alerts in groups: the only place that tells mute times.
func (c *client) groups(ctx context.Context) (out models.AlertGroups, err error) {
	_, _, err = c.call(ctx, func(ctx context.Context) error {
		p := alertgroup.NewGetAlertGroupsParamsWithContext(ctx).WithFilter([]string{own}).WithTimeout(c.timeout)
		ok, err := c.api.Alertgroup.GetAlertGroups(p)
		if err == nil {
			out = ok.Payload
		}
		return err
	})
	return out, err
}

// status returns version and cluster state.
func (c *client) status(ctx context.Context) (out *models.AlertmanagerStatus, err error) {
	_, _, err = c.call(ctx, func(ctx context.Context) error {
		ok, err := c.api.General.GetStatus(general.NewGetStatusParamsWithContext(ctx).WithTimeout(c.timeout))
		if err == nil {
			out = ok.Payload
		}
		return err
	})
	return out, err
}
