package alertmanager

import (
	"encoding/json"
	"strings"
)

// Describe says in words what a record of this package means: when a member
// acknowledged the alert of an incident last. It is "" for records of others.
func Describe(receiver string, record json.RawMessage) string {
	if receiver == ackRecord {
		return "a silence that ends with the incident"
	}
	if !strings.HasPrefix(receiver, "alertmanager/") {
		return ""
	}
	var known map[string]*delivery
	if json.Unmarshal(record, &known) != nil {
		return ""
	}
	var last *delivery
	for _, d := range known {
		if d != nil && (last == nil || d.At.After(last.At)) {
			last = d
		}
	}
	if last == nil || last.At.IsZero() {
		return ""
	}
	what := "firing"
	if last.Resolved {
		what = "resolved"
	}
	return what + ", acknowledged " + last.At.UTC().Format("2006-01-02 15:04:05 UTC")
}
