//go:build long

package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/sim"
)

// soakFault is a fault and what people must hear of it.
type soakFault struct {
	from, to time.Duration
	class    string
	title    string // in messages
	node     string // "" for a job's trouble without a suspect
	job      string
	// also are classes that may be said of the same node.
	also []string
}

// soakAction is what happens to a party.
type soakAction struct {
	at   time.Duration
	what string
	do   func()
}

// soakKinds are the faults in turn. Each begins five minutes after the hour and is
// over half an hour later.
var soakKinds = []struct {
	class string
	title string
	also  []string
	make  func(host int, from, to float64) sim.Fault
}{
	{"nic_degraded", "NIC degraded", []string{"link_flap"}, func(h int, from, to float64) sim.Fault { return sim.Downtrain(h, h%2, 0.25, from, to) }},
	{"gpu_throttle", "GPU throttled", nil, func(h int, from, to float64) sim.Fault { return sim.Throttle(h, h%2, 0.667, from, to) }},
	{"straggler_compute", "Straggler", nil, func(h int, from, to float64) sim.Fault { return sim.Starve(h, 0.55, 310, 1.57, from, to) }},
	{"pcie_degraded", "PCIe degraded", nil, func(h int, from, to float64) sim.Fault { return sim.LaneLoss(h, h%2, 0.55, from, to) }},
	{"nic_degraded", "NIC degraded", []string{"link_flap"}, func(h int, from, to float64) sim.Fault { return sim.BitErrors(h, h%2, 0.8, from, to) }},
	{"nic_contention", "NIC shared", nil, func(h int, from, to float64) sim.Fault { return sim.ForeignTraffic(h, h%2, 3.6e10, 0.437, from, to) }},
	{"link_down", "Link down", []string{"link_flap"}, func(h int, from, _ float64) sim.Fault { return sim.PortDown(h, h%2, from, 600, 3600) }},
}

// soakTrouble is what happens to the parties, at minutes of every hour in turn.
func soakTrouble(s *soak) [][]soakAction {
	m := func(minute float64) time.Duration { return time.Duration(minute * float64(time.Minute)) }
	cut := func(from, to float64, host string) []soakAction {
		return []soakAction{
			{m(from), host + " is down", func() { s.set(host, false) }},
			{m(to), host + " is back", func() { s.set(host, true) }},
		}
	}
	dir := ""
	restart := soakAction{m(15), "daemon restarts", func() { s.up(s.down()) }}
	kill := func(at float64) soakAction {
		return soakAction{m(at) + 3*time.Second, "kill -9, restart at once", func() { s.up(s.kill()) }}
	}
	return [][]soakAction{
		{restart},
		{kill(8)},
		cut(10, 30, prometheusHost),
		cut(6, 26, alertmanagerHost),
		cut(3, 20, slackHost),
		cut(33, 52, alertmanagerHost),
		{kill(6.5)},
		{
			{m(38), "kill -9", func() { dir = s.kill() }},
			// Alertmanager ends alerts that nobody repeats for four minutes.
			{m(41), "daemon is back", func() { s.up(dir) }},
		},
		{{m(12), "Alertmanager restarts", func() { s.alerts.Stop(); s.alerts.Start() }}},
		{
			{m(4), "Slack limits the rate and loses answers", func() {
				s.slack.LimitRate("chat.postMessage", 20*time.Second, 2)
				s.slack.LoseAnswers("chat.update", 1)
			}},
			{m(20), "Slack answers 500", func() { s.slack.Fail("", "500", 3) }},
		},
		{{m(14), "reload", func() { require.NoError(s.t, s.daemon.reload()) }}},
		cut(33, 50, slackHost),
		slices.Concat(cut(12, 17, prometheusHost), cut(12, 18, slackHost), cut(12, 16, alertmanagerHost), []soakAction{
			{m(12), "kill -9 of the daemon", func() { dir = s.kill() }},
			{m(14), "the daemon is back before the others", func() { s.up(dir) }},
		}),
	}
}

// soakPlan injects the faults and returns them.
func soakPlan(s *soak) []soakFault {
	var plan []soakFault
	hours := int(soakFor.Hours())
	for hour := 1; hour <= hours-2; hour++ {
		at := time.Duration(hour) * time.Hour
		from, to := at+5*time.Minute, at+35*time.Minute
		if hour%10 == 9 { // a job hangs, nobody can say why
			job := s.cluster.Job(1)
			s.cluster.Inject(sim.Fault{Name: "hang", Start: from.Seconds(), At: []sim.Action{
				{At: 0, Do: func(*sim.Cluster) { job.Hang() }}, {At: 900, Do: func(*sim.Cluster) { job.Resume() }},
			}})
			plan = append(plan, soakFault{from: from, to: from + 15*time.Minute, class: "collective_stall", title: "stall", job: job.Spec.ID})
			continue
		}
		for n := range 1 + hour/14%2 { // some hours have two at once
			kind := soakKinds[(hour-1+3*n)%len(soakKinds)]
			if len(kind.also) > 0 && hour > hours-5 {
				kind = soakKinds[1] // there is no time left for what latches for an hour and more
			}
			host := (hour*137 + n*477 + 29) % *soakHosts
			s.cluster.Inject(kind.make(host, from.Seconds(), to.Seconds()))
			plan = append(plan, soakFault{from: from, to: to, class: kind.class, title: kind.title, node: s.cluster.Hosts[host].Name, also: kind.also})
		}
		if hour%10 == 0 {
			s.cluster.Gap(at+15*time.Minute, at+25*time.Minute) // scrapes that never were
		}
	}
	return plan
}

// through lets the time pass.
func (s *soak) through() {
	time.Sleep(soakHistory)
	s.up(filepath.Join(s.dir, "state"))
	var all []soakAction
	trouble := soakTrouble(s)
	for hour := 1; hour < int(soakFor.Hours()); hour++ {
		at := time.Duration(hour) * time.Hour
		for _, a := range trouble[(hour-1)%len(trouble)] {
			a.at += at
			all = append(all, a)
		}
		all = append(all, soakAction{at + 59*time.Minute, "", s.measure})
	}
	slices.SortStableFunc(all, func(a, b soakAction) int { return cmp.Compare(a.at, b.at) })
	for _, a := range all {
		time.Sleep(time.Until(s.start.Add(a.at)))
		if a.what != "" {
			s.t.Logf("%s: %s", clockOf(a.at), a.what)
		}
		a.do()
	}
}

func clockOf(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60)
}
