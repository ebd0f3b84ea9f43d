package incidents

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// Bounds of the history.
const (
	maxTimesPerMember = 32
	maxOffenders      = 20000
)

// offenders remembers when components were named, over a sliding window.
type offenders struct {
	window time.Duration
	times  map[component][]time.Time
}

func newOffenders(window time.Duration) *offenders {
	return &offenders{window: window, times: map[component][]time.Time{}}
}

// historic says that a component is a thing that can be a lemon: ranks and jobs
// are not, they live no longer than a job.
func (c component) historic() bool {
	switch c.kind {
	case "nic", "gpu", "node", "link", "switch":
		return true
	}
	return false
}

func (o *offenders) add(c component, at time.Time) {
	if !c.historic() {
		return
	}
	times := o.times[c]
	if times == nil && len(o.times) >= maxOffenders {
		return
	}
	if len(times) >= maxTimesPerMember {
		times = slices.Delete(times, 0, 1)
	}
	o.times[c] = append(times, at)
}

// count is the number of incidents of c in the window before at.
func (o *offenders) count(c component, at time.Time) int {
	n := 0
	for _, t := range o.times[c] {
		if t.Before(at) && at.Sub(t) <= o.window {
			n++
		}
	}
	return n
}

func (o *offenders) prune(now time.Time) {
	for c, times := range o.times {
		kept := slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) > o.window })
		if len(kept) == 0 {
			delete(o.times, c)
			continue
		}
		o.times[c] = kept
	}
}

// withHistory raises a severity for a repeat offender.
func (t *tick) withHistory(inc *Incident, s diagnosis.Severity) diagnosis.Severity {
	if inc.Repeats < t.opts.RepeatOffender || s == diagnosis.Recorded || s >= diagnosis.Critical ||
		!t.policy(inc.Verdict.Class).Repeats {
		return s
	}
	return s + 1
}

// Repeats returns how many incidents named a component within the window of
// the history. Diagnosis may prefer a repeat offender among equals; it may not
// name one for that alone.
func (m *Manager) Repeats(s diagnosis.Suspect) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.past.count(single(s), m.last.Add(1))
}
