package incidents

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Sizes of annotations in bytes. Receivers cut: a lock screen at about 150
// characters, Slack at 3,000; and a request of 64 alerts must stay below the
// 1 MB that proxies accept by default.
const (
	maxSummary     = 150
	maxAnnotations = 8 << 10
)

// Renderer turns incidents into text for receivers. The zero value works and
// leaves links out.
type Renderer struct {
	// ExternalURL is where people reach collwatch's pages.
	ExternalURL string
	// DashboardURL and RunbookURL are templates with the placeholders
	// {cluster}, {class}, {job}, {host}, {device}, {incident}, {from} and {to}
	// (Unix milliseconds, or "now"). A RunbookURL without {class} gets the
	// class as the last part of its path.
	DashboardURL string
	RunbookURL   string
	// AlertmanagerURL is where people reach Alertmanager: for silences. A user
	// and password in it are not shown.
	AlertmanagerURL string
	// Expression returns a PromQL expression that shows the incident, or "".
	Expression func(*Incident) string
}

// Annotations returns all that may change while an incident lasts. Together
// they are at most 8 KB of valid UTF-8.
func (r *Renderer) Annotations(i *Incident) map[string]string {
	v := &i.Verdict
	next, command := i.Advice()
	out := map[string]string{}
	put := func(name, text string, limit int) {
		if text = clip(Printable(text), limit); text != "" {
			out[name] = text
		}
	}
	// A link or command that is cut is worse than none.
	whole := func(name, text string, limit int) {
		if text = Printable(strings.ToValidUTF8(text, "")); text != "" && len(text) <= limit {
			out[name] = text
		}
	}
	put("summary", i.Title(), maxSummary)
	put("description", i.describe(), 900)
	put("evidence", i.evidenceText(), 2000)
	put("candidates", suspectTexts(v.Candidates, 10), 600)
	put("tie_set", strconv.Itoa(v.TieSet), 20)
	put("confidence", v.Confidence.String(), 20)
	put("reason", v.Reason, 100)
	put("owner", string(v.Owner), 40)
	put("affected", i.affected(), 400)
	put("consequences", strings.Join(i.Consequences, "\n"), 500)
	put("next_step", next, 500)
	put("incident", i.ID, 40)
	put("started_at", stamp(i.StartedAt), 40)
	put("resolve_reason", string(i.ResolveReason), 40)
	put("recovery", i.RecoveryText, 300)
	whole("command", command, 400)
	whole("runbook_url", r.runbook(i), 300)
	whole("dashboard_url", r.fill(r.DashboardURL, i), 500)
	whole("incident_url", r.IncidentURL(i), 300)
	whole("silence", r.SilenceCommand(i), 900)
	whole("silence_url", r.SilenceURL(i), 800)
	if r.Expression != nil {
		whole("expression", r.Expression(i), 500)
	}
	shrink(out)
	return out
}

// shrink keeps the whole below the limit, the least needed first.
func shrink(a map[string]string) {
	for _, name := range []string{"expression", "silence_url", "consequences", "candidates", "evidence", "description"} {
		if size(a) <= maxAnnotations {
			return
		}
		delete(a, name)
	}
}

func size(a map[string]string) int {
	n := 0
	for k, v := range a {
		n += len(k) + len(v)
	}
	return n
}

// evidenceText lists the evidence, decisive facts first.
func (i *Incident) evidenceText() string {
	var first, rest []string
	for _, e := range i.Verdict.Evidence {
		line := "- " + strings.ReplaceAll(e.Text, "\n", " ")
		if e.Decisive {
			first = append(first, line+" (decisive)")
		} else {
			rest = append(rest, line)
		}
	}
	return strings.Join(append(first, rest...), "\n")
}

// IncidentURL is the page of the incident, "" without an external URL. It is
// also the generatorURL of the alert.
func (r *Renderer) IncidentURL(i *Incident) string {
	if r.ExternalURL == "" {
		return ""
	}
	return strings.TrimRight(r.ExternalURL, "/") + "/incidents/" + url.PathEscape(i.ID)
}

// runbook is the address of the page of the class. The summary of a storm has
// none: what it hides has.
func (r *Renderer) runbook(i *Incident) string {
	if i.Verdict.Class == Storm {
		return ""
	}
	template := r.RunbookURL
	if template != "" && !strings.Contains(template, "{class}") {
		template = strings.TrimRight(template, "/") + "/{class}"
	}
	return r.fill(template, i)
}

// fill replaces the placeholders of a URL template.
func (r *Renderer) fill(template string, i *Incident) string {
	if template == "" {
		return ""
	}
	to := "now"
	if i.State == Resolved {
		to = millis(i.ResolvedAt.Add(10 * time.Minute))
	}
	esc := url.QueryEscape
	return strings.NewReplacer(
		"{cluster}", esc(i.Labels["cluster"]),
		"{class}", esc(string(i.Verdict.Class)),
		"{job}", esc(i.Verdict.Job),
		"{host}", esc(i.Labels["suspect_node"]),
		"{node}", esc(i.Labels["suspect_node"]),
		"{device}", esc(i.Labels["suspect_device"]),
		"{incident}", esc(i.ID),
		"{from}", millis(i.StartedAt.Add(-30*time.Minute)),
		"{to}", to,
	).Replace(template)
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
