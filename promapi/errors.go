package promapi

import (
	"errors"
	"fmt"
	"time"
)

// Class says what a failed query means for the caller, who has one action for
// each class.
type Class uint8

// The classes of failed queries.
const (
	ClassUnknown      Class = iota
	ClassConfig             // the query, address, secret or tenant is wrong: no retry until reload
	ClassTooExpensive       // a limit of the server was hit: ask for less
	ClassTooMany            // too many points: a bug of ours
	ClassOverload           // 429, 503: back off
	ClassSlow               // the deadline passed: next cycle
	ClassTransport          // network, TLS, 5xx, a cut body
	ClassNotJSON            // something else than Prometheus answered
	ClassIncomplete         // warnings or isPartial: data arrived, but not all of it
)

var classNames = [...]string{
	"unknown", "config", "too_expensive", "too_many_points", "overload", "slow", "transport", "not_json", "incomplete",
}

// String returns the class as it appears in metrics and logs.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Error is a failed or incomplete query.
type Error struct {
	Class  Class
	Source string        // name of the source
	Status int           // HTTP status, 0 if there was none
	Retry  time.Duration // Retry-After of the server, 0 if it gave none
	Msg    string        // what the server or the network said; never a secret
	Err    error         // the cause, may be nil
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Class.String()
	if e.Source != "" {
		s = fmt.Sprintf("source %q: %s", e.Source, s)
	}
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Msg != "" {
		s += ": " + e.Msg
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err, ClassUnknown if it has none.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ClassUnknown
}
