package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func shadowCommand(app *kingpin.Application) (string, action) {
	parent := app.Command("shadow", "Classes that are tried out: evaluated and recorded, not sent.")
	cmd := parent.Command("report", "Say what the classes in shadow would have sent, from the daemon's state.")
	path := configFlag(cmd, defaultConfig)
	class := cmd.Flag("class", "Only this class.").String()
	return cmd.FullCommand(), func(_ context.Context, e *env) error {
		// The state tells; whoever asks need not be able to read the secrets.
		cfg, err := loadConfig(*path, config.SkipFiles())
		if err != nil {
			return err
		}
		if *class != "" && !slices.Contains(diagnosis.Classes(), diagnosis.Class(*class)) {
			return usageError(fmt.Errorf("shadow report: %q is no class", *class))
		}
		m := incidents.NewManager(incidentOptions(cfg))
		if err := readIncidents(cfg, m); err != nil {
			return fmt.Errorf("shadow report: %w", err)
		}
		r := renderer(cfg)
		reportShadow(e.stdout, shadowed(m, diagnosis.Class(*class)), &r)
		return nil
	}
}

// shadowed returns the incidents that were kept back because their class is in
// shadow, by class and then by time. What was pending only would not have been
// sent either.
func shadowed(m *incidents.Manager, only diagnosis.Class) []incidents.Incident {
	out := slices.DeleteFunc(allIncidents(m), func(inc incidents.Incident) bool {
		return inc.Withheld != incidents.InShadow || !inc.Noted || only != "" && inc.Verdict.Class != only
	})
	slices.SortFunc(out, func(a, b incidents.Incident) int {
		return cmp.Or(cmp.Compare(a.Verdict.Class, b.Verdict.Class), a.FiredAt.Compare(b.FiredAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// reportShadow prints the alerts that would have been sent, by class.
func reportShadow(w io.Writer, all []incidents.Incident, r *incidents.Renderer) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no class in shadow would have sent anything")
		return
	}
	for len(all) > 0 {
		class := all[0].Verdict.Class
		n := slices.IndexFunc(all, func(inc incidents.Incident) bool { return inc.Verdict.Class != class })
		if n < 0 {
			n = len(all)
		}
		bySeverity := map[diagnosis.Severity]int{}
		for i := range all[:n] {
			bySeverity[all[i].Severity]++
		}
		fmt.Fprintf(w, "%s would have sent %d: %d critical, %d warning, %d info\n", class, n,
			bySeverity[diagnosis.Critical], bySeverity[diagnosis.Warning], bySeverity[diagnosis.Info])
		for i := range all[:n] {
			inc := &all[i]
			fmt.Fprintf(w, "  %s  %-8s  %-9s  %s\n", inc.FiredAt.UTC().Format(time.RFC3339), inc.Severity, lasted(inc), r.Annotations(inc)["summary"])
		}
		all = all[n:]
	}
}

// lasted is how long an incident was open, or that it still is.
func lasted(inc *incidents.Incident) string {
	if inc.ResolvedAt.IsZero() {
		return inc.State.String()
	}
	return incidents.Span(inc.ResolvedAt.Sub(inc.FiredAt))
}
