package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// memory is what a Diagnoser keeps from tick to tick: which jobs ran where,
// which hosts exist, and what the labels of a running episode are. All of it is
// bounded by the size of the cluster and forgotten after a while.
type memory struct {
	opts  *Options
	past  map[string][]stay // host
	hosts map[string]time.Time
	held  map[string]*episode
	lemon map[signals.Entity]int
	// unused are ports that carried nothing, and when that was seen last.
	unused map[signals.Entity]time.Time
	// toHost are switch ports that sent what a NIC received, and when last.
	toHost map[signals.Entity]time.Time
	// unordered are NICs that received packets out of sequence.
	unordered map[signals.Entity]seenRate
	// dark are NICs none of whose ports is active now.
	dark map[signals.Entity]bool
	// explained are communicators of which it was known why they are slow, and when
	// last.
	explained map[string]time.Time
	// began is the first evaluation, that of history included.
	began time.Time
	// aliases are learned once a host.
	aliases *aliases
}

// stay is one job on one host.
type stay struct {
	job         string
	first, last time.Time
}

// episode keeps what must not change while a fault lasts, because labels are
// made of it.
type episode struct {
	job, scope    string
	ended         bool
	started, seen time.Time
	falls         []time.Time // of a flap, newest last
}

const (
	staysKept   = 4
	episodeKept = time.Hour
	lemonCap    = 3
	fallsKept   = 16
)

func newMemory(o *Options) *memory {
	return &memory{
		opts: o, past: map[string][]stay{}, hosts: map[string]time.Time{},
		held: map[string]*episode{}, lemon: map[signals.Entity]int{}, unused: map[signals.Entity]time.Time{},
		toHost: map[signals.Entity]time.Time{}, unordered: map[signals.Entity]seenRate{}, dark: map[signals.Entity]bool{}, explained: map[string]time.Time{}, aliases: newAliases(),
	}
}

// observe notes who runs where.
func (m *memory) observe(s *signals.Snapshot) {
	if m.began.IsZero() {
		m.began = s.Time
	}
	for _, j := range s.Jobs {
		if j.Ended {
			continue
		}
		for _, h := range j.Hosts {
			m.hosts[h] = s.Time
			m.stay(h, j, s.Time)
		}
	}
	for _, id := range []signals.ID{signals.TargetUp, signals.HostBootTime} {
		f := s.Frames[id]
		for i := range f.Len() {
			if h := s.Entities.Of(f.Entity[i]).Host; h != "" {
				m.hosts[h] = s.Time
			}
		}
	}
	m.light(s)
	for h, t := range m.hosts {
		if s.Time.Sub(t) > episodeKept {
			delete(m.hosts, h)
			delete(m.past, h)
		}
	}
	for _, seen := range []map[signals.Entity]time.Time{m.unused, m.toHost} {
		for thing, t := range seen {
			if s.Time.Sub(t) > episodeKept {
				delete(seen, thing)
			}
		}
	}
	for id, t := range m.explained {
		if s.Time.Sub(t) > timingHold {
			delete(m.explained, id)
		}
	}
	for k, e := range m.held {
		if s.Time.Sub(e.seen) > episodeKept {
			delete(m.held, k)
		}
	}
}

// light notes which NICs have an active port. All ports of a card are scraped
// together.
func (m *memory) light(s *signals.Snapshot) {
	const active = 4
	f := s.Frame(signals.NICState)
	for i := range f.Len() {
		if e := s.Entities.Of(f.Entity[i]); f.Value[i] != active {
			m.dark[nicEntity(e.Host, e.Device)] = true
		}
	}
	if len(m.dark) == 0 {
		return
	}
	for i := range f.Len() {
		if e := s.Entities.Of(f.Entity[i]); f.Value[i] == active {
			delete(m.dark, nicEntity(e.Host, e.Device))
		}
	}
	for nic := range m.dark {
		if _, known := m.hosts[nic.Host]; !known {
			delete(m.dark, nic)
		}
	}
}

