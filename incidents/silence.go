package incidents

import (
	"net/url"
	"strings"
)

// Matcher is an equality matcher of a silence.
type Matcher struct{ Name, Value string }

// String is the matcher in Alertmanager's syntax: name="value". The value is
// escaped as Alertmanager's parser reads it.
func (m Matcher) String() string {
	return m.Name + `="` + strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(m.Value) + `"`
}

// SilenceMatchers returns the matchers that cover the incident's alert under
// any severity, and nothing of another component.
func (i *Incident) SilenceMatchers() []Matcher {
	var out []Matcher
	for _, name := range []string{"alertname", "cluster", "job_id", "scope", "suspect_kind", "suspect_node", "suspect_device"} {
		if value := i.Labels[name]; value != "" {
			out = append(out, Matcher{name, value})
		}
	}
	return out
}

// silenceFor is the proposed duration: long enough to swap a cable, short
// enough to be noticed when forgotten.
const silenceFor = "2h"

// SilenceCommand is a line for a POSIX shell that silences the incident's
// alert. Nothing in a label value can end the quotes.
func (r *Renderer) SilenceCommand(i *Incident) string {
	matchers := i.SilenceMatchers()
	if len(matchers) == 0 {
		return ""
	}
	words := []string{"amtool", "silence", "add"}
	if u := r.publicAlertmanager(); u != "" {
		words = append(words, "--alertmanager.url="+shellQuote(u))
	}
	words = append(words, "--duration="+silenceFor, "--comment="+shellQuote("collwatch incident "+i.ID))
	for _, m := range matchers {
		words = append(words, shellQuote(m.String()))
	}
	return strings.Join(words, " ")
}

// SilenceURL opens Alertmanager's form for a new silence with the matchers
// filled in.
func (r *Renderer) SilenceURL(i *Incident) string {
	matchers := i.SilenceMatchers()
	base := r.publicAlertmanager()
	if base == "" || len(matchers) == 0 {
		return ""
	}
	parts := make([]string, len(matchers))
	for k, m := range matchers {
		parts[k] = m.String()
	}
	filter := url.QueryEscape("{" + strings.Join(parts, ",") + "}")
	return strings.TrimRight(base, "/") + "/#/silences/new?filter=" + strings.ReplaceAll(filter, "+", "%20")
}

// publicAlertmanager is the address without what only the daemon may know.
func (r *Renderer) publicAlertmanager() string {
	u, err := url.Parse(r.AlertmanagerURL)
	if err != nil || u.Host == "" {
		return ""
	}
	u.User = nil
	return u.String()
}

// shellQuote makes one word of s in any POSIX shell.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
