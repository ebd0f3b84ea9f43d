package incidents

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// tick is the work of one Apply.
type tick struct {
	*Manager
	at     time.Time
	step   time.Duration // evaluated time since the tick before
	result *diagnosis.Result
	// confirmed maps incidents to true if the verdict of this tick was theirs,
	// to false if a coarser one kept them alive.
	confirmed map[*Incident]bool
	// examined are the incidents that another one is about to replace, or would
	// if anybody heard of it, and why they are kept.
	examined map[*Incident]string
	events   []Event
}

// Apply advances all incidents by one diagnosis and returns what receivers
// have to be told, in order. Incidents in shadow, maintenance or behind the cap
// live on but give no events.
func (m *Manager) Apply(r *diagnosis.Result) []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &tick{Manager: m, at: r.Time, result: r, confirmed: map[*Incident]bool{}, examined: map[*Incident]string{}}
	// A clock that stepped back, or a pause, counts for nothing or little: hold
	// times are about evaluations that saw something.
	t.step = min(max(r.Time.Sub(m.last), 0), 2*m.opts.Interval)
	if m.last.IsZero() {
		t.step = 0
	}
	if m.restored {
		t.carry()
	}
	t.match(m.fold(t.prepare(r.Verdicts)))
	t.markEndedJobs(r.Ended)
	t.clearUnconfirmed()
	t.openRipe()
	t.joinCauses()
	t.resolveRipe()
	t.breaker()
	t.storm()
	m.last = r.Time
	m.restored = false
	m.prune(r.Time, t.step)
	return t.events
}

// prepare drops what cannot be an incident and merges verdicts of one key.
func (t *tick) prepare(in []diagnosis.Verdict) []diagnosis.Verdict {
	out := make([]diagnosis.Verdict, 0, len(in))
	index := map[string]int{}
	for _, v := range in {
		if v.Class == "" {
			continue
		}
		p := t.policy(v.Class)
		v.Severity = min(max(v.Severity, p.Min), p.Max)
		key := keyOf(&v)
		i, seen := index[key]
		if !seen {
			index[key] = len(out)
			out = append(out, v)
			continue
		}
		if v.Severity > out[i].Severity {
			v.Immediate = v.Immediate || out[i].Immediate
			out[i] = v
		}
	}
	return out
}

// match gives each verdict to its incident, or makes a pending one.
func (t *tick) match(verdicts []folded) {
	var rest []folded
	for _, v := range verdicts {
		if inc := t.live[keyOf(&v.Verdict)]; inc != nil {
			t.confirm(inc, &v.Verdict)
			continue
		}
		rest = append(rest, v)
	}
	for i := range rest {
		v := &rest[i]
		if !v.many && (t.matchRelated(&v.Verdict) || t.joinsRepair(&v.Verdict)) {
			continue
		}
		inc := t.newPending(&v.Verdict)
		inc.Folded = v.many
		t.add(inc)
		t.confirmed[inc] = true
	}
}

// matchRelated looks for an incident that a verdict with another key confirms.
func (t *tick) matchRelated(v *diagnosis.Verdict) bool {
	found := false
	t.eachRelated(v, func(inc *Incident, rel relation) {
		switch {
		case found:
		case rel == same:
			t.confirm(inc, v)
			found = true
		case rel == coarser && inc.Active():
			if _, again := t.confirmed[inc]; !again {
				inc.seen(t) // before it is noted, or it would not count
				t.confirmed[inc] = false
			}
			found = true
		}
	})
	return found
}

// eachRelated calls f for the incidents that relate to v, in a fixed order.
func (t *tick) eachRelated(v *diagnosis.Verdict, f func(*Incident, relation)) {
	var related []*Incident
	for class, set := range t.byClass {
		if class != v.Class && !t.lineage.refines(class, v.Class) && !t.lineage.refines(v.Class, class) {
			continue
		}
		for inc := range set {
			if !inc.Folded && t.relate(inc, v) != unrelated {
				related = append(related, inc)
			}
		}
	}
	slices.SortFunc(related, compareIncidents)
	for _, inc := range related {
		f(inc, t.relate(inc, v))
	}
}

func compareIncidents(a, b *Incident) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Key, b.Key))
}

// confirm renews an incident by a verdict of its own.
func (t *tick) confirm(inc *Incident, v *diagnosis.Verdict) {
	inc.seen(t)
	t.confirmed[inc] = true
	if inc.State == Latched {
		inc.State = Open
	}
	before := inc.Verdict
	inc.Verdict = *v
	if inc.State != Pending {
		inc.Verdict.Job, inc.Verdict.Scope, inc.Verdict.Owner = before.Job, before.Scope, before.Owner
	}
	if len(v.Suspects) == 0 {
		// With what could not be told apart before: a lone candidate is no name.
		inc.Verdict.Suspects, inc.Verdict.TieSet = before.Suspects, max(v.TieSet, before.TieSet)
	}
	inc.StartedAt = earliest(inc.StartedAt, v.StartedAt)
	inc.addJob(v.Job)
	for _, c := range v.Consequences {
		inc.addConsequence(c)
	}
	t.raise(inc, v.Severity)
	if v.Reason != "" && !slices.Contains(inc.Reasons, v.Reason) && len(inc.Reasons) < maxReasons {
		inc.Reasons = append(inc.Reasons, v.Reason)
		if inc.Announced {
			t.update(inc, inc.Severity, fmt.Sprintf("reason is now %s", v.Reason))
		}
	}
	if v.JobEnded {
		t.jobEnded(inc, v.Job)
	}
}

// raise lifts the severity; it never falls.
func (t *tick) raise(inc *Incident, to diagnosis.Severity) {
	to = min(t.withHistory(inc, to), t.policy(inc.Verdict.Class).Max)
	if to <= inc.Severity {
		return
	}
	was := inc.Severity
	inc.Severity = to
	if inc.Announced {
		inc.Raises = append(inc.Raises, Raise{From: was, At: t.at})
		t.update(inc, was, fmt.Sprintf("severity rises from %s to %s", was, to))
	}
}

// update tells that an incident changed. What changes at one evaluation is one
// event.
func (t *tick) update(inc *Incident, was diagnosis.Severity, why string) {
	inc.Version++
	if n := len(t.events) - 1; n >= 0 && t.events[n].Kind == EventUpdate && t.events[n].Incident.ID == inc.ID {
		e := &t.events[n]
		e.Incident, e.Why = inc.clone(), e.Why+"; "+why
		return
	}
	t.events = append(t.events, Event{Time: t.at, Kind: EventUpdate, Incident: inc.clone(), Was: was, Why: why})
}

func (t *tick) markEndedJobs(jobs []string) {
	if len(jobs) == 0 {
		return
	}
	for _, inc := range t.ordered() {
		for _, job := range jobs {
			if job != "" && slices.Contains(inc.Jobs, job) {
				t.jobEnded(inc, job)
			}
		}
	}
}

func (t *tick) jobEnded(inc *Incident, job string) {
	if inc.JobEnded || inc.Verdict.Job != job || job == "" {
		return
	}
	inc.JobEnded, inc.JobEndedAt = true, t.at
	if inc.Announced {
		t.update(inc, inc.Severity, fmt.Sprintf("job %s ended", job))
	}
}

// ordered returns the live incidents in a fixed order.
func (m *Manager) ordered() []*Incident {
	out := make([]*Incident, 0, len(m.live))
	for _, inc := range m.live {
		out = append(out, inc)
	}
	slices.SortFunc(out, compareIncidents)
	return out
}
