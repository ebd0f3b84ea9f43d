package promapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// aLimit matches the texts in which the servers name a limit that a query
	// hit: Prometheus "query processing would load too many samples into
	// memory", Mimir "err-mimir-max-chunks-per-query", Thanos "exceeded series
	// limit", VictoriaMetrics "cannot select more than -search.maxUniqueTimeseries".
	aLimit   = regexp.MustCompile(`(?i)(limit|exceed|too many|too large|more than|max[-_.a-z]*(series|samples|chunks|bytes)).*(sample|series|bytes|memory|chunk)|(sample|series|bytes|memory|chunk).*(limit|exceed|too many)|err-mimir-max-`)
	tooMany  = regexp.MustCompile(`(?i)exceeded maximum resolution|maxPointsPerTimeseries`)
	notLimit = regexp.MustCompile(`(?i)parse error|invalid parameter|invalid expression`)
)

// classOf says what an error of the server means. kind is the errorType of the
// API, "" if the body was not from the API.
func classOf(status int, kind, text string) Class {
	switch {
	case status == http.StatusTooManyRequests:
		return ClassOverload
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound:
		return ClassConfig
	case status == http.StatusGatewayTimeout, status == http.StatusRequestTimeout, kind == "timeout":
		return ClassSlow
	case tooMany.MatchString(text):
		return ClassTooMany
	case status == http.StatusUnprocessableEntity, status == http.StatusRequestEntityTooLarge,
		aLimit.MatchString(text) && !notLimit.MatchString(text):
		return ClassTooExpensive
	case status == http.StatusServiceUnavailable:
		return ClassOverload
	case status >= 500, kind == "internal", kind == "unavailable", kind == "canceled":
		return ClassTransport
	case kind == "execution":
		return ClassTooExpensive // as if it had come with its own status, 422
	}
	return ClassConfig
}

// statusError reads the body of an answer that is not 2xx.
func (c *Client) statusError(resp *http.Response, b *body) *Error {
	e := &Error{Source: c.cfg.Name, Status: resp.StatusCode}
	text, _ := io.ReadAll(io.LimitReader(b, maxErrorBody))
	var a struct {
		ErrorType string `json:"errorType"`
		Error     string `json:"error"`
	}
	if err := json.Unmarshal(text, &a); err != nil || a.Error == "" {
		a.ErrorType = ""
		a.Error = http.StatusText(resp.StatusCode)
		if g := gist(b.head); g != "" && !strings.EqualFold(g, a.Error) {
			a.Error += ": " + g
		}
	}
	e.Msg = clip(redact(a.Error)) + whatToDo(resp.StatusCode)
	e.Class = classOf(resp.StatusCode, a.ErrorType, a.Error)
	e.Retry = retryAfter(resp.Header.Get("Retry-After"), c.cfg.Now())
	return e
}

// whatToDo is the hint that belongs to a status, for mistakes of a configuration.
func whatToDo(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "; look at the password, token or tenant of this source"
	case http.StatusNotFound:
		return "; is the url that of a Prometheus, with its path prefix and without /api/v1?"
	}
	return ""
}

// retryAfter reads a number of seconds or a date.
func retryAfter(s string, now time.Time) time.Duration {
	const longest = time.Hour
	var d time.Duration
	if sec, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31); err == nil {
		d = time.Duration(sec) * time.Second
	} else if at, err := http.ParseTime(s); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), longest)
}

// sendError explains why there was no answer. parent is the caller's context,
// which is not the one with our deadline.
func (c *Client) sendError(parent context.Context, err error) *Error {
	e := &Error{Source: c.cfg.Name, Class: ClassTransport, Err: err}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL, which may hold secrets
		e.Err = err
	}
	e.Msg = fmt.Sprintf("ask %s: %s", c.host, redact(err.Error()))
	switch {
	case errors.Is(parent.Err(), context.Canceled):
		e.Class, e.Err = ClassUnknown, context.Canceled
	case errors.Is(err, context.DeadlineExceeded), parent.Err() != nil:
		e.Class = ClassSlow
		e.Msg = fmt.Sprintf("ask %s: no answer in time", c.host)
	case errors.Is(err, errRedirect):
		e.Class = ClassConfig
	}
	return e
}

// readError explains why a 2xx answer could not be read to its end.
func (c *Client) readError(parent context.Context, status int, err error, b *body) *Error {
	e := &Error{Source: c.cfg.Name, Status: status, Class: ClassTransport, Err: err, Msg: err.Error()}
	var syntax *syntaxError
	switch {
	case errors.Is(err, errBodyTooLarge), errors.Is(err, errTooManySamples):
		e.Class = ClassTooExpensive
	case errors.Is(err, errStringResult):
		e.Class = ClassConfig
	case errors.Is(err, errNoChunks):
		e.Class = ClassNotJSON
	case errors.As(err, &syntax), errors.Is(err, errTokenTooLong):
		e.Class = ClassNotJSON
		if g := gist(b.head); g != "" {
			e.Msg += fmt.Sprintf("; it begins with %q", clip(g))
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
		if firstVisible(b.head) != '{' {
			e.Class = ClassNotJSON
			e.Msg = fmt.Sprintf("not an answer of a Prometheus API; it begins with %q", clip(gist(b.head)))
		}
	default:
		s := c.sendError(parent, err)
		s.Status = status
		return s
	}
	return e
}

func firstVisible(head []byte) byte {
	for _, c := range head {
		if c > ' ' {
			return c
		}
	}
	return '{' // nothing came: a cut answer
}

// Incomplete is the error of class ClassIncomplete for an answer that is not whole, nil if it is.
// Remarks of the engine that servers put among the warnings are moved to
// r.Infos first.
func Incomplete(source string, r *Result) error {
	kept := r.Warnings[:0]
	for _, w := range r.Warnings {
		if strings.HasPrefix(w, "PromQL info:") {
			r.Infos = append(r.Infos, w)
		} else {
			kept = append(kept, w)
		}
	}
	r.Warnings = kept
	if len(kept) == 0 && !r.Partial {
		return nil
	}
	msg := strings.Join(kept, "; ")
	if r.Partial {
		msg = strings.TrimPrefix(msg+"; the server says that its answer is partial", "; ")
	}
	return &Error{Class: ClassIncomplete, Source: source, Msg: clip(redact(msg))}
}
