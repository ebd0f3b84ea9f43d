package main

import (
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/incidents/state"
)

// writeState writes the state of a daemon with link_flap in shadow, after it
// saw two flapping links, one of which recovered, a link that is down, and one
// flap too short to open: state DIR.
func writeState(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: state DIR")
	}
	m := incidents.NewManager(incidents.Options{
		Interval: 15 * time.Second, Shadow: map[diagnosis.Class]bool{diagnosis.LinkFlap: true}, LatchFor: time.Minute,
	})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	link := func(class diagnosis.Class, node string) diagnosis.Verdict {
		return diagnosis.Verdict{
			Class: class, Reason: "repeated", Severity: diagnosis.Warning, Owner: diagnosis.Infrastructure, Scope: "job",
			Job: "48213", TieSet: 1, StartedAt: at, Hosts: []string{node},
			Suspects: []diagnosis.Suspect{{Kind: "nic", Node: node, Device: "mlx5_3"}},
		}
	}
	flap, gone, down := link(diagnosis.LinkFlap, "gpu-001"), link(diagnosis.LinkFlap, "gpu-002"), link(diagnosis.LinkDown, "gpu-003")
	for n := range 400 {
		at = at.Add(15 * time.Second)
		r := &diagnosis.Result{Time: at, Whole: true, Verdicts: []diagnosis.Verdict{flap, down}}
		if n < 5 {
			r.Verdicts = append(r.Verdicts, gone)
		}
		if n == 399 {
			r.Verdicts = append(r.Verdicts, link(diagnosis.LinkFlap, "gpu-004"))
		}
		m.Apply(r)
	}
	data, err := m.Save()
	ts.Check(err)
	s, err := state.Open(state.Options{Dir: ts.MkAbs(args[0])})
	ts.Check(err)
	ts.Check(s.Save(incidentsFile, incidents.Schema, data))
	ts.Check(s.Close())
}
