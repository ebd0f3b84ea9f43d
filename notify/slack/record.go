package slack

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

// record is what a route was told of an incident, as kept over restarts.
type record struct {
	// Channel is the id, TS the time stamp of the message; TS is "" if there is
	// none, or for a webhook. Of is the channel as it was configured then.
	Channel string `json:"channel,omitempty"`
	Of      string `json:"of,omitempty"`
	TS      string `json:"ts,omitempty"`
	// Told is set once anything was posted.
	Told bool `json:"told,omitempty"`
	// Shown is what the message shows, Said what the thread or the webhook was
	// last told of.
	Shown string `json:"shown,omitempty"`
	Said  said   `json:"said"`
	// Due is when it had to be told; until then it may end untold.
	Due time.Time `json:"due,omitzero"`
	// Posting and Replying are when a post began whose answer was not seen.
	Posting  time.Time `json:"posting,omitzero"`
	Replying time.Time `json:"replying,omitzero"`
	// Saying is what that post says.
	Saying said `json:"saying,omitzero"`
	// Charted is set once the chart is in the thread, or there is none; Charting
	// is when a post of it began whose answer was not seen.
	Charted  bool      `json:"charted,omitempty"`
	Charting time.Time `json:"charting,omitzero"`
	// Held is the suppression that was last seen.
	Held *hold `json:"held,omitempty"`
	// Note is a line about suppression that the message shows.
	Note string `json:"note,omitempty"`
}

// said is the state that the thread knows.
type said struct {
	Incident   string `json:"incident,omitempty"`
	Severity   string `json:"severity,omitempty"`
	Over       bool   `json:"over,omitempty"`
	Suppressed bool   `json:"suppressed,omitempty"`
}

// hold is a suppression.
type hold struct {
	Kind string `json:"kind"` // silence, inhibition or mute time
	Text string `json:"text"`
	// Until is the end of the longest silence, zero if unknown.
	Until time.Time `json:"until,omitzero"`
}

func holdOf(s alertmanager.State) *hold {
	if !s.Suppressed() {
		return nil
	}
	h := &hold{Kind: "mute time", Text: oneLine(s.By())}
	if len(s.InhibitedBy) > 0 {
		h.Kind = "inhibition"
	}
	for _, x := range s.Silences {
		h.Kind = "silence"
		if x.Until.After(h.Until) {
			h.Until = x.Until.UTC()
		}
	}
	return h
}

func sameHold(a, b *hold) bool {
	return a == b || a != nil && b != nil && a.Kind == b.Kind && a.Text == b.Text && a.Until.Equal(b.Until)
}

// over is the line for a message that comes when a suppression ended.
func (h *hold) over() string {
	ended := "ended"
	if h.Kind == "silence" {
		ended = "expired"
	}
	return "The " + h.Kind + " " + ended + " (" + h.Text + ") and the fault is still there."
}

const unchecked = "Silences could not be checked: no Alertmanager answered."

// item is one incident, or a chain of superseding ones, on one route.
type item struct {
	route  *Route
	thread string
	inc    incidents.Incident // the newest of the chain
	rec    record

	// The gate's: the alert that Alertmanager was last asked about, since when
	// it may be there, when it is asked again, and whether people may be told.
	fingerprint string
	fired       time.Time
	since       time.Time
	ask         time.Time
	show        bool
	// quiet is when Alertmanager was last seen to suppress it.
	quiet time.Time

	// The sender's: what Slack refused for good, how much of the message it
	// did not take, and when to try again.
	refused string
	plain   bool
	retry   time.Time
	// chartTries is how often figures for the chart were asked for in vain,
	// chartAt when they are asked for again.
	chartTries int
	chartAt    time.Time
}

func itemKey(route, thread string) string { return route + "\x00" + thread }

func parseRecord(raw json.RawMessage) (record, bool) {
	var r record
	if raw == nil || json.Unmarshal(raw, &r) != nil {
		return record{}, false // an unreadable record is none: it is told again
	}
	return r, true
}

func (it *item) over() bool { return it.inc.State == incidents.Resolved }

// said is the present state for the thread. What changes while it is suppressed
// is not said, so that a rise or a return that outlasts the suppression is said
// then; an end is not announced at all.
func (it *item) said() said {
	now := said{
		Incident: it.inc.ID, Severity: it.inc.Severity.String(), Over: it.over(),
		Suppressed: it.rec.Held != nil,
	}
	if now.Suppressed && !now.Over && it.told() {
		now = it.rec.Said
		now.Suppressed = true
	}
	return now
}

// face identifies what the message shows. It changes with state, severity,
// suspects and suppression, not with the numbers of each evaluation.
func (it *item) face() string {
	parts := []string{
		it.inc.ID, it.inc.State.String(), it.inc.Severity.String(), strconv.FormatUint(it.inc.Version, 10),
		strconv.FormatBool(it.inc.AdviceWithheld != ""), it.rec.Note,
	}
	if !it.over() {
		for _, s := range it.inc.NamedSuspects() {
			parts = append(parts, incidents.SuspectText(s))
		}
		if it.rec.Held != nil {
			parts = append(parts, it.rec.Held.Text)
		}
	}
	return digest(strings.Join(parts, "\x00"))
}

// told says that people saw something. A post that may have happened does not
// count: it is looked for when it may be shown.
func (it *item) told() bool { return it.rec.Told || it.rec.TS != "" }
