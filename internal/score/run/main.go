package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/internal/score"
)

// gcPercent trades memory for time, up to memoryLimit: a day of a cluster lives
// in a few hundred megabytes, a storm in gigabytes, and most of it until the run
// ends.
const (
	gcPercent   = 400
	memoryLimit = 4 << 30
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	os.Exit(run(os.Args[1:], os.Stderr))
}

// settings are the flags.
type settings struct {
	out, failures, results, code, only, command string
	seeds, ablation, telemetries, days, workers int
	page                                        bool
}

func run(args []string, stderr io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("score", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&s.out, "out", "docs/score.md", "page to write")
	flags.StringVar(&s.failures, "failures", "", "file that gets one line for each run that was not fine, as they happen")
	flags.StringVar(&s.results, "results", "", "file that keeps all results; a run with the same -code goes on where it was")
	flags.StringVar(&s.code, "code", "", "what is measured, such as a revision")
	flags.StringVar(&s.command, "command", "make score", "how the page says that it was made")
	flags.IntVar(&s.seeds, "seeds", 20, "seeds per scenario and severity")
	flags.IntVar(&s.ablation, "ablation", 2, "seeds per scenario and telemetry")
	flags.IntVar(&s.telemetries, "telemetries", 0, "number of telemetries, the poorest first; 0 is all")
	flags.IntVar(&s.days, "days", 400, "simulated days in which nothing is wrong, per kind of cluster")
	flags.IntVar(&s.workers, "workers", 2, "runs at a time")
	flags.BoolVar(&s.page, "page", false, "write the page of the results so far and measure nothing")
	flags.StringVar(&s.only, "only", "", "scenario ids, separated by commas; empty is all")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, s, stderr); err != nil {
		fmt.Fprintf(stderr, "score: %v\n", err)
		return 1
	}
	return 0
}

func measure(ctx context.Context, s settings, stderr io.Writer) error {
	if err := writable(s.out); err != nil {
		return err
	}
	failures := io.Discard
	if s.failures != "" {
		f, err := os.Create(s.failures)
		if err != nil {
			return fmt.Errorf("list of failures: %w", err)
		}
		defer func() { _ = f.Close() }()
		failures = f
	}
	ledger, err := score.OpenLedger(cmp.Or(s.results, os.DevNull), s.code)
	if err != nil {
		return err
	}
	defer func() { _ = ledger.Close() }()

	cases := planned(s)
	page := score.Page{Command: s.command, Code: s.code, Planned: len(cases)}
	put := func(r score.Record) {
		page.Add(r)
		if v := &r.Verdict; !v.OK() {
			fmt.Fprintf(failures, "%s: expected %s; got %s\n", v.Name, v.Expected, v.Got())
		}
		if n := page.Runs(); n%50 == 0 {
			fmt.Fprintf(stderr, "%d of %d runs\n", n, len(cases))
		}
	}
	todo := slices.DeleteFunc(cases, func(c score.Case) bool {
		r, ok := ledger.Done(c)
		if ok {
			put(r)
		}
		return ok
	})
	if s.page {
		todo = nil
	}
	err = score.PlayAll(ctx, todo, s.workers, func(o *score.Outcome) error {
		r := score.Score(o)
		put(r)
		return ledger.Add(r)
	})
	if err != nil && ctx.Err() == nil {
		return err
	}
	if page.Real, err = score.Recordings(); err != nil {
		return err
	}
	return write(s.out, &page)
}

// planned are the runs that were asked for, the first rounds of all scenarios
// first.
func planned(s settings) []score.Case {
	cases := slices.Concat(score.Cases(s.seeds), score.Days(s.days), score.Ablations(s.ablation, s.telemetries))
	slices.SortStableFunc(cases, func(a, b score.Case) int { return a.Round - b.Round })
	return pick(cases, s.only)
}

// writable opens the page and leaves it as it is: a night of work must not end in
// one that cannot be written.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return f.Close()
}

func write(path string, page *score.Page) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if err := errors.Join(page.Write(f), f.Close()); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

func pick(cases []score.Case, only string) []score.Case {
	if only == "" {
		return cases
	}
	ids := strings.Split(only, ",")
	return slices.DeleteFunc(cases, func(c score.Case) bool { return !slices.Contains(ids, c.Scenario.ID) })
}
