package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

func coverageCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("coverage", "Say which signals exist here, in which dialect, and which diagnoses are impossible without which series.")
	path := configFlag(cmd, defaultConfig)
	format := cmd.Flag("format", "text or json.").Default("text").Enum("text", "json")
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		cfg, err := loadConfig(*path)
		if err != nil {
			return err
		}
		sources, err := liveSources(cfg, prometheus.NewRegistry())
		if err != nil {
			return usageError(err)
		}
		opts, err := signalOptions(cfg)
		if err != nil {
			return usageError(err)
		}
		c, err := look(ctx, opts, sources, time.Now().Add(-cfg.Global.QueryOffset.Std()))
		if err != nil {
			return fmt.Errorf("coverage: %w", err)
		}
		if *format == "json" {
			enc := json.NewEncoder(e.stdout)
			enc.SetIndent("", "  ")
			return enc.Encode(c)
		}
		if !seesAnything(c) {
			fmt.Fprintf(e.stderr, "%s has no series of any known exporter at %s (%s ago, global.query_offset). "+
				"Is it the server that scrapes the GPU nodes, does [signals] selector fit, and have scrapes begun?\n",
				sourceNames(cfg), c.Time.UTC().Format(time.RFC3339), cfg.Global.QueryOffset)
		}
		return c.WriteText(e.stdout)
	}
}

// seesAnything says whether any signal of the cluster is there. That targets
// are up is known of every Prometheus.
func seesAnything(c *signals.Coverage) bool {
	return slices.ContainsFunc(c.Signals, func(s signals.SignalCoverage) bool {
		return s.Dialect != "" && s.Entities > 0 && s.Signal != "target_up"
	})
}

func sourceNames(cfg *config.Config) string {
	names := make([]string, len(cfg.Sources))
	for i := range cfg.Sources {
		names[i] = cfg.Sources[i].Name
	}
	return strings.Join(names, ", ")
}

// looks is how many evaluations a coverage report needs: units are decided by
// how values move.
const looks = 3

// look reads a few evaluations that end at a time. It fails if a source could
// not be asked: a report from nothing would say that everything is missing.
func look(ctx context.Context, opts signals.Options, sources map[string]promapi.Querier, end time.Time) (*signals.Coverage, error) {
	r, err := signals.NewReader(opts, sources)
	if err != nil {
		return nil, err
	}
	end = end.Truncate(opts.Interval)
	var s *signals.Snapshot
	for i := looks - 1; i >= 0; i-- {
		s = r.Read(ctx, end.Add(-time.Duration(i)*opts.Interval))
	}
	for _, g := range s.Gaps {
		if g.Reason == "source_down" && g.Err != nil {
			return nil, g.Err
		}
	}
	return r.Coverage(), ctx.Err()
}