func (m *memory) stay(host string, j *signals.Job, now time.Time) {
	list := m.past[host]
	for i := range list {
		if list[i].job == j.ID {
			list[i].last = now
			return
		}
	}
	first := j.FirstSeen
	if first.IsZero() {
		first = now
	}
	if len(list) == staysKept {
		list = slices.Delete(list, 0, 1)
	}
	m.past[host] = append(list, stay{job: j.ID, first: first, last: now})
}

// jobsAt returns the jobs that ran on host when something began there and are
// not longer gone than JobMemory. A job that had ended before is not harmed.
func (m *memory) jobsAt(host string, began time.Time) []string {
	var out []string
	for _, s := range m.past[host] {
		if m.hosts[host].Sub(s.last) > m.opts.JobMemory {
			continue
		}
		if !began.IsZero() && (s.last.Add(2*m.opts.Interval).Before(began) || s.first.After(began)) {
			continue
		}
		out = append(out, s.job)
	}
	return out
}

func (m *memory) hostCount() int { return len(m.hosts) }

// settle gives a verdict the job and scope its episode began with, so that its
// labels are stable, and the earliest onset.
func (m *memory) settle(v *Verdict, now time.Time) {
	if len(v.Suspects) == 0 {
		return
	}
	s, key := v.Suspects[0], episodeKey(v)
	e := m.held[key]
	if e == nil {
		e = &episode{job: v.Job, scope: v.Scope, ended: v.JobEnded, started: v.StartedAt}
		m.held[key] = e
		if thing := s.entity(); thing.Kind != signals.KindNone {
			m.lemon[thing] = min(m.lemon[thing]+1, lemonCap)
		}
	}
	e.seen = now
	if n := len(e.falls); v.Class == LinkFlap && (n == 0 || v.StartedAt.After(e.falls[n-1])) {
		e.falls = append(e.falls[max(0, n+1-fallsKept):], v.StartedAt)
	}
	if v.Job != e.job && v.Job != "" && e.job != "" {
		v.Consequences = append(v.Consequences, "job "+v.Job+" runs on the same component now")
	}
	if v.Job == e.job {
		e.ended = e.ended || v.JobEnded
	}
	v.Job, v.Scope, v.JobEnded = e.job, e.scope, e.ended
	if onset(e.started, v.StartedAt).Before(v.StartedAt) {
		v.StartedAt = e.started
	}
}

// episodeKey names what an episode is about; v has a suspect.
func episodeKey(v *Verdict) string {
	s := v.Suspects[0]
	return string(v.Class) + "|" + s.Kind + "|" + s.Node + "|" + s.Device + "|" + s.Switch
}

// recallFalls tells flaps when their links went down before.
func (m *memory) recallFalls(all []Hypothesis) {
	for i := range all {
		if h := &all[i]; h.Class == LinkFlap && len(h.Suspects) > 0 {
			if e := m.held[episodeKey(&h.Verdict)]; e != nil {
				h.Falls = append([]time.Time{e.started}, e.falls...)
			}
		}
	}
}

// namedSince says that one of some components was suspect at t or later, whether
// or not it still is.
func (m *memory) namedSince(t time.Time, tied []Component) bool {
	named := map[Component]bool{}
	for key, e := range m.held {
		if e.seen.Before(t) {
			continue
		}
		// The key of an episode: class, kind, node, device, switch.
		if part := strings.SplitN(key, "|", 5); len(part) == 5 {
			c := Component{Kind: part[1], Node: part[2], Dev: part[3]}
			if c.Kind == "switch" {
				c = Component{Kind: "leaf", Name: part[4]}
			}
			named[c] = true
		}
	}
	return slices.ContainsFunc(tied, func(c Component) bool { return named[c] })
}

// explain notes that it is known why some groups are slow.
func (m *memory) explain(groups []string, now time.Time) {
	for _, id := range groups {
		m.explained[id] = now
	}
}

// justExplained says that of all of some groups it was known until not long ago why
// they are slow: windows of collectives end after the fault that made them slow.
// What stays slow is told once facts had time to show again.
func (m *memory) justExplained(groups []string) bool {
	return !slices.ContainsFunc(groups, func(id string) bool { return m.explained[id].IsZero() })
}

// offences is how often a thing was suspect before, capped: a prior that orders
// candidates and never decides.
func (m *memory) offences(thing signals.Entity) int { return m.lemon[thing] }
