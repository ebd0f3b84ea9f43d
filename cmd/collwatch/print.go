package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/collwatch/collwatch/incidents"
)

// eventPrinter writes events as JSON lines or as text for people.
type eventPrinter struct {
	out      io.Writer
	format   string
	renderer *incidents.Renderer

	opened, resolved int
}

func (p *eventPrinter) print(events []incidents.Event) error {
	for i := range events {
		ev := &events[i]
		switch {
		case !ev.Incident.Announced: // in shadow or only recorded: nobody is told
		case ev.Kind == incidents.EventOpen:
			p.opened++
		case ev.Kind == incidents.EventResolve:
			p.resolved++
		}
		if p.format == "text" {
			p.text(ev)
			continue
		}
		line, err := ev.MarshalReplay(p.renderer)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(p.out, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

func (p *eventPrinter) text(ev *incidents.Event) {
	inc := &ev.Incident
	notes := p.renderer.Annotations(inc)
	fmt.Fprintf(p.out, "%s  %-7s  %s  %s/%s  confidence %s\n", ev.Time.UTC().Format(time.RFC3339), ev.Kind,
		inc.Severity, inc.Verdict.Class, inc.Verdict.Reason, inc.Verdict.Confidence)
	indent := func(text string) {
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			fmt.Fprintf(p.out, "    %s\n", line)
		}
	}
	indent(notes["summary"])
	if inc.Withheld != incidents.NotWithheld {
		indent("not sent: " + inc.WithheldText)
	}
	if ev.Kind == incidents.EventResolve {
		if inc.RecoveryText != "" {
			indent(inc.RecoveryText)
		}
		return
	}
	for _, e := range inc.Verdict.Evidence {
		indent("- " + e.Text)
	}
	if next := notes["next_step"]; next != "" {
		indent("next: " + next)
	}
}
