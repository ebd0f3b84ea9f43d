package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"

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
		return c.WriteText(e.stdout)
	}
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
