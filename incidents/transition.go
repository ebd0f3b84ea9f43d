package incidents

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// newPending starts an incident that nobody is told of yet.
func (t *tick) newPending(v *diagnosis.Verdict) *Incident {
	inc := &Incident{
		Key: keyOf(v), Verdict: *v, ActiveAt: t.at, StartedAt: v.StartedAt,
		Reasons: nonEmpty(v.Reason),
	}
	if v.JobEnded {
		inc.JobEnded, inc.JobEndedAt = true, t.at
	}
	inc.ID = t.freshID(inc.Key)
	inc.Thread = inc.ID
	if inc.StartedAt.IsZero() || inc.StartedAt.After(t.at) {
		inc.StartedAt = t.at
	}
	inc.addJob(v.Job)
	for _, c := range v.Consequences {
		inc.addConsequence(c)
	}
	inc.seen(t)
	inc.SeenFor = 0
	inc.Repeats = t.past.count(componentOf(v), inc.ActiveAt)
	t.raise(inc, v.Severity)
	return inc
}

// seen counts an evaluation that confirmed the incident.
func (i *Incident) seen(t *tick) {
	if _, again := t.confirmed[i]; again {
		return
	}
	i.LastSeen = t.at
	i.Seen++
	i.SeenFor += t.step
	i.Clear, i.ClearFor = 0, 0
	i.Held, i.HeldFor, i.Carried = "", 0, false
}

// clearUnconfirmed counts an evaluation without confirmation, or holds.
func (t *tick) clearUnconfirmed() {
	t.examine()
	for _, inc := range t.ordered() {
		if _, ok := t.confirmed[inc]; ok {
			continue
		}
		if reason, local := t.holds(inc); reason != "" {
			inc.Held = reason
			inc.HeldTicks++
			t.counts.Held++
			if local {
				inc.HeldFor += t.step
			}
			continue
		}
		inc.Held, inc.HeldFor = "", 0
		inc.Seen, inc.SeenFor = 0, 0
		inc.Clear++
		inc.ClearFor += t.step
		if inc.State == Pending {
			t.remove(inc)
		}
	}
}

// holds says why the absence of a verdict proves nothing at this tick. local
// says that the reason concerns the incident's own host or job only.
func (t *tick) holds(inc *Incident) (reason string, local bool) {
	if !t.result.Whole {
		return "inputs are not whole", false
	}
	if t.restored && inc.State != Pending {
		return "first evaluation after a restart", false
	}
	for _, h := range t.result.Holds {
		if !holdMatches(h, &inc.Verdict) {
			continue
		}
		return cmp.Or(h.Reason, "inputs are missing"), h.Host != "" || h.Job != ""
	}
	if inc.Carried && !inc.JobEnded && inc.Cleared == "" {
		return "it began before the history that was read after a restart, and has not been seen since", true
	}
	return t.examined[inc], false
}

// forming is how much of the history that is read goes into baselines before
// anything can be seen in the rest.
const forming = 20 * time.Minute

// carry notes at the first evaluation after a restart which incidents began
// before what is known since. Of the others absence says what it always says,
// and so it does of those that were seen to be healthy before, and of events,
// which are over when they are told. A short history is no measure of age.
func (t *tick) carry() {
	for _, inc := range t.live {
		old := t.opts.Warmed >= 2*forming && t.at.Sub(inc.StartedAt) > t.opts.Warmed-forming
		lasting := inc.Severity > diagnosis.Info && t.policy(inc.Verdict.Class).Latch == 0
		inc.Carried = old && lasting && inc.State == Open && inc.Clear == 0
	}
}

// examine notes the incidents which a pending verdict is about to replace: they
// must neither resolve nor be forgotten before it is told. What people know of
// goes on as well while something that they do not hear of explains it.
func (t *tick) examine() {
	all := t.ordered()
	for _, inc := range all {
		if !t.confirmed[inc] {
			continue
		}
		why, hidden := "a more exact verdict is pending", inc.Active() && t.unheard(inc)
		if hidden {
			why = "incident " + inc.ID + " explains it, whose class is in shadow or only recorded"
		}
		if !inc.Folded && (hidden || inc.State == Pending) {
			t.eachRelated(&inc.Verdict, func(old *Incident, rel relation) {
				if rel == replaces && (!hidden || old.Announced) {
					t.examined[old] = why
				}
			})
		}
		for _, old := range all {
			if hidden && old.Announced && old.Active() && t.causeOf(old, []*Incident{inc}) != nil {
				t.examined[old] = why
			}
		}
	}
}

