package diagnosis

import (
	"fmt"
	"strings"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// waitsTold is how many waits of network steps are listed.
const waitsTold = 4

// witnesses is what else points somewhere in a stall: the peers for which
// network steps wait, and ranks that RAS does not reach. It is evidence: once a
// ring stands everybody waits for his neighbour, and RAS counts a rank as dead
// that is merely silent.
func witnesses(h *Hypothesis, p *detectors.JobProgress) []Evidence {
	var out []Evidence
	var parts []string
	for _, w := range p.Steps {
		if len(h.Suspects) > 0 && !h.Suspects[0].holds(w.To) {
			continue // how the others wait for each other is no news
		}
		if len(parts) < waitsTold {
			parts = append(parts, fmt.Sprintf("%s for %s (%s, %s)", w.From, w.To, strings.ReplaceAll(w.Phase, "_", " "), count(int(w.Count), "step")))
		}
	}
	if len(parts) > 0 {
		out = append(out, tell(signals.ProxySteps, jobEntity(p.Job), false, "network steps wait now: %s", strings.Join(parts, ", ")))
	}
	for i, u := range p.Unreached {
		if i < waitsTold {
			out = append(out, tell(signals.RASMissing, u.Rank, false, "RAS says of %s: %s", u.Rank, u.State))
		}
	}
	return out
}

// holds says that a rank is the suspect or on the suspect's host.
func (s Suspect) holds(e signals.Entity) bool {
	return s.Node == e.Host && (s.Kind == "node" || s.Device == e.Device)
}
