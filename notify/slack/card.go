package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/internal/order"
)

// maxTitle is what a lock screen shows of a title.
const maxTitle = 60

// card is what a person is told of an incident, before it takes a form.
type card struct {
	title string
	color string
	lead  string
	parts []part
	links []link
	small []string

	buttons []Button
}

// part is a headed paragraph; code is shown as it is to be typed.
type part struct {
	heading string
	lines   []string
	code    string
}

type link struct{ label, url string }

// extras are what a message says besides the incident.
type extras struct {
	note     string
	held     *hold
	mentions []string
	buttons  string // the thread that they are about, "" without any
}

// Colours of the bar. They repeat the word of the severity, never replace it.
const (
	red    = "#e01e5a"
	yellow = "#ecb22e"
	blue   = "#36c5f0"
	green  = "#2eb67d"
	grey   = "#8d8d8d"
)

func newCard(inc *incidents.Incident, r *incidents.Renderer, x extras) card {
	notes := r.Annotations(inc)
	over := inc.State == incidents.Resolved
	c := card{title: title(inc), color: color(inc), lead: lead(inc, notes)}
	c.add("Suspect", suspects(inc, notes), "")
	c.add("Evidence", evidence(inc), "")
	if !over {
		c.add("Next step", nonEmpty(notes["next_step"]), notes["command"])
	}
	c.add("Also explained", lines(notes["consequences"], 4), "")
	switch {
	case x.held != nil && !over:
		c.small = append(c.small, capital(x.held.Text)+".")
	case x.note != "" && !over: // a note is about what is still there
		c.small = append(c.small, x.note)
	}
	if inc.Held != "" && !over {
		c.small = append(c.small, "Cannot be judged at present ("+inc.Held+"); the state is kept.")
	}
	if !over {
		c.add("Silence", nil, notes["silence"])
		c.link("Silence form", notes["silence_url"])
	}
	c.link("Incident", notes["incident_url"])
	if x.buttons != "" {
		c.buttons = buttons(x.buttons, inc, x.held)
	}
	for _, l := range []link{{"Dashboard", notes["dashboard_url"]}, {"Runbook", notes["runbook_url"]}} {
		if b, ok := l.button(); ok && len(c.buttons) > 0 {
			c.buttons = append(c.buttons, b)
		} else {
			c.link(l.label, l.url)
		}
	}
	c.small = append(c.small, footer(inc))
	return c
}

func (c *card) add(heading string, text []string, code string) {
	if len(text) > 0 || code != "" {
		c.parts = append(c.parts, part{heading, text, code})
	}
}

func (c *card) link(label, url string) {
	if url != "" {
		c.links = append(c.links, link{label, url})
	}
}

// title says symptom and suspect. What does not fit is left out from the end:
// job, reason, the other end of a link.
func title(inc *incidents.Incident) string {
	prefix := ""
	if inc.State == incidents.Resolved {
		prefix = overWord(inc) + ": "
	}
	room := maxTitle - units(prefix)
	t := oneLine(inc.Title())
	for _, tail := range []string{", job " + inc.Verdict.Job, ", " + incidents.ReasonText(inc.Verdict.Reason)} {
		if units(t) > room {
			t = strings.TrimSuffix(t, oneLine(tail))
		}
	}
	if named := inc.NamedSuspects(); units(t) > room && len(named) > 0 {
		s := named[0]
		s.Port = ""
		t = strings.Replace(t, oneLine(incidents.SuspectText(named[0])), oneLine(incidents.SuspectText(s)), 1)
		if units(t) > room && (s.Node != "" || s.Device != "") {
			short := s
			short.Switch = ""
			t = strings.Replace(t, oneLine(incidents.SuspectText(s)), oneLine(incidents.SuspectText(short)), 1)
		}
	}
	return plain(prefix+t, maxTitle)
}

// overWord says how an incident ended.
func overWord(inc *incidents.Incident) string {
	switch inc.ResolveReason {
	case incidents.DataGone:
		return "Stopped reporting"
	case incidents.JobEnded:
		return "Job ended"
	case incidents.Superseded:
		return "Explained"
	case incidents.ConfigChanged:
		return "No longer watched"
	}
	return "Resolved"
}

func color(inc *incidents.Incident) string {
	switch {
	case inc.State == incidents.Resolved && inc.ResolveReason == incidents.Recovered:
		return green
	case inc.State == incidents.Resolved && inc.ResolveReason == incidents.JobEnded:
		return green
	case inc.State == incidents.Resolved:
		return grey // no proof of repair
	case inc.Severity == diagnosis.Critical:
		return red
	case inc.Severity == diagnosis.Warning:
		return yellow
	}
	return blue
}

