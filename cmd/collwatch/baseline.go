package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/internal/compare"
)

func baselineCommand(app *kingpin.Application) (string, action) {
	group := app.Command("baseline", "Keep what is normal in a file, to compare with later.")
	cmd := group.Command("save", "Write a baseline file of a job or a time.")
	data := newDataFlags(cmd, "baseline save")
	job := cmd.Flag("job", "Job to save.").PlaceHolder("JOB").String()
	within := cmd.Flag("range", "Time to save; with --job, of that job only.").PlaceHolder("FROM..TO").String()
	file := cmd.Flag("out", "File to write.").PlaceHolder("FILE").Required().String()
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		o, err := jobOrRange(*job, *within)
		if err != nil {
			return usageError(fmt.Errorf("baseline save: %w", err))
		}
		if err := checkOut(*file); err != nil {
			return fmt.Errorf("baseline save: %w", err)
		}
		cfg, p, err := data.open(ctx, e)
		if err != nil {
			return err
		}
		defer p.close()
		if o.span, err = newSearch(cfg, p, *data.search, time.Now()).spanOf(ctx, p, o); err != nil {
			return fmt.Errorf("baseline save: %w", err)
		}
		rec, err := readOperand(ctx, cfg, p, o, newProgress(e.stderr))
		if err != nil {
			return fmt.Errorf("baseline save: %w", err)
		}
		if err := output(e, *file, func(w io.Writer) error { return compare.WriteBaseline(w, rec) }); err != nil {
			return fmt.Errorf("baseline save: %w", err)
		}
		fmt.Fprintf(e.stderr, "%s: %d operations of %s\n", *file, len(rec.Rows), compare.Describe(rec))
		for _, fault := range rec.Faults {
			fmt.Fprintf(e.stderr, "warning: it was taken with an incident, which may hide what it is compared for: %s (%s)\n", fault, fault.Severity)
		}
		return nil
	}
}

// jobOrRange is the operand of two flags of which one or both are given.
func jobOrRange(job, within string) (operand, error) {
	switch {
	case job == "" && within == "":
		return operand{}, errors.New("give --job or --range")
	case within == "":
		return operand{text: job, job: job}, nil
	}
	o, err := parseOperand("range:"+within, false)
	o.text, o.job = within, job
	return o, err
}