// unheard says that nobody will be told of an incident, so that it must not end
// what people know of.
func (t *tick) unheard(inc *Incident) bool {
	return !inc.Announced && (t.opts.Shadow[inc.Verdict.Class] || inc.Severity == diagnosis.Recorded)
}

func holdMatches(h diagnosis.Hold, v *diagnosis.Verdict) bool {
	if len(h.Classes) > 0 && !slices.Contains(h.Classes, v.Class) {
		return false
	}
	if h.Job != "" && h.Job != v.Job {
		return false
	}
	return h.Host == "" || slices.Contains(hostsOf(v), h.Host)
}

// openRipe tells of the pending incidents that were confirmed long enough, the
// worst first.
func (t *tick) openRipe() {
	var ripe []*Incident
	for _, inc := range t.ordered() {
		p := t.policy(inc.Verdict.Class)
		if inc.State == Pending && t.confirmed[inc] &&
			(inc.Verdict.Immediate || inc.Seen >= p.Pending && inc.SeenFor >= p.PendingFor) {
			ripe = append(ripe, inc)
		}
	}
	slices.SortStableFunc(ripe, func(a, b *Incident) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Verdict.AffectedHosts, a.Verdict.AffectedHosts))
	})
	for _, inc := range ripe {
		t.open(inc)
	}
}

func (t *tick) open(inc *Incident) {
	why, again := "new", false
	// The end of the former life may not be told to all yet: a return that is
	// kept from people leaves it alone.
	if old := t.reopenable(inc); old != nil && (!old.Announced || !t.unheard(inc) && t.inMaintenance(&inc.Verdict) == "") {
		why = fmt.Sprintf("came back %s after it had resolved", Span(t.at.Sub(old.ResolvedAt)))
		inc.takeOver(old)
		delete(t.ended, old.ID)
		t.counts.Flaps++
		t.raise(inc, old.Severity)
		again = true
	}
	returns := again // and has a message of its own
	inc.State = Open
	inc.FiredAt = t.at
	for _, old := range t.replaced(inc) {
		if old.Announced && t.unheard(inc) {
			continue
		}
		if !returns {
			inc.Thread = old.Thread
		}
		inc.Supersedes = append(inc.Supersedes, old.ID)
		inc.StartedAt = earliest(inc.StartedAt, old.StartedAt)
		if old.Verdict.Class == inc.Verdict.Class {
			t.raise(inc, old.Severity)
		}
		old.SupersededBy = inc.ID
		again = again || old.component() == inc.component()
		t.resolve(old, Superseded, "said more exactly by incident "+inc.ID)
		why = "replaces incident " + old.ID
	}
	if inc.Labels == nil {
		inc.Labels = identityLabels(&inc.Verdict, t.opts.External)
	}
	if !again {
		t.past.add(inc.component(), inc.FiredAt)
	}
	inc.Withheld, inc.WithheldText = t.withhold(inc)
	switch inc.Withheld {
	case NotWithheld:
		t.announce(inc, why)
	case OnlyRecorded, InShadow:
		inc.Noted = true
		inc.Version++
		t.events = append(t.events, Event{Time: t.at, Kind: EventOpen, Incident: inc.clone(), Was: inc.Severity, Why: why})
	}
}

func (t *tick) announce(inc *Incident, why string) {
	inc.Withheld, inc.WithheldText = NotWithheld, ""
	inc.Announced = true
	t.announced++
	inc.Version++
	t.events = append(t.events, Event{Time: t.at, Kind: EventOpen, Incident: inc.clone(), Was: inc.Severity, Why: why})
}

// replaced returns the incidents that a newly open one replaces.
func (t *tick) replaced(by *Incident) []*Incident {
	if by.Folded {
		return nil
	}
	var out []*Incident
	t.eachRelated(&by.Verdict, func(inc *Incident, rel relation) {
		if inc != by && inc.Active() && rel == replaces && !t.confirmed[inc] {
			out = append(out, inc)
		}
	})
	return out
}

