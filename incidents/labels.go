package incidents

import (
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/collwatch/collwatch/diagnosis"
)

// Source is the value of the label source of all alerts.
const Source = "collwatch"

// maxLabelValue bounds a label value, so that a hostile name cannot blow up an
// alert.
const maxLabelValue = 256

// AlertName returns the alert name of a class: CollwatchNicDegraded for
// nic_degraded.
func AlertName(c diagnosis.Class) string {
	var b strings.Builder
	b.WriteString("Collwatch")
	upper := true
	for _, r := range string(c) {
		if r == '_' {
			upper = true
			continue
		}
		if upper {
			r = unicode.ToUpper(r)
			upper = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// identityLabels returns the labels that identify the alert of a verdict, all
// but the severity. Labels without a value are left out, as Alertmanager would
// do. External labels never override those of the contract.
func identityLabels(v *diagnosis.Verdict, external map[string]string) map[string]string {
	labels := map[string]string{}
	for k, val := range external {
		setLabel(labels, k, val)
	}
	c := componentOf(v)
	setLabel(labels, "alertname", AlertName(v.Class))
	setLabel(labels, "class", string(v.Class))
	setLabel(labels, "job_id", v.Job)
	setLabel(labels, "scope", v.Scope)
	owner := v.Owner
	if owner == "" {
		owner = diagnosis.OwnerUnknown
	}
	setLabel(labels, "owner_domain", string(owner))
	setLabel(labels, "source", Source)
	device := c.device
	if device == "" {
		device = c.sw
	}
	kind := c.kind
	if !c.named() {
		kind = "unknown"
	}
	setLabel(labels, "suspect_kind", kind)
	setLabel(labels, "suspect_node", c.node)
	setLabel(labels, "suspect_device", device)
	return labels
}

func setLabel(labels map[string]string, name, value string) {
	if value = clip(Printable(value), maxLabelValue); value == "" {
		delete(labels, name)
		return
	}
	labels[name] = value
}

// LabelsAt returns all labels of the incident's alert under a severity.
func (i *Incident) LabelsAt(s diagnosis.Severity) map[string]string {
	labels := maps.Clone(i.Labels)
	if labels == nil {
		labels = identityLabels(&i.Verdict, nil)
	}
	labels["severity"] = s.String()
	return labels
}

// AlertLabels returns all labels of the incident's alert.
func (i *Incident) AlertLabels() map[string]string { return i.LabelsAt(i.Severity) }

// Printable drops control characters, and those that turn the direction of text
// so that a name reads as another one: names come from other people's series and
// end in terminals. A newline stays, whoever prints it has to escape it.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
}

// clip makes s valid UTF-8 of at most n bytes, cut at a rune border.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	const dots = "…"
	cut := n - len(dots)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + dots
}
