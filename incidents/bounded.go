package incidents

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
)

// Bounds of what an incident may gather over a long life.
const (
	maxReasons      = 16
	maxJobs         = 32
	maxConsequences = 32
	maxRaises       = 3 // info, warning, critical
	// endedFor is how long a resolved incident stays at hand: longer than a
	// resolve is repeated and than the reopen window.
	endedFor = 30 * time.Minute
)

// newID makes the ULID of an incident from its key and first tick. It is not
// random, so that a replay, a restart that repeats a tick, and two daemons that
// watch the same cluster give one fault one ID.
func newID(key string, at time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(at)) // fails only after the year 10889
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(at.UnixMilli()))
	sum := sha256.Sum256(append(stamp[:], key...))
	_ = id.SetEntropy(sum[:10]) // fails only for another length
	return id.String()
}

// freshID is the ID of an incident that begins now. A clock that stepped back may
// come to the very tick of an earlier one of the same key, which has ended: two
// incidents never have one ID.
func (t *tick) freshID(key string) string {
	at := t.at
	id := newID(key, at)
	for t.wasThere(id) {
		at = at.Add(time.Millisecond)
		id = newID(key, at)
	}
	return id
}

func (t *tick) wasThere(id string) bool {
	if t.ended[id] != nil {
		return true
	}
	for i := range t.ring {
		if t.ring[i].ID == id {
			return true
		}
	}
	return false
}

func (i *Incident) addJob(job string) {
	if job != "" && !slices.Contains(i.Jobs, job) && len(i.Jobs) < maxJobs {
		i.Jobs = append(i.Jobs, job)
	}
}

func (i *Incident) addConsequence(text string) {
	if text != "" && !slices.Contains(i.Consequences, text) && len(i.Consequences) < maxConsequences {
		i.Consequences = append(i.Consequences, text)
	}
}

// takeOver makes a pending incident the return of an ended one.
func (i *Incident) takeOver(old *Incident) {
	i.ID, i.Thread = old.ID, old.Thread
	i.Version = old.Version
	i.Flaps = old.Flaps + 1
	i.Repeats = max(i.Repeats, old.Repeats)
	i.Supersedes = old.Supersedes
	i.Deliveries = old.Deliveries
	// One incident has one set of labels, also in its second life.
	i.Labels, i.Raises = old.Labels, old.Raises
	for _, r := range old.Reasons {
		if !slices.Contains(i.Reasons, r) && len(i.Reasons) < maxReasons {
			i.Reasons = append(i.Reasons, r)
		}
	}
	for _, j := range old.Jobs {
		i.addJob(j)
	}
	for _, c := range old.Consequences {
		i.addConsequence(c)
	}
}

// clone copies an incident so that nobody outside sees it change.
func (i *Incident) clone() Incident {
	c := *i
	c.Verdict.Suspects = slices.Clone(i.Verdict.Suspects)
	c.Verdict.Candidates = slices.Clone(i.Verdict.Candidates)
	c.Verdict.Evidence = slices.Clone(i.Verdict.Evidence)
	c.Verdict.Consequences = slices.Clone(i.Verdict.Consequences)
	c.Verdict.Hosts = slices.Clone(i.Verdict.Hosts)
	c.Verdict.Needs = slices.Clone(i.Verdict.Needs)
	c.Labels = maps.Clone(i.Labels)
	c.Raises = slices.Clone(i.Raises)
	c.Jobs = slices.Clone(i.Jobs)
	c.Reasons = slices.Clone(i.Reasons)
	c.Consequences = slices.Clone(i.Consequences)
	c.Supersedes = slices.Clone(i.Supersedes)
	c.Deliveries = maps.Clone(i.Deliveries)
	return c
}

// prune moves incidents that ended long ago into the ring, and forgets. Long
// ago is measured in evaluations: a clock that steps ahead, or a daemon that was
// down, must not take the end of an incident away before people were told.
func (m *Manager) prune(now time.Time, step time.Duration) {
	var old []*Incident
	aged := make(map[string]time.Duration, len(m.ended))
	for id, inc := range m.ended {
		age := m.aged[id] + step
		if age > max(endedFor, m.opts.CoolDown, m.policy(inc.Verdict.Class).Reopen) {
			old = append(old, inc)
			continue
		}
		aged[id] = age
	}
	m.aged = aged
	slices.SortFunc(old, func(a, b *Incident) int { return a.ResolvedAt.Compare(b.ResolvedAt) })
	for _, inc := range old {
		delete(m.ended, inc.ID)
		m.ring = append(m.ring, inc.archived())
	}
	if extra := len(m.ring) - m.opts.History; extra > 0 {
		m.ring = slices.Delete(m.ring, 0, extra)
	}
	m.past.prune(now)
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
