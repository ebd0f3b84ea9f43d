package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/version"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/rules"
	"github.com/collwatch/collwatch/signals"
)

// rulesFlags are the flags of collwatch rules generate.
type rulesFlags struct {
	config, target, format, out string
	classes                     []string
	check, all, force           bool
}

// rulesParent is the command that the rules commands hang on; the first that is
// registered makes it.
func rulesParent(app *kingpin.Application) *kingpin.CmdClause {
	if cmd := app.GetCommand("rules"); cmd != nil {
		return cmd
	}
	return app.Command("rules", "PromQL rule files from the same knowledge as the daemon's.")
}

func rulesGenerateCommand(app *kingpin.Application) (string, action) {
	cmd := rulesParent(app).Command("generate", "Write recording rules, alerting rules and their unit tests.")
	var f rulesFlags
	cmd.Flag("config", "Configuration file. Without one the defaults are taken, and all rules are written.").Envar("COLLWATCH_CONFIG").StringVar(&f.config)
	cmd.Flag("target", "Server that will load the rules: prometheus-2, prometheus-3, thanos, mimir or victoriametrics.").StringVar(&f.target)
	cmd.Flag("format", "file, or crd for a PrometheusRule resource.").EnumVar(&f.format, "file", "crd")
	cmd.Flag("classes", "Classes of fault, separated by commas; all by default.").StringsVar(&f.classes)
	cmd.Flag("out", "Folder to write to, or - for one file on standard output.").StringVar(&f.out)
	cmd.Flag("check", "Write nothing; exit 3 if the folder is not what would be written.").BoolVar(&f.check)
	cmd.Flag("all", "Rules for series that the source does not have too.").BoolVar(&f.all)
	cmd.Flag("force", "Overwrite files that were edited by hand.").BoolVar(&f.force)
	return cmd.FullCommand(), func(ctx context.Context, e *env) error { return generateRules(ctx, e, f) }
}

func generateRules(ctx context.Context, e *env, f rulesFlags) error {
	opts, dir, err := ruleOptions(ctx, f)
	if err != nil {
		return err
	}
	out, err := rules.Generate(opts)
	if out != nil {
		for _, l := range out.Left {
			fmt.Fprintf(e.stderr, "not generated: %s\n", l)
		}
	}
	switch {
	case errors.Is(err, rules.ErrNothing):
		return err
	case err != nil:
		return usageError(err)
	case dir == "-":
		_, err := e.stdout.Write(out.Files[0].Data)
		return err
	case f.check:
		return checkRules(e, out, dir)
	}
	if err := rules.Write(out, dir, f.force); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "%d alerts on %d recorded series in %d files in %s\n", out.Alerts, out.Recordings, len(out.Files), dir)
	return nil
}

func checkRules(e *env, out *rules.Output, dir string) error {
	diffs, err := rules.Compare(out, dir)
	if err != nil {
		return err
	}
	for _, d := range diffs {
		fmt.Fprintf(e.stdout, "%s: %s\n", d.File, d.Why)
	}
	if len(diffs) > 0 {
		return &exitError{code: exitFindings}
	}
	return nil
}

// ruleOptions puts the configuration, the flags and what exists together.
func ruleOptions(ctx context.Context, f rulesFlags) (opts rules.Options, dir string, err error) {
	cfg, sourced := config.Default(), false
	if f.config != "" {
		loaded, err := loadConfig(f.config)
		if err != nil {
			return opts, "", err
		}
		cfg, sourced = *loaded, true
	}
	opts, dir = rules.FromConfig(&cfg), cfg.Rules.Dir
	opts.Version = version.Version
	if f.target != "" {
		opts.Target = f.target
	}
	if f.format != "" {
		opts.CRD = f.format == "crd"
	}
	if f.out != "" {
		dir = f.out
	}
	opts.Single = dir == "-"
	for _, c := range f.classes {
		for name := range strings.SplitSeq(c, ",") {
			if name = strings.TrimSpace(name); name != "" {
				opts.Classes = append(opts.Classes, name)
			}
		}
	}
	if _, err := rules.FindProfile(opts.Target); err != nil {
		return opts, "", usageError(err) // before the source is asked
	}
	if !opts.Single && !f.check {
		if err := checkOutDir(dir); err != nil {
			return opts, "", fmt.Errorf("rules generate: %w", err)
		}
	}
	if sourced && cfg.Rules.OnlyCovered && !f.all {
		sources, err := liveSources(&cfg, prometheus.NewRegistry())
		if err != nil {
			return opts, "", usageError(err)
		}
		if err := askSources(ctx, sources, &opts, time.Now()); err != nil {
			return opts, "", fmt.Errorf("which series exist could not be asked, so nothing was written (--all generates without asking): %w", err)
		}
	}
	return opts, dir, nil
}

// askSources asks which of the catalogue's metrics had samples within the last
// hour, and whether they are of one cluster.
func askSources(ctx context.Context, sources map[string]promapi.Querier, opts *rules.Options, now time.Time) (err error) {
	if opts.Metrics, err = metricsOf(ctx, sources, now); err != nil || opts.Labels[clusterLabel] != "" || slices.Contains(opts.KeepLabels, clusterLabel) {
		return err
	}
	clusters, err := labelValues(ctx, sources, clusterLabel, now)
	if len(clusters) > 1 {
		opts.KeepLabels = append(slices.Clip(opts.KeepLabels), clusterLabel)
	}
	return err
}

// clusterLabel is what servers of several clusters call each of them.
const clusterLabel = "cluster"

func metricsOf(ctx context.Context, sources map[string]promapi.Querier, now time.Time) ([]string, error) {
	return labelValues(ctx, sources, "__name__", now)
}

// labelValues asks all sources for the values of a label of the catalogue's series.
func labelValues(ctx context.Context, sources map[string]promapi.Querier, label string, now time.Time) ([]string, error) {
	names := []string{rules.SelfMetric}
	for _, d := range signals.Catalogue() {
		for _, r := range d.Rules {
			name := r.Metric
			if !r.Pattern {
				name = regexp.QuoteMeta(name)
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	selector := fmt.Sprintf("{__name__=~%q}", strings.Join(slices.Compact(names), "|"))
	out := []string{}
	for _, q := range sources {
		found, err := q.LabelValues(ctx, label, []string{selector}, promapi.Window{Start: now.Add(-time.Hour), End: now})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out), ctx.Err()
}
