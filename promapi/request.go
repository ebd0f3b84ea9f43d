package promapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// margin is how much longer the client waits than it told the server, so that
// the server's own answer about its time-out is seen.
const margin = time.Second

// authEvery bounds how often secrets are read again because of a 401 or 403.
const authEvery = time.Minute

// call is one question to the API.
type call struct {
	path string // with :name for the parts in names
	part map[string]string
	args url.Values
	get  bool // the end point knows no POST
	// proto is a packed message instead of a form, for the remote read API.
	proto []byte
	// read takes the body of a 2xx answer. It may be called twice, for a retry,
	// and returns errors of reading or a *Error.
	read func(io.Reader) error
}

// fetch asks once and, where the class of the error allows it, once more. The
// error is a *Error.
func (c *Client) fetch(ctx context.Context, q call) error {
	if err := c.admit(ctx); err != nil {
		return err
	}
	err := c.once(ctx, q)
	if err != nil && c.mayRetry(ctx, err) {
		err = c.once(ctx, q)
	}
	c.judge(err)
	if err == nil {
		return nil
	}
	return err
}

// mayRetry decides on the only retry of a call, and waits for it.
func (c *Client) mayRetry(ctx context.Context, err *Error) bool {
	switch {
	case err.Class == ClassTransport:
		return ctx.Err() == nil
	case err.Status == http.StatusUnauthorized, err.Status == http.StatusForbidden:
		if !c.breaker.mayRenew(c.cfg.Now(), authEvery) {
			return false
		}
		// Files are read for each request anyway; this drops tokens.
		return c.transport.renew() == nil
	case err.Class == ClassOverload:
		c.backoff.hit(c.cfg.Now(), err.Retry)
		return c.backoff.wait(ctx, c.cfg.Now, c.timeout) == nil
	}
	return false
}

// judge tells breaker and backoff how a call ended.
func (c *Client) judge(err *Error) {
	now := c.cfg.Now()
	switch {
	case err == nil, err.Class == ClassTooExpensive, err.Class == ClassTooMany, err.Class == ClassIncomplete,
		err.Class == ClassConfig && err.Status == http.StatusBadRequest:
		// The server is well; what failed is the query.
		c.backoff.reset()
		c.breaker.success()
		c.metrics.up.Set(1)
	case errors.Is(err.Err, context.Canceled):
		// Nobody wanted the answer any more.
	default:
		if err.Class == ClassOverload {
			c.backoff.hit(now, err.Retry)
		}
		c.breaker.failure(now, err, c.cfg.Rand)
		c.metrics.up.Set(0)
	}
	if err != nil {
		c.metrics.failed(err.Class)
	}
}

// admit refuses a call while the server is known to be unwell, asks it for a
// sign of life when the time has come, and waits out a backoff.
func (c *Client) admit(ctx context.Context) error {
	switch state, last, at := c.breaker.state(c.cfg.Now()); state {
	case breakerOpen:
		c.metrics.refused.Inc()
		return refusal(c.cfg.Name, last, at)
	case breakerProbe:
		err := c.once(ctx, c.probe())
		if err != nil {
			c.judge(err)
			c.breaker.probed()
			return err
		}
		c.breaker.success()
		c.backoff.reset()
		c.metrics.up.Set(1)
	}
	if err := c.backoff.wait(ctx, c.cfg.Now, c.timeout); err != nil {
		if errors.Is(err, context.Canceled) {
			return c.sendError(ctx, err)
		}
		return &Error{Class: ClassOverload, Source: c.cfg.Name, Msg: "not asked: " + err.Error(), Err: err}
	}
	return nil
}

func (c *Client) probe() call {
	d := newDecoder(newRefCache(NewInterner()))
	return call{
		path: "/api/v1/query",
		args: url.Values{"query": {"vector(1)"}, "time": {formatTime(c.cfg.Now())}},
		read: func(r io.Reader) error {
			var res Result
			if err := d.decode(r, &res); err != nil {
				return err
			}
			return c.answered(d)
		},
	}
}

