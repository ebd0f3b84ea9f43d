package alertmanager

import (
	"fmt"
	"net/http"
)

// reason is the outcome of a request, as counted.
type reason string

// The outcomes.
const (
	sent       reason = "sent"
	badContent reason = "bad_content"
	redirect   reason = "redirect"
	invalid    reason = "invalid"
	auth       reason = "auth"
	config     reason = "config"
	tooLarge   reason = "too_large"
	schema     reason = "schema"
	overload   reason = "overload"
	transport  reason = "transport"
)

func failures() []reason {
	return []reason{badContent, redirect, invalid, auth, config, tooLarge, schema, overload, transport}
}

// judge turns an answer into what to do; one without a status is no answer.
func judge(a *answer) reason {
	switch s := a.status; {
	case a.html:
		return badContent
	case s == 0:
		return transport
	case s/100 == 2:
		return sent
	case s/100 == 3:
		return redirect
	case s == http.StatusBadRequest:
		return invalid
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return auth
	case s == http.StatusRequestEntityTooLarge:
		return tooLarge
	case s == http.StatusUnprocessableEntity:
		return schema
	case s == http.StatusTooManyRequests, s == http.StatusServiceUnavailable:
		return overload
	case s/100 == 4:
		// 404, 410 (API v1), 415 and the rest say that this is not the
		// address of an Alertmanager with API v2.
		return config
	default:
		return transport
	}
}

// failure describes what went wrong for a person.
func (a *answer) failure(r reason, err error) error {
	switch {
	case a.html:
		return fmt.Errorf("status %d but no data, perhaps a login page or a wrong address: %.200q", a.status, a.body)
	case a.status == 0:
		return err
	case r == config:
		return fmt.Errorf("status %d: no API v2 at this address, check the url and its path prefix: %.200q", a.status, a.body)
	case r == redirect:
		return fmt.Errorf("status %d: redirects are not followed with credentials, name the final address", a.status)
	}
	return fmt.Errorf("status %d: %.200q", a.status, a.body)
}
