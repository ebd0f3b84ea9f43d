package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/incidents/state"
)

func explainCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("explain", "Print the evidence of an incident, from the daemon's state or over HTTP.")
	id := cmd.Arg("incident", "Its id, or the first letters of it. Without one, all open incidents are listed.").String()
	path := configFlag(cmd, defaultConfig)
	daemon := cmd.Flag("url", "Ask the daemon whose pages are at this address, and read no configuration.").PlaceHolder("http://HOST:9876").String()
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		all, err := explanations(ctx, *path, *daemon)
		if err != nil {
			return err
		}
		if *id == "" {
			listIncidents(e.stdout, all)
			return nil
		}
		found, err := findIncident(all, *id)
		if err != nil {
			return err
		}
		found.print(e.stdout)
		return nil
	}
}

// explanations are all incidents, from a daemon if there is an address, or else
// from the state that the configuration names.
func explanations(ctx context.Context, path, daemon string) ([]explanation, error) {
	if daemon != "" {
		return askIncidents(ctx, daemon)
	}
	// The state tells; whoever asks need not be able to read the secrets.
	cfg, err := loadConfig(path, config.SkipFiles())
	if err != nil {
		return nil, err
	}
	m := incidents.NewManager(incidentOptions(cfg))
	if err := readIncidents(cfg, m); err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	r := renderer(cfg)
	var out []explanation
	for _, inc := range allIncidents(m) {
		out = append(out, explanationOf(&inc, r.Annotations(&inc)))
	}
	return out, nil
}

// readIncidents restores the incidents that a daemon has left in its state.
func readIncidents(cfg *config.Config, m *incidents.Manager) error {
	err := state.Read(cfg.Global.StateDir, incidentsFile, incidents.Schema, m.Restore)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: no daemon has run with this global.state_dir, or in another working directory", err)
	}
	return err
}

func allIncidents(m *incidents.Manager) []incidents.Incident {
	return append(append(m.Live(), m.Ended()...), m.Past()...)
}

func findIncident(all []explanation, id string) (*explanation, error) {
	var found *explanation
	for i := range all {
		x := &all[i]
		if !strings.HasPrefix(x.id, strings.ToUpper(id)) {
			continue
		}
		if found != nil && found.id != x.id {
			return nil, fmt.Errorf("explain: %q is the beginning of more than one id", id)
		}
		found = x
	}
	if found == nil {
		return nil, fmt.Errorf("explain: no incident %q; call without an id for a list", id)
	}
	return found, nil
}

func listIncidents(w io.Writer, all []explanation) {
	live := slices.DeleteFunc(all, func(x explanation) bool { return x.state == incidents.Resolved.String() })
	if len(live) == 0 {
		fmt.Fprintln(w, "no incidents")
	}
	for _, x := range live {
		fmt.Fprintf(w, "%s  %-8s %-8s %s\n", x.id, x.state, x.severity, x.notes["summary"])
	}
}

// explanation is what is printed of an incident.
type explanation struct {
	id, state, held, class, reason string
	severity, confidence, suspects string
	started, resolved              time.Time // resolved is zero while it lasts
	resolveReason, recovery        string
	notes                          map[string]string // annotations of its alert
}

func explanationOf(inc *incidents.Incident, notes map[string]string) explanation {
	v := &inc.Verdict
	return explanation{
		id: inc.ID, state: inc.State.String(), held: inc.Held, class: string(v.Class), reason: v.Reason,
		severity: inc.Severity.String(), confidence: v.Confidence.String(), suspects: suspectLine(inc),
		started: inc.StartedAt, resolved: inc.ResolvedAt, resolveReason: string(inc.ResolveReason), recovery: inc.RecoveryText, notes: notes,
	}
}

// print writes everything that decided, and the matchers for a silence.
func (x *explanation) print(w io.Writer) {
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-11s %s\n", name, strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n            "))
		}
	}
	row("incident", x.id)
	row("", x.notes["summary"])
	if x.held == "" {
		row("state", x.state)
	} else {
		row("state", x.state+", not judged now: "+x.held)
	}
	row("class", x.class+", reason "+x.reason)
	row("severity", x.severity+", confidence "+x.confidence)
	row("suspect", x.suspects)
	row("since", x.started.UTC().Format(time.RFC3339))
	if !x.resolved.IsZero() {
		row("resolved", x.resolved.UTC().Format(time.RFC3339)+", "+x.resolveReason+" "+x.recovery)
	}
	row("evidence", x.notes["evidence"])
	row("candidates", x.notes["candidates"])
	row("also", x.notes["consequences"])
	row("next step", x.notes["next_step"])
	row("command", x.notes["command"])
	row("silence", x.notes["silence"])
}