// lead says what, since when, how bad, how sure and who is affected.
func lead(inc *incidents.Incident, notes map[string]string) string {
	var b strings.Builder
	if inc.State == incidents.Resolved {
		b.WriteString(ending(inc) + " ")
		fmt.Fprintf(&b, "It was %s since %s.", inc.Severity, clock(inc.StartedAt))
	} else {
		fmt.Fprintf(&b, "%s since %s.", capital(inc.Severity.String()), clock(inc.StartedAt))
		if inc.State == incidents.Latched {
			b.WriteString(" Quiet at present, but of a kind that comes back.")
		}
	}
	if inc.Verdict.Class != incidents.Storm && inc.Verdict.Confidence != diagnosis.Unknown {
		fmt.Fprintf(&b, " Confidence %s.", inc.Verdict.Confidence)
	}
	if a := notes["affected"]; a != "" {
		fmt.Fprintf(&b, " Affected: %s.", a)
	}
	if inc.JobEnded && inc.ResolveReason != incidents.JobEnded {
		b.WriteString(" The job has ended.")
	}
	if inc.Repeats > 0 {
		fmt.Fprintf(&b, " The component was named in %s within the last days.", count(inc.Repeats, "other incident"))
	}
	if inc.Flaps > 0 {
		fmt.Fprintf(&b, " It came back %s.", count(inc.Flaps, "time"))
	}
	return oneLine(b.String())
}

// ending says when, after how long and why an incident ended, and what proves
// it.
func ending(inc *incidents.Incident) string {
	t := fmt.Sprintf("%s at %s after %s", overWord(inc), clock(inc.ResolvedAt), incidents.Span(inc.ResolvedAt.Sub(inc.StartedAt)))
	if inc.RecoveryText != "" {
		t += ": " + strings.TrimSuffix(inc.RecoveryText, ".")
	}
	t += "."
	if inc.Inconclusive() && !strings.Contains(t, "repair is not proven") {
		t += " Repair is not proven."
	}
	return oneLine(t)
}

// suspects names the components, or says that and among how many nobody can be
// named.
func suspects(inc *incidents.Incident, notes map[string]string) []string {
	v := &inc.Verdict
	var out []string
	if named := inc.NamedSuspects(); len(named) > 0 {
		for _, s := range named[:min(len(named), 5)] {
			text := incidents.SuspectText(s)
			if s.Kind != "" && s.Node != "" {
				text = s.Kind + " " + text
			}
			out = append(out, oneLine(text))
		}
		if more := len(named) - 5; more > 0 {
			out = append(out, fmt.Sprintf("and %d more", more))
		}
		return out
	}
	if v.Class == incidents.Storm {
		return nil
	}
	out = append(out, inc.Nobody())
	if list := notes["candidates"]; list != "" {
		out = append(out, "Candidates: "+oneLine(list))
	}
	return out
}

const maxEvidence = 6

// evidence lists facts with their numbers, decisive ones first.
func evidence(inc *incidents.Incident) []string {
	list := slices.Clone(inc.Verdict.Evidence)
	slices.SortStableFunc(list, func(a, b diagnosis.Evidence) int { return order.Bools(b.Decisive, a.Decisive) })
	var out []string
	for _, e := range list[:min(len(list), maxEvidence)] {
		if text := cut(oneLine(e.Text), 300); text != "" {
			out = append(out, "• "+text)
		}
	}
	if more := len(list) - maxEvidence; more > 0 {
		out = append(out, fmt.Sprintf("• and %d more on the incident's page", more))
	}
	return out
}

func footer(inc *incidents.Incident) string {
	parts := []string{"collwatch incident " + inc.ID}
	if cluster := inc.Labels["cluster"]; cluster != "" {
		parts = append(parts, "cluster "+cluster)
	}
	owner := cmp.Or(string(inc.Verdict.Owner), string(diagnosis.OwnerUnknown))
	return oneLine(strings.Join(append(parts, "owner "+owner), " · "))
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func nonEmpty(s string) []string {
	if s = oneLine(s); s == "" {
		return nil
	}
	return []string{s}
}

// lines splits a list and keeps its head.
func lines(s string, limit int) []string {
	var out []string
	for l := range strings.SplitSeq(s, "\n") {
		if l = oneLine(l); l != "" {
			out = append(out, l)
		}
	}
	if more := len(out) - limit; more > 0 {
		out = append(out[:limit], fmt.Sprintf("and %d more", more))
	}
	return out
}
