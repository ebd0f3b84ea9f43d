package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/incidents/state"
)

func explainCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("explain", "Print the evidence of an incident, from the daemon's state.")
	id := cmd.Arg("incident", "Its id, or the first letters of it. Without one, all open incidents are listed.").String()
	path := configFlag(cmd, defaultConfig)
	return cmd.FullCommand(), func(_ context.Context, e *env) error {
		// The state tells; whoever asks need not be able to read the secrets.
		cfg, err := loadConfig(*path, config.SkipFiles())
		if err != nil {
			return err
		}
		m := incidents.NewManager(incidentOptions(cfg))
		if err := readIncidents(cfg, m); err != nil {
			return fmt.Errorf("explain: %w", err)
		}
		r := renderer(cfg)
		if *id == "" {
			listIncidents(e.stdout, m, &r)
			return nil
		}
		found, err := findIncident(m, *id)
		if err != nil {
			return err
		}
		explain(e.stdout, found, &r)
		return nil
	}
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

func findIncident(m *incidents.Manager, id string) (*incidents.Incident, error) {
	var found *incidents.Incident
	for _, inc := range allIncidents(m) {
		if !strings.HasPrefix(inc.ID, strings.ToUpper(id)) {
			continue
		}
		if found != nil && found.ID != inc.ID {
			return nil, fmt.Errorf("explain: %q is the beginning of more than one id", id)
		}
		found = &inc
	}
	if found == nil {
		return nil, fmt.Errorf("explain: no incident %q; call without an id for a list", id)
	}
	return found, nil
}

func listIncidents(w io.Writer, m *incidents.Manager, r *incidents.Renderer) {
	all := m.Live()
	if len(all) == 0 {
		fmt.Fprintln(w, "no incidents")
	}
	for i := range all {
		inc := &all[i]
		fmt.Fprintf(w, "%s  %-8s %-8s %s\n", inc.ID, inc.State, inc.Severity, r.Annotations(inc)["summary"])
	}
}

// explain prints everything that decided, and the matchers for a silence.
func explain(w io.Writer, inc *incidents.Incident, r *incidents.Renderer) {
	v, notes := &inc.Verdict, r.Annotations(inc)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-11s %s\n", name, strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n            "))
		}
	}
	row("incident", inc.ID)
	row("", notes["summary"])
	row("state", inc.State.String()+held(inc))
	row("class", string(v.Class)+", reason "+v.Reason)
	row("severity", inc.Severity.String()+", confidence "+v.Confidence.String())
	row("suspect", suspectLine(inc))
	row("since", inc.StartedAt.UTC().Format(time.RFC3339))
	if !inc.ResolvedAt.IsZero() {
		row("resolved", inc.ResolvedAt.UTC().Format(time.RFC3339)+", "+string(inc.ResolveReason)+" "+inc.RecoveryText)
	}
	row("evidence", notes["evidence"])
	row("candidates", notes["candidates"])
	row("also", notes["consequences"])
	row("next step", notes["next_step"])
	row("command", notes["command"])
	row("silence", notes["silence"])
}

func held(inc *incidents.Incident) string {
	if inc.Held == "" {
		return ""
	}
	return ", not judged now: " + inc.Held
}
