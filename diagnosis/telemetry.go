package diagnosis

import (
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// sourceGap is how long a source may be silent as a whole before that is an
// alert: shorter outages of Prometheus have alerts of their own.
const sourceGap = 10 * time.Minute

// loneGap is how long one host must be silent before it is told alone: hosts
// that fell silent together are seen so within two scrapes.
const loneGap = 80 * time.Second

// telemetryFamily tells inputs that are missing: one notice, however many hosts
// do not report. It never leads and never says anything about hardware.
func telemetryFamily() Family {
	return Family{Name: "telemetry", Judge: func(c *Case) []Hypothesis {
		hosts := map[string][]*detectors.Finding{}
		names := map[string]bool{}
		var since time.Time
		var whole *detectors.Finding
		for _, x := range c.Pattern(detectors.Missing) {
			host := x.Entity.Host
			if host == "" {
				if c.Now.Sub(x.Since) >= sourceGap {
					whole = x
				}
				continue
			}
			if c.restarted(host, c.opts.BootGrace) != nil || c.Has(hostEntity(host), detectors.CodeDrained) != nil {
				continue
			}
			hosts[host] = append(hosts[host], x)
			names[host] = true
			since = onset(since, x.Since)
		}
		switch {
		case whole != nil:
			h := newHypothesis(TelemetryGap, "source_down")
			h.StartedAt, h.Scope, h.Confidence, h.AffectedHosts = whole.Since, "cluster", High, c.Hosts()
			h.Evidence = append(h.Evidence, tell(signals.TargetUp, whole.Entity, true, "%s: nothing reported for %s", whole.Entity.Detail, Span(c.Now.Sub(whole.Since))))
			return []Hypothesis{h}
		case len(hosts) == 0, len(hosts) == 1 && c.Now.Sub(since) < loneGap:
			return nil
		}
		return []Hypothesis{c.gap(sortedSet(names), hosts, since)}
	}}
}

func (c *Case) gap(names []string, hosts map[string][]*detectors.Finding, since time.Time) Hypothesis {
	first := hosts[names[0]][0]
	h := newHypothesis(TelemetryGap, first.Code)
	h.StartedAt, h.Scope, h.Confidence, h.AffectedHosts = since, "cluster", High, len(names)
	if len(names) == 1 {
		h.Scope = "host:" + names[0]
		h.Suspects, h.TieSet = []Suspect{{Kind: "node", Node: names[0], Score: 1}}, 1
		for _, x := range hosts[names[0]] {
			h.Evidence = append(h.Evidence, tell(signals.TargetUp, x.Entity, true, "%s: %s not reported for %s (%s)", names[0], x.Entity.Detail, Span(c.Now.Sub(x.Since)), words(Class(x.Code))))
		}
		return h
	}
	h.Evidence = append(h.Evidence, tell(signals.TargetUp, signals.Entity{}, true, "%s not reported for up to %s: %s", count(len(names), "host"), Span(c.Now.Sub(since)), listed(names)))
	return h
}
