package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/internal/ruletest"
	"github.com/collwatch/collwatch/rules"
)

func rulesCheckCommand(app *kingpin.Application) (string, action) {
	cmd := rulesParent(app).Command("check", "Look for broken patterns in rule files, also your own; exit 3 if there are any.")
	files := cmd.Arg("file", "Rule files or PrometheusRule resources.").Required().Strings()
	format := cmd.Flag("format", "text or json.").Default("text").Enum("text", "json")
	off := cmd.Flag("disable", "Id of a lint not to run; may be repeated.").Strings()
	return cmd.FullCommand(), func(_ context.Context, e *env) error {
		found := []rules.Problem{}
		for _, f := range *files {
			data, err := os.ReadFile(f)
			if err != nil {
				return usageError(fmt.Errorf("rule file: %w", err))
			}
			found = append(found, rules.Lint(f, data, *off...)...)
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

func rulesTestCommand(app *kingpin.Application) (string, action) {
	cmd := rulesParent(app).Command("test", "Run generated unit tests in this process; exit 3 if one fails.")
	files := cmd.Arg("file", "Unit-test files; those of ./rules/tests by default.").Strings()
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		list := *files
		if len(list) == 0 {
			list, _ = filepath.Glob(filepath.Join("rules", "tests", "*_test.yaml")) //nolint:errcheck // the pattern is a constant
		}
		if len(list) == 0 {
			return usageError(fmt.Errorf("no unit-test files: name some, or generate them first"))
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
