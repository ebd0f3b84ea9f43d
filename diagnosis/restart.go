package diagnosis

import (
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// restartFamily tells hosts that restarted. A restart explains links, counters
// and stalls of that host, so nothing else is said about it for a while.
func restartFamily(o *Options) Family {
	return Family{Name: "restart", Judge: func(c *Case) []Hypothesis {
		var out []Hypothesis
		for _, x := range c.Code(detectors.CodeBoot) {
			if c.Now.Sub(x.Since) > o.LinkBootGrace {
				continue
			}
			h := c.about(NodeRestart, "boot_time_changed", hostEntity(x.Entity.Host), x.Since)
			h.Evidence = append(h.Evidence, tell(signals.HostBootTime, x.Entity, true, "%s: booted at %s UTC, %s ago",
				x.Entity.Host, x.Since.UTC().Format(time.TimeOnly), Span(c.Now.Sub(x.Since))))
			h.Needs = nil
			if c.Has(x.Entity, detectors.CodeDrained) != nil {
				h.Severity = Recorded // somebody works on it
			}
			out = append(out, h)
		}
		return out
	}}
}
