package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/internal/compare"
)

// compareFlags are the flags of the compare command.
type compareFlags struct {
	data                 *dataFlags
	baseline, candidate  *string
	failOn, format, file *string
	seed                 *uint64
}

func compareCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("compare", "Compare the communication of two jobs or times. Exit code 3 on a regression.")
	f := compareFlags{
		data:      newDataFlags(cmd, "compare"),
		baseline:  cmd.Flag("baseline", "Job, FROM..TO, JOB@FROM..TO or a file of \"baseline save\".").PlaceHolder("JOB|RANGE|FILE").Required().String(),
		candidate: cmd.Flag("candidate", "Job, FROM..TO or JOB@FROM..TO.").PlaceHolder("JOB|RANGE").Required().String(),
		failOn:    cmd.Flag("fail-on", "Least change for the worse that is a regression.").Default("5%").String(),
		format:    cmd.Flag("format", "text, json, junit, markdown or html.").Default("text").Enum("text", "json", "junit", "markdown", "html"),
		file:      cmd.Flag("out", "Write there instead of standard output.").PlaceHolder("FILE").String(),
		seed:      cmd.Flag("seed", "Seed of the bootstrap.").Default("1").Uint64(),
	}
	return cmd.FullCommand(), func(ctx context.Context, e *env) error { return runCompare(ctx, e, &f) }
}

// parsePercent reads "5%" or "0.05".
func parsePercent(s string) (float64, error) {
	body, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(body), 64)
	if percent {
		v /= 100
	}
	if err != nil || math.IsNaN(v) || v <= 0 || v >= 1 {
		return 0, fmt.Errorf("%q is no share between 0 and 100 %%: write 5%% or 0.05", s)
	}
	return v, nil
}

func runCompare(ctx context.Context, e *env, f *compareFlags) error {
	failOn, err := parsePercent(*f.failOn)
	if err != nil {
		return usageError(fmt.Errorf("compare: --fail-on: %w", err))
	}
	base, err := parseOperand(*f.baseline, true)
	if err != nil {
		return usageError(fmt.Errorf("compare: --baseline: %w", err))
	}
	cand, err := parseOperand(*f.candidate, false)
	if err != nil {
		return usageError(fmt.Errorf("compare: --candidate: %w", err))
	}
	if err := checkOut(*f.file); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	records := [2]*compare.Record{}
	if base.file != "" { // before anything long, as the place to write to
		if records[0], err = readSaved(base.file); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
	}
	cfg, p, err := f.data.open(ctx, e)
	if err != nil {
		return err
	}
	defer p.close()
	find := newSearch(cfg, p, *f.data.search, time.Now())
	sides := []operand{base, cand}
	for i := range sides { // before anything long: a wrong name is told at once
		if sides[i].span, err = find.spanOf(ctx, p, sides[i]); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
	}
	bar := newProgress(e.stderr)
	for i, o := range sides {
		if records[i] != nil {
			continue
		}
		if records[i], err = readOperand(ctx, cfg, p, o, bar); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
	}
	res := compare.Compare(records[0], records[1], compare.Settings{FailOn: failOn, Seed: *f.seed})
	if err := output(e, *f.file, func(w io.Writer) error { return compareFormats[*f.format](w, res) }); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if *f.file != "" {
		fmt.Fprintf(e.stderr, "%s: %s\n", res.Verdict, res.Why)
	}
	if res.Verdict == compare.Regression {
		return &exitError{code: exitFindings}
	}
	return nil
}

var compareFormats = map[string]func(io.Writer, *compare.Result) error{
	"text": compare.WriteText, "json": compare.WriteJSON, "junit": compare.WriteJUnit, "markdown": compare.WriteMarkdown, "html": compare.WriteHTML,
}
