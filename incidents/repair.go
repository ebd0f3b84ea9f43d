package incidents

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// flapMemory is for how long a diagnosis speaks of one event of a link.
const flapMemory = time.Hour

// joinsRepair lets the flap of a port join the incident that people were already
// told of the same port: a port goes down and up again when it degrades, and
// once more when somebody repairs it. It would be a second notice of the same
// work. A flap that is critical, or newer than the end of that incident, is told
// by itself.
func (t *tick) joinsRepair(v *diagnosis.Verdict) bool {
	if v.Class != diagnosis.LinkFlap || v.Severity >= diagnosis.Critical || v.Immediate || !componentOf(v).named() {
		return false
	}
	cause := t.repaired(v)
	if cause == nil {
		return false
	}
	if cause.Active() {
		cause.addConsequence("its link went down and came back at " + stamp(v.StartedAt))
	}
	return true
}

// repaired returns the incident of the port within whose life the flap falls, or
// nil.
func (t *tick) repaired(v *diagnosis.Verdict) *Incident {
	for _, class := range []diagnosis.Class{diagnosis.NICDegraded, diagnosis.LinkDown} {
		for inc := range t.byClass[class] {
			if inc.Active() && explainsFlap(inc, v) {
				return inc
			}
		}
	}
	for _, inc := range t.ended {
		if explainsFlap(inc, v) {
			return inc
		}
	}
	for i := range slices.Backward(t.ring) {
		if t.at.Sub(t.ring[i].ResolvedAt) > 2*flapMemory {
			break
		}
		if explainsFlap(&t.ring[i], v) {
			return &t.ring[i]
		}
	}
	return nil
}

func explainsFlap(inc *Incident, v *diagnosis.Verdict) bool {
	if !inc.Announced || inc.Folded || inc.Verdict.Class != diagnosis.NICDegraded && inc.Verdict.Class != diagnosis.LinkDown {
		return false
	}
	was, is := inc.component(), componentOf(v)
	began, over := inc.StartedAt.Add(-causeSlack), inc.ResolvedAt
	return was.named() && was.node == is.node && was.device == is.device && is.device != "" &&
		!v.StartedAt.Before(began) && (inc.State != Resolved || !v.StartedAt.After(over))
}
