package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/report"
)

// reportFlags are the flags of the report command.
type reportFlags struct {
	data          *dataFlags
	job, from, to *string
	format, file  *string
	interval      *time.Duration
}

func reportCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("report", "One page about a job: communication over time, costs, who came late, incidents, what to change first.")
	f := reportFlags{
		data:     newDataFlags(cmd, "report"),
		job:      cmd.Flag("job", "Job to report on.").PlaceHolder("JOB").Required().String(),
		from:     cmd.Flag("from", "Begin, RFC 3339 or Unix seconds. Without it, the job's begin.").PlaceHolder("T").String(),
		to:       cmd.Flag("to", "End. Without it, the job's end.").PlaceHolder("T").String(),
		interval: cmd.Flag("interval", "Time between evaluations; without it that of the configuration, longer for long jobs.").PlaceHolder("15s").Duration(),
		format:   cmd.Flag("format", "html or markdown.").Default("html").Enum("html", "markdown"),
		file:     cmd.Flag("out", "Write there instead of standard output.").PlaceHolder("FILE").String(),
	}
	return cmd.FullCommand(), func(ctx context.Context, e *env) error { return runReport(ctx, e, &f) }
}

func runReport(ctx context.Context, e *env, f *reportFlags) error {
	var within operand
	var err error
	if within.from, err = optionalInstant(*f.from); err != nil {
		return usageError(fmt.Errorf("report: --from: %w", err))
	}
	if within.to, err = optionalInstant(*f.to); err != nil {
		return usageError(fmt.Errorf("report: --to: %w", err))
	}
	if err := checkOut(*f.file); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	cfg, p, err := f.data.open(ctx, e)
	if err != nil {
		return err
	}
	defer p.close()
	s, err := reportSpan(ctx, cfg, p, f, within)
	if err != nil {
		return err
	}
	cfg.Global.Interval = config.Duration(reportStep(s, cfg.Global.Interval.Std(), *f.interval))
	r, err := makeReport(ctx, cfg, p, *f.job, s, newProgress(e.stderr))
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	write := r.WriteHTML
	if *f.format == "markdown" {
		write = r.WriteMarkdown
	}
	if err := output(e, *f.file, func(w io.Writer) error { return write(w) }); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func optionalInstant(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return instant(s)
}

// reportSpan is the job's own time, cut by --from and --to. With both it is not
// looked for.
func reportSpan(ctx context.Context, cfg *config.Config, p *past, f *reportFlags, within operand) (span, error) {
	s := span{from: within.from, to: within.to}
	if s.from.IsZero() || s.to.IsZero() {
		found, err := newSearch(cfg, p, *f.data.search, time.Now()).find(ctx, p, *f.job)
		if err != nil {
			return s, fmt.Errorf("report: %w", err)
		}
		if s.from.IsZero() {
			s.from, s.starts = found.from, found.starts
		}
		if s.to.IsZero() {
			s.to = found.to
		}
	}
	if !s.to.After(s.from) {
		return s, usageError(fmt.Errorf("report: the time ends at %s, before it begins at %s", s.to.UTC().Format(time.RFC3339), s.from.UTC().Format(time.RFC3339)))
	}
	return s, nil
}

// maxTicks bounds the evaluations of a report. Pending times are times, not
// counts, so a longer interval finds the same faults a little later.
const maxTicks = 1440

func reportStep(s span, configured, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	const grid = 15 * time.Second
	step := max(configured, s.to.Sub(s.from)/maxTicks)
	return (step + grid - 1) / grid * grid
}

// makeReport reads what the page needs of the cluster. Hosts that the job turns out
// to use, though nobody knew, are near: then it reads once more.
func makeReport(ctx context.Context, cfg *config.Config, p *past, job string, s span, bar *progress) (*report.Report, error) {
	opts, err := assembleOptions(cfg)
	if err != nil {
		return nil, usageError(err)
	}
	if s.to.Sub(s.from) < worthSurvey {
		return readReport(ctx, cfg, p, job, s, nil, bar)
	}
	around, err := survey(ctx, opts.signals, opts.topology, p, job, s)
	if err != nil {
		return nil, err
	}
	for {
		r, err := readReport(ctx, cfg, p, job, s, around.leave(around.around(job), elsewhere, maxFar(cfg)), bar)
		if !around.met(err) {
			return r, err
		}
	}
}

// readReport replays the engine over the span and looks over its shoulder.
func readReport(ctx context.Context, cfg *config.Config, p *past, job string, s span, left *leftOut, bar *progress) (*report.Report, error) {
	c := report.NewCollector(job, s.from, s.to, cfg.Signals.Dump.Std(), cfg.Global.Interval.Std())
	if left != nil {
		c.Read(left.hosts-len(left.unread), left.hosts)
	}
	bar.begin("reading job "+job, s)
	found, a, err := watch(ctx, cfg, p, s, left, func(t engine.Tick) error {
		bar.at(t.At)
		if t.Err != nil {
			c.Failed()
			return nil //nolint:nilerr // a failed evaluation concludes nothing, and the page says so
		}
		c.Observe(t.Snapshot)
		return left.strays(job, t.Snapshot.Jobs)
	})
	bar.end()
	if err != nil {
		return nil, err
	}
	for i := range found {
		if concerns(&found[i], job, left) {
			c.Add(pageIncident(&found[i], &a.opts.renderer))
		}
	}
	return c.Report(), nil
}

// concerns says that an incident harmed the job, or harmed no job in particular. Of
// the latter those on hosts elsewhere are left out where most hosts are.
func concerns(i *incidents.Incident, job string, left *leftOut) bool {
	if i.Verdict.Job == job || slices.Contains(i.Jobs, job) {
		return true
	}
	if i.Verdict.Job != "" || len(i.Jobs) > 0 {
		return false
	}
	hosts := slices.Clone(i.Verdict.Hosts)
	for _, s := range slices.Concat(i.Verdict.Suspects, i.Verdict.Candidates) {
		if s.Node != "" {
			hosts = append(hosts, s.Node)
		}
	}
	return left == nil || len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool { return left.near[h] })
}

func pageIncident(i *incidents.Incident, r *incidents.Renderer) report.Incident {
	notes := r.Annotations(i)
	var named []string
	for _, s := range i.NamedSuspects() {
		named = append(named, incidents.SuspectText(s))
	}
	return report.Incident{
		ID: i.ID, From: i.StartedAt, To: i.ResolvedAt, Class: string(i.Verdict.Class), Severity: i.Severity.String(),
		Confidence: i.Verdict.Confidence.String(), Summary: notes["summary"], Suspect: strings.Join(named, ", "),
		NextStep: notes["next_step"], Owner: string(i.Verdict.Owner),
	}
}
