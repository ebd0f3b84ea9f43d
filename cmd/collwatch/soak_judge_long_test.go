//go:build long

package main

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
	"github.com/collwatch/collwatch/sim"
)

// soakOver are the colours of a message about what is over: resolved, and explained
// by another.
var soakOver = []string{"#2eb67d", "#8d8d8d"}

// soakCoarse is how many alerts a day may be about the job of a fault without a
// name, beside the alert that names it: in a gap of the data the cause can be
// forgotten before its effect.
const soakCoarse = 1

// judge compares what people heard with what happened.
func (s *soak) judge(plan []soakFault) {
	s.pagers(plan)
	s.messages(plan)
	s.flat()
}

// explains says that a notification is about the fault.
func (f *soakFault) explains(class, node, job string, at time.Duration) bool {
	if at < f.from || at > f.to+15*time.Minute {
		return false
	}
	if f.node == "" {
		return class == f.class && node == "" && job == f.job
	}
	return node == f.node && (class == f.class || slices.Contains(f.also, class))
}

// harms says that the fault is there and in a host of the job.
func (f *soakFault) harms(job string, at time.Duration, s *soak) bool {
	if at < f.from || at > f.to+15*time.Minute {
		return false
	}
	host := slices.IndexFunc(s.cluster.Hosts, func(h *sim.Host) bool { return h.Name == f.node })
	return host >= 0 && slices.ContainsFunc(s.cluster.Jobs, func(j *sim.Job) bool { return j.Spec.ID == job && slices.Contains(j.Spec.Hosts, host) })
}

// pagers: each alert begins once and ends once, each is about a fault, each fault
// is told. An alert that rises in severity is a new one at the pager.
func (s *soak) pagers(plan []soakFault) {
	told := s.pager.Faults()
	heard := make([]bool, len(plan))
	open := map[string]lastmile.Told{} // by fingerprint
	began := map[string]int{}          // number of beginnings by fingerprint and fault
	coarse := 0
	for _, a := range told {
		at := a.At.Sub(s.start)
		class, node, job := a.Labels["class"], a.Labels["suspect_node"], a.Labels["job_id"]
		s.t.Logf("%s %-8s %-8s %s %s %s", clockOf(at), a.Status, a.Labels["severity"], class, node, job)
		before, isOpen := open[a.Fingerprint]
		if a.Status == "resolved" {
			require.True(s.t, isOpen, "an end without a beginning")
			delete(open, a.Fingerprint)
			continue
		}
		require.False(s.t, isOpen, "told again: %v, first at %s", a.Labels, clockOf(before.At.Sub(s.start)))
		open[a.Fingerprint] = a
		if class == "telemetry_gap" && node == "" && a.Labels["severity"] == "info" {
			continue // the outages of Prometheus are real, too
		}
		i := slices.IndexFunc(plan, func(f soakFault) bool { return f.explains(class, node, job, at) })
		if i < 0 && node == "" && slices.ContainsFunc(plan, func(f soakFault) bool { return f.harms(job, at, s) }) {
			coarse++
			continue
		}
		if i < 0 {
			s.t.Errorf("%s: nothing was wrong there: %v", clockOf(at), a.Labels)
			continue
		}
		heard[i] = heard[i] || class == plan[i].class
		key := a.Fingerprint + clockOf(plan[i].from)
		if began[key]++; began[key] > 1 {
			s.t.Errorf("%s: told twice of one fault: %v", clockOf(at), a.Labels)
		}
	}
	require.Empty(s.t, open, "never resolved")
	require.LessOrEqual(s.t, coarse, soakCoarse)
	for i, f := range plan {
		if !heard[i] {
			s.t.Errorf("%s: nobody heard of %s %s%s", clockOf(f.from), f.class, f.node, f.job)
		}
	}
}

// messages: in Slack each fault has exactly one message of its own, and all end
// green.
func (s *soak) messages(plan []soakFault) {
	var heads []fakeslack.Message
	for _, m := range s.slack.Messages() {
		if m.Thread == "" && !m.Deleted {
			heads = append(heads, m)
			title, _, _ := strings.Cut(m.Text, "\n")
			s.t.Logf("%s slack: %s", clockOf(m.Posted.Sub(s.start)), title)
			require.Contains(s.t, soakOver, m.Color, m.Text)
		}
	}
	for _, f := range plan {
		n := 0
		for _, m := range heads {
			at := m.Posted.Sub(s.start)
			if at > f.from && at < f.to+25*time.Minute && strings.Contains(m.Text, f.title) && strings.Contains(m.Text, f.node+f.job) {
				n++
			}
		}
		if n != 1 {
			s.t.Errorf("%s: %d messages about %s %s%s", clockOf(f.from), n, f.class, f.node, f.job)
		}
	}
}

// flat compares the beginning with the end: what grows every hour shows after
// twenty of them.
func (s *soak) flat() {
	if len(s.sizes) < 9 {
		s.t.Logf("too short for a trend")
		return
	}
	mean := func(list []soakSize) (heap, goroutines float64) {
		for _, x := range list {
			heap += float64(x.heap) / float64(len(list))
			goroutines += float64(x.goroutines) / float64(len(list))
		}
		return heap, goroutines
	}
	heap, goroutines := mean(s.sizes[2:5])
	heapEnd, goroutinesEnd := mean(s.sizes[len(s.sizes)-3:])
	s.t.Logf("heap %.0f MB at first, %.0f MB at last; goroutines %.1f and %.1f", heap/1e6, heapEnd/1e6, goroutines, goroutinesEnd)
	require.Less(s.t, heapEnd, 1.1*heap, "memory grows")
	require.Less(s.t, goroutinesEnd, goroutines+5, "goroutines leak")
}
