package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/collwatch/collwatch/internal/ruletest"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/rules"
)

func rulesCheckCommand(app *kingpin.Application) (string, action) {
	cmd := rulesParent(app).Command("check", "Look for broken patterns in rule files, also your own; exit 3 if there are any.")
	files := cmd.Arg("file", "Rule files or PrometheusRule resources.").Required().Strings()
	format := cmd.Flag("format", "text or json.").Default("text").Enum("text", "json")
	off := cmd.Flag("disable", "Id of a lint not to run; may be repeated.").Strings()
	target := cmd.Flag("target", "Server that will load the files; by default what any of them knows is allowed.").String()
	configFile := cmd.Flag("config", "Configuration file: its sources are asked whether the metrics exist.").Envar("COLLWATCH_CONFIG").String()
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		if err := checkFlags(*off, *target); err != nil {
			return usageError(err)
		}
		contents, err := readRuleFiles(*files)
		if err != nil {
			return usageError(err)
		}
		o := rules.LintOptions{Off: *off, Target: *target}
		if *configFile != "" {
			if o.Metrics, err = metricsFor(ctx, *configFile, contents); err != nil {
				return fmt.Errorf("which series exist could not be asked: %w", err)
			}
		}
		found := []rules.Problem{}
		for i, f := range *files {
			found = append(found, rules.Lint(f, contents[i], o)...)
		}
		if *format == "json" {
			enc := json.NewEncoder(e.stdout)
			enc.SetIndent("", "  ")
			if err := enc.Encode(found); err != nil {
				return err
			}
		} else {
			for _, p := range found {
				fmt.Fprintln(e.stdout, p)
			}
		}
		if len(found) > 0 {
			return &exitError{code: exitFindings}
		}
		return nil
	}
}

func checkFlags(off []string, target string) error {
	var errs []error
	for _, id := range off {
		if !slices.Contains(rules.LintIDs(), id) {
			errs = append(errs, fmt.Errorf("no lint %q to disable; there are %s", id, strings.Join(rules.LintIDs(), ", ")))
		}
	}
	if target != "" {
		_, err := rules.FindProfile(target)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// readRuleFiles reads all files or none, each not further than a rule file may
// go.
func readRuleFiles(files []string) ([][]byte, error) {
	const most = 16<<20 + 1 // one more than the linter takes
	var out [][]byte
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("rule file: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(f, most))
		_ = f.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("rule file: %w", err)
		}
		out = append(out, data)
	}
	return out, nil
}

// metricsFor asks the sources for all names of metrics, and adds those that the
// files record.
func metricsFor(ctx context.Context, configFile string, contents [][]byte) ([]string, error) {
	cfg, err := loadConfig(configFile)
	if err != nil {
		return nil, err
	}
	sources, err := liveSources(cfg, prometheus.NewRegistry())
	if err != nil {
		return nil, usageError(err)
	}
	out, now := []string{"ALERTS", "ALERTS_FOR_STATE"}, time.Now()
	for _, q := range sources {
		found, err := q.LabelValues(ctx, "__name__", nil, promapi.Window{Start: now.Add(-time.Hour), End: now})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	for _, data := range contents {
		out = append(out, rules.Recorded(data)...)
	}
	return out, nil
}

func rulesTestCommand(app *kingpin.Application) (string, action) {
	cmd := rulesParent(app).Command("test", "Run generated unit tests in this process; exit 3 if one fails.")
	files := cmd.Arg("file", "Unit-test files; those of ./rules/tests by default.").Strings()
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		list := *files
		if len(list) == 0 {
			list, _ = filepath.Glob(filepath.Join("rules", "tests", "*_test.yaml"))
		}
		if len(list) == 0 {
			return usageError(errors.New("no unit-test files: name some, or generate them first"))
		}
		bad := 0
		for _, f := range list {
			n, failures, err := ruletest.Run(ctx, f)
			if err != nil {
				return err
			}
			for _, x := range failures {
				fmt.Fprintf(e.stdout, "%s: %s\n", f, x)
			}
			bad += len(failures)
			fmt.Fprintf(e.stderr, "%s: %d tests, %d failures\n", f, n, len(failures))
		}
		if bad > 0 {
			return &exitError{code: exitFindings}
		}
		return nil
	}
}
