package incidents

import (
	"slices"
	"strings"

	"github.com/collwatch/collwatch/diagnosis"
)

// component is what is named as guilty, in a form that does not depend on the
// order in which suspects are listed.
type component struct {
	kind, node, device, sw string
}

func (c component) named() bool { return c.kind != "" }

// componentOf returns what a verdict names. Several suspects are named only if
// they are guilty together; then node and device are joined. A tie set names
// nobody.
func componentOf(v *diagnosis.Verdict) component {
	if len(v.Suspects) == 0 || v.TieSet > max(1, len(v.Suspects)) {
		return component{}
	}
	if len(v.Suspects) == 1 {
		return single(v.Suspects[0])
	}
	kind := v.Suspects[0].Kind
	var nodes, devices, switches []string
	for _, s := range v.Suspects {
		c := single(s)
		if c.kind != kind {
			kind = "group"
		}
		nodes, devices, switches = append(nodes, c.node), append(devices, c.device), append(switches, c.sw)
	}
	return component{kind, join(nodes), join(devices), join(switches)}
}

func single(s diagnosis.Suspect) component {
	c := component{kind: s.Kind, node: s.Node, device: s.Device}
	if s.Node == "" {
		// A component outside hosts is identified by its own name; for one
		// inside, the switch is only the other end and may be learned later.
		c.sw = s.Switch
	}
	return c
}

func join(parts []string) string {
	slices.Sort(parts)
	parts = slices.DeleteFunc(slices.Compact(parts), func(s string) bool { return s == "" })
	return strings.Join(parts, ",")
}

// keyOf identifies the fault over ticks. It is Verdict.Key with two cases added:
// several suspects, in whatever order, and a single one whose tie set was left
// at zero.
func keyOf(v *diagnosis.Verdict) string {
	c := componentOf(v)
	if !c.named() || len(v.Suspects) == 1 && v.TieSet == 1 {
		return v.Key()
	}
	bare := *v
	bare.Suspects = nil
	key := bare.Key() + "|" + c.kind + "|" + c.node + "|" + c.device
	if c.node == "" {
		key += "|" + c.sw
	}
	return key
}

// relation says how a verdict relates to an incident that does not have its
// key.
type relation uint8

const (
	unrelated relation = iota
	same               // the same fault: the verdict confirms the incident
	coarser            // the same fault with less knowledge: keeps it alive
	replaces           // the same fault more exactly, or the job's new suspect
)

// relate compares an incident with a verdict.
func (m *Manager) relate(inc *Incident, v *diagnosis.Verdict) relation {
	have := &inc.Verdict
	switch {
	case v.Class == have.Class:
		return m.relateSameClass(inc, v)
	case m.lineage.refines(v.Class, have.Class) && concerns(have, v):
		return replaces
	case m.lineage.refines(have.Class, v.Class) && concerns(have, v):
		return coarser
	}
	return unrelated
}

func (m *Manager) relateSameClass(inc *Incident, v *diagnosis.Verdict) relation {
	have := &inc.Verdict
	was, is := inc.component(), componentOf(v)
	switch {
	case was.named() && is == was:
		return relateJobs(inc, v)
	case was.named() && is.named():
		if v.Job != "" && v.Job == have.Job && (m.policy(v.Class).Exclusive || covers(have, v)) {
			return replaces
		}
	case is.named():
		if v.Job == have.Job && (v.Job != "" || v.Scope == have.Scope) || contains(have.Candidates, is) {
			return replaces
		}
	case was.named():
		if v.Job == have.Job && v.Job != "" && m.policy(v.Class).Exclusive || contains(v.Candidates, was) {
			return coarser
		}
	case v.Job == have.Job && v.Job != "" && m.policy(v.Class).Exclusive:
		return same
	}
	return unrelated
}

// relateJobs decides when class and component are equal. A fault of a
// component is one incident whatever jobs it harms, except that the first job
// it harms, or the next after the first one ended, deserves an alert that names
// it.
func relateJobs(inc *Incident, v *diagnosis.Verdict) relation {
	was := inc.Verdict.Job
	switch {
	case v.Job == was, v.Job == "":
		return same
	case was == "" && len(inc.Jobs) == 0, inc.JobEnded:
		return replaces
	}
	return same
}

// covers says that one of two sets of suspects, guilty together, contains the
// other.
func covers(a, b *diagnosis.Verdict) bool {
	small, large := a.Suspects, b.Suspects
	if len(small) > len(large) {
		small, large = large, small
	}
	if len(large) < 2 {
		return false
	}
	for _, s := range small {
		if !contains(large, single(s)) {
			return false
		}
	}
	return true
}

func contains(list []diagnosis.Suspect, c component) bool {
	return c.named() && slices.ContainsFunc(list, func(s diagnosis.Suspect) bool { return single(s) == c })
}

// concerns says that two verdicts may be about one fault: the same job, a
// shared host, or no bound at all.
func concerns(a, b *diagnosis.Verdict) bool {
	if a.Job != "" && a.Job == b.Job {
		return true
	}
	if a.Job != "" && b.Job != "" {
		return false
	}
	ha, hb := hostsOf(a), hostsOf(b)
	if len(ha) == 0 || len(hb) == 0 {
		return a.Scope == b.Scope && a.Scope != ""
	}
	if len(ha) > len(hb) {
		ha, hb = hb, ha
	}
	set := make(map[string]struct{}, len(ha))
	for _, h := range ha {
		set[h] = struct{}{}
	}
	return slices.ContainsFunc(hb, func(h string) bool { _, ok := set[h]; return ok })
}

// hostsOf returns the hosts a verdict is about: suspects, else the hosts it
// needs.
func hostsOf(v *diagnosis.Verdict) []string {
	hosts := slices.Clone(v.Hosts)
	for _, s := range v.Suspects {
		if s.Node != "" {
			hosts = append(hosts, s.Node)
		}
	}
	return hosts
}

// component returns what the incident names, as fixed when it opened.
func (i *Incident) component() component { return componentOf(&i.Verdict) }
