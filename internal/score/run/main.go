// Command run measures the daemon on simulated clusters and writes the result.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/collwatch/collwatch/internal/score"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("score", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "docs/score.md", "page to write")
	failures := flags.String("failures", "", "file that gets one line for each run that was not fine, as they happen")
	seeds := flags.Int("seeds", 20, "seeds per scenario and severity")
	ablation := flags.Int("ablation", 2, "seeds per scenario and telemetry")
	days := flags.Int("days", 10, "simulated days in which nothing is wrong, per kind of cluster")
	workers := flags.Int("workers", 2, "runs at a time")
	only := flags.String("only", "", "scenario ids, separated by commas; empty is all")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *out, *failures, *seeds, *ablation, *days, *workers, *only, stderr); err != nil {
		fmt.Fprintf(stderr, "score: %v\n", err)
		return 1
	}
	return 0
}

func measure(ctx context.Context, out, failures string, seeds, ablation, days, workers int, only string, stderr io.Writer) error {
	log := io.Discard
	if failures != "" {
		f, err := os.Create(failures)
		if err != nil {
			return fmt.Errorf("list of failures: %w", err)
		}
		defer func() { _ = f.Close() }()
		log = f
	}
	var all, ablated score.Tally
	for _, part := range []struct {
		tally *score.Tally
		cases []score.Case
	}{{&all, pick(append(score.Cases(seeds), score.Days(days)...), only)}, {&ablated, pick(score.Ablations(ablation), only)}} {
		done := 0
		err := score.PlayAll(ctx, part.cases, workers, func(o *score.Outcome) {
			v := part.tally.Add(o)
			if done++; done%50 == 0 {
				fmt.Fprintf(stderr, "%d of %d runs\n", done, len(part.cases))
			}
			if !v.OK() {
				fmt.Fprintf(log, "%s: expected %s; got %s\n", v.Case, v.Expected, v.Got())
			}
		})
		if err != nil {
			return err
		}
	}
	f, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if err := score.Report(f, &all, &ablated, seeds, "make score"); err != nil {
		_ = f.Close()
		return fmt.Errorf("result: %w", err)
	}
	return f.Close()
}

func pick(cases []score.Case, only string) []score.Case {
	if only == "" {
		return cases
	}
	var out []score.Case
	for _, c := range cases {
		for id := range strings.SplitSeq(only, ",") {
			if c.Scenario.ID == id {
				out = append(out, c)
			}
		}
	}
	return out
}
