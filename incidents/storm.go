package incidents

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/diagnosis"
)

// withhold says whether a new incident is kept from receivers, and why.
func (t *tick) withhold(inc *Incident) (Withheld, string) {
	v := &inc.Verdict
	switch {
	case inc.Severity == diagnosis.Recorded:
		return OnlyRecorded, "recorded and shown, never sent"
	case t.opts.Shadow[v.Class]:
		return InShadow, fmt.Sprintf("class %s is in shadow mode", v.Class)
	}
	if text := t.inMaintenance(v); text != "" {
		return InMaintenance, text
	}
	if text := t.coolingDown(inc); text != "" {
		return InCoolDown, text
	}
	if v.Class != Storm && inc.Thread == inc.ID && inc.Flaps == 0 && t.full(inc.Severity) {
		t.counts.Truncated++
		return InStorm, fmt.Sprintf("more than %d incidents at once", t.opts.Cap)
	}
	return NotWithheld, ""
}

// inMaintenance says why all hosts that a verdict names must not alert.
func (t *tick) inMaintenance(v *diagnosis.Verdict) string {
	text := ""
	for _, s := range v.Suspects {
		if s.Node == "" {
			return ""
		}
		why := t.opts.Maintenance(s.Node, s.Device, t.at)
		if why == "" {
			return ""
		}
		text = s.Node + ": " + why
	}
	return text
}

// coolingDown says that the incident's component was told of a moment ago, of
// nothing less grave. If it lasts, it is told when the time is over.
func (t *tick) coolingDown(inc *Incident) string {
	c := inc.component()
	if t.opts.CoolDown == 0 || !c.named() {
		return ""
	}
	for _, old := range t.ended {
		if old.ID != inc.ID && old.Announced && old.ResolveReason != Superseded && old.component() == c &&
			t.at.Sub(old.ResolvedAt) < t.opts.CoolDown && old.Severity >= inc.Severity {
			return "incident " + old.ID + " of the same component resolved lately"
		}
	}
	return ""
}

// full says that no incident of a severity may be announced any more. A quarter
// of the places is for critical ones.
func (t *tick) full(s diagnosis.Severity) bool {
	limit := t.opts.Cap
	if s < diagnosis.Critical {
		limit -= limit / 4
	}
	return t.announced >= limit
}

// storm announces what found a place again, and keeps the summary of what did
// not.
func (t *tick) storm() {
	hidden := t.reconsider()
	key := keyOf(&diagnosis.Verdict{Class: Storm, Scope: "cluster"})
	if len(hidden) == 0 {
		return
	}
	v := summary(hidden, t.opts.Cap)
	if sum := t.live[key]; sum != nil {
		t.confirm(sum, &v)
		return
	}
	sum := t.newPending(&v)
	t.add(sum)
	t.confirmed[sum] = true
	t.open(sum)
}

// reconsider looks again at withheld incidents, the worst first, and returns
// those which the cap still hides.
func (t *tick) reconsider() []*Incident {
	var waiting, hidden []*Incident
	for _, inc := range t.ordered() {
		if inc.Active() && !inc.Announced {
			waiting = append(waiting, inc)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *Incident) int { return cmp.Compare(b.Severity, a.Severity) })
	for _, inc := range waiting {
		reason, text := t.withhold(inc)
		// A quiet one is not worth a first message.
		if reason == NotWithheld && t.confirmed[inc] {
			t.announce(inc, "was withheld: "+string(inc.Withheld))
			continue
		}
		if reason != NotWithheld {
			inc.Withheld, inc.WithheldText = reason, text
		}
		if inc.Withheld == InStorm {
			hidden = append(hidden, inc)
		}
	}
	return hidden
}

func summary(hidden []*Incident, limit int) diagnosis.Verdict {
	v := diagnosis.Verdict{
		Class: Storm, Scope: "cluster", Severity: diagnosis.Warning, Confidence: diagnosis.High,
		Owner: diagnosis.OwnerUnknown, Reason: "too_many", StartedAt: hidden[0].StartedAt,
		Next: "look for a common cause first; all incidents are on the status page and in the API",
	}
	byClass := map[diagnosis.Class]int{}
	hosts := map[string]struct{}{}
	for _, inc := range hidden {
		byClass[inc.Verdict.Class]++
		v.Severity = max(v.Severity, inc.Severity)
		v.StartedAt = earliest(v.StartedAt, inc.StartedAt)
		for _, h := range hostsOf(&inc.Verdict) {
			hosts[h] = struct{}{}
		}
	}
	v.AffectedHosts = len(hosts)
	var parts []string
	for class, n := range byClass {
		parts = append(parts, fmt.Sprintf("%d %s", n, class))
	}
	slices.Sort(parts)
	v.Evidence = []diagnosis.Evidence{{
		Text: fmt.Sprintf("%d incidents are not sent because more than %d are open: %s", len(hidden), limit, strings.Join(parts, ", ")),
	}}
	return v
}

// cordon matches advice to take hosts away.
var cordon = regexp.MustCompile(`(?i)\b(cordon|drain|isolate|evict|state=(down|drain|fail)\w*)`)

// breaker withholds cordon advice while too many hosts are suspect at once.
func (t *tick) breaker() {
	fleet := t.opts.FleetSize()
	suspect := map[string]struct{}{}
	wide := 0
	for _, inc := range t.live {
		if !inc.Active() || inc.Verdict.Class == diagnosis.TelemetryGap {
			continue
		}
		inside := false // a host is named: those it harms are victims
		for _, s := range inc.Verdict.Suspects {
			if s.Node != "" {
				suspect[s.Node] = struct{}{}
				inside = true
			}
		}
		if !inside && inc.Verdict.Owner == diagnosis.Infrastructure {
			wide = max(wide, inc.Verdict.AffectedHosts)
		}
	}
	n := max(len(suspect), wide)
	text := ""
	if fleet > 0 && n > 1 && float64(n) > t.opts.BreakerShare*float64(fleet) {
		text = fmt.Sprintf("no cordon is recommended: %d of %d hosts are suspect at once (limit %.0f %%)",
			n, fleet, 100*t.opts.BreakerShare)
	}
	for _, inc := range t.live {
		inc.AdviceWithheld = text
	}
	// The events of this tick were made before: they must not carry advice
	// that is withheld.
	for i := range t.events {
		t.events[i].Incident.AdviceWithheld = text
	}
}

// Advice returns the next step and its command as they may be told now.
func (i *Incident) Advice() (next, command string) {
	next, command = i.Verdict.Next, i.Verdict.Command
	if i.AdviceWithheld == "" {
		return next, command
	}
	if cordon.MatchString(next) {
		next = "look for the common cause first"
	}
	if cordon.MatchString(command) {
		command = ""
	}
	return next + "; " + i.AdviceWithheld, command
}