// reopenable returns the ended incident that inc is the return of.
func (t *tick) reopenable(inc *Incident) *Incident {
	window := t.policy(inc.Verdict.Class).Reopen
	var best *Incident
	for _, old := range t.ended {
		if old.Key != inc.Key || old.ResolveReason == Superseded || old.ResolveReason == ConfigChanged ||
			t.at.Sub(old.ResolvedAt) > window {
			continue
		}
		if best == nil || old.ResolvedAt.After(best.ResolvedAt) {
			best = old
		}
	}
	return best
}

// joinCauses ends incidents that are no longer reported because an open one
// explains them: they did not recover.
func (t *tick) joinCauses() {
	all := t.ordered()
	var causes, heard []*Incident // none of them ends here: it is confirmed
	for _, inc := range all {
		if t.confirmed[inc] && inc.Active() {
			causes = append(causes, inc)
			if !t.unheard(inc) {
				heard = append(heard, inc)
			}
		}
	}
	if len(causes) == 0 {
		return
	}
	for _, inc := range all {
		if _, confirmed := t.confirmed[inc]; confirmed || !inc.Active() || inc.Held != "" {
			continue
		}
		of := causes
		if inc.Announced {
			of = heard
		}
		cause := t.causeOf(inc, of)
		if cause == nil {
			continue
		}
		inc.SupersededBy = cause.ID
		cause.addConsequence(fmt.Sprintf("%s (incident %s)", inc.Verdict.Class, inc.ID))
		t.resolve(inc, Superseded, "explained by incident "+cause.ID)
	}
}

// causeSlack is how much later than its effect a cause may be dated: both are
// seen through scrapes and windows of up to a minute.
const causeSlack = 2 * time.Minute

// causeOf returns the first of causes that explains inc, nil for none.
func (t *tick) causeOf(inc *Incident, causes []*Incident) *Incident {
	for _, cause := range causes {
		foldedInto := cause.Folded && cause.Verdict.Class == inc.Verdict.Class &&
			contains(cause.Verdict.Candidates, inc.component())
		explained := t.lineage.explains(cause.Verdict.Class, inc.Verdict.Class) &&
			!cause.StartedAt.After(inc.StartedAt.Add(causeSlack)) && concerns(&cause.Verdict, &inc.Verdict)
		if foldedInto || explained {
			return cause
		}
	}
	return nil
}

// resolveRipe ends, or latches, what was clear long enough.
func (t *tick) resolveRipe() {
	for _, inc := range t.ordered() {
		if !inc.Active() {
			continue
		}
		p := t.policy(inc.Verdict.Class)
		switch {
		case inc.ResolveReason == ConfigChanged:
			t.resolve(inc, ConfigChanged, "its class is no longer configured")
		case inc.HeldFor >= t.opts.HeldLimit:
			t.resolve(inc, DataGone, fmt.Sprintf("stopped reporting: %s for %s; repair is not proven", inc.Held, Span(inc.HeldFor)))
		case inc.Clear == 0:
		case inc.Cleared != "":
			t.resolve(inc, Recovered, "cleared by "+inc.Cleared)
		case inc.Clear < p.Clear || inc.ClearFor < p.ClearFor:
		case inc.ClearFor < t.latchOf(inc, p):
			inc.State = Latched
		default:
			t.resolveClear(inc)
		}
	}
}

func (t *tick) latchOf(inc *Incident, p Policy) time.Duration {
	if p.Latch == 0 && inc.Flaps >= t.opts.LatchFlaps {
		return t.opts.LatchFor
	}
	return p.Latch
}

func (t *tick) resolveClear(inc *Incident) {
	text := fmt.Sprintf("not seen in %d evaluations in a row over %s with all inputs there", inc.Clear, Span(inc.ClearFor))
	if inc.JobEnded && !inc.LastSeen.After(inc.JobEndedAt.Add(2*t.opts.Interval)) {
		t.resolve(inc, JobEnded, fmt.Sprintf("job %s ended; %s", inc.Verdict.Job, text))
		return
	}
	t.resolve(inc, Recovered, text)
}

func (t *tick) resolve(inc *Incident, reason ResolveReason, text string) {
	inc.State = Resolved
	inc.ResolvedAt = t.at
	inc.ResolveReason, inc.RecoveryText = reason, text
	inc.Held = ""
	inc.Version++
	t.remove(inc)
	t.ended[inc.ID] = inc
	if inc.Announced {
		t.announced--
	}
	if inc.Announced || inc.Noted {
		t.events = append(t.events, Event{Time: t.at, Kind: EventResolve, Incident: inc.clone(), Was: inc.Severity, Why: text})
	}
}