// once sends one request, after waiting for its turn.
func (c *Client) once(parent context.Context, q call) *Error {
	if err := c.slots.Acquire(parent, 1); err != nil {
		return c.sendError(parent, err)
	}
	defer c.slots.Release(1)
	if err := c.rate.Wait(parent); err != nil {
		if parent.Err() == nil {
			err = context.DeadlineExceeded // it would pass while waiting
		}
		return c.sendError(parent, err)
	}
	timeout := c.timeout
	if at, ok := parent.Deadline(); ok {
		timeout = min(timeout, time.Until(at))
	}
	ctx, cancel := context.WithTimeout(parent, timeout+margin)
	defer cancel()

	start := c.cfg.Now()
	status, err := c.send(ctx, parent, q, timeout)
	c.metrics.request(status, c.cfg.Now().Sub(start))
	return err
}

// send tries POST, and GET where POST is refused, as client_golang does.
func (c *Client) send(ctx, parent context.Context, q call, timeout time.Duration) (status int, err *Error) {
	args := make(url.Values, len(q.args)+len(c.params)+1)
	for _, from := range []url.Values{c.params, q.args} {
		for name, values := range from {
			args[name] = append(args[name], values...)
		}
	}
	if q.proto != nil {
		return c.exchange(ctx, parent, q, http.MethodPost, args)
	}
	if !q.get {
		args.Set("timeout", strconv.FormatFloat(max(timeout.Seconds(), 0.001), 'f', -1, 64))
		if !c.useGet.Load() {
			status, err = c.exchange(ctx, parent, q, http.MethodPost, args)
			switch status {
			case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			default:
				return status, err
			}
		}
	}
	post := status
	status, err = c.exchange(ctx, parent, q, http.MethodGet, args)
	if post != 0 && err == nil {
		c.useGet.Store(true)
	}
	return status, err
}

func (c *Client) exchange(ctx, parent context.Context, q call, method string, args url.Values) (int, *Error) {
	u := c.api.URL(q.path, q.part)
	var payload io.Reader
	switch {
	case q.proto != nil:
		payload = bytes.NewReader(q.proto)
		u.RawQuery = args.Encode()
	case method == http.MethodPost:
		payload = strings.NewReader(args.Encode())
	default:
		u.RawQuery = args.Encode()
	}
	ctx, raw := withBody(ctx)
	req, err := http.NewRequestWithContext(ctx, method, u.String(), payload)
	if err != nil {
		return 0, &Error{Class: ClassConfig, Source: c.cfg.Name, Msg: "cannot make a request: " + redact(err.Error()), Err: err}
	}
	if payload != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if q.proto != nil {
			req.Header.Set("Content-Type", "application/x-protobuf")
			req.Header.Set("Content-Encoding", "snappy")
			req.Header.Set("X-Prometheus-Remote-Read-Version", "0.1.0")
		}
		// The transport may repeat the request on a connection that was closed
		// by the server meanwhile: queries change nothing.
		req.Header["Idempotency-Key"] = nil
	}
	resp, _, err := c.api.Do(ctx, req) //nolint:bodyclose // the client hands the body over as raw, which is closed below
	if *raw != nil {
		defer func() { _ = (*raw).Close() }()
	}
	if err != nil || *raw == nil {
		if err == nil {
			err = errRedirect
		}
		return 0, c.sendError(parent, err)
	}
	b, err := newBody(resp, *raw, c.cfg.Limits.MaxBody)
	if err != nil {
		return resp.StatusCode, c.sendError(parent, err)
	}
	defer func() { c.metrics.bytes.Observe(float64(b.n)) }()
	if resp.StatusCode/100 != 2 {
		return resp.StatusCode, c.statusError(resp, b)
	}
	if err := q.read(b); err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = c.readError(parent, resp.StatusCode, err, b)
		}
		return resp.StatusCode, e
	}
	return resp.StatusCode, nil
}

// answered turns what the server said in a 2xx answer into an error.
func (c *Client) answered(d *decoder) error {
	if d.status == "success" {
		return nil
	}
	return &Error{
		Class:  classOf(http.StatusOK, d.errorType, d.errorText),
		Source: c.cfg.Name,
		Status: http.StatusOK,
		Msg:    redact(d.errorText),
	}
}

func formatTime(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64)
}
