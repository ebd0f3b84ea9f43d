package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// replayFlags are the flags of the replay command.
type replayFlags struct {
	command     string // for messages, "replay" if empty
	config      *string
	openmetrics *[]string
	tsdb        *string
	source      *string
	from, to    *string
	interval    *time.Duration
	format      *string
	rankMap     *string
}

// name is the command that the flags belong to.
func (f *replayFlags) name() string {
	if f.command == "" {
		return "replay"
	}
	return f.command
}

func replayCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("replay", "Run the same evaluation over the past and print what it would have said, one JSON line an event.")
	f := replayFlags{
		config:      configFlag(cmd, ""),
		openmetrics: cmd.Flag("openmetrics", "OpenMetrics text with time stamps, plain or gzip. Repeatable.").PlaceHolder("FILE").ExistingFiles(),
		tsdb:        cmd.Flag("tsdb", "Data folder of a Prometheus that is not running, or a copy.").PlaceHolder("DIR").ExistingDir(),
		source:      cmd.Flag("source", "Name of a configured source to ask for the past.").PlaceHolder("NAME").String(),
		from:        cmd.Flag("from", "First evaluation, RFC 3339 or Unix seconds. Without it, the beginning of the data.").PlaceHolder("T").String(),
		to:          cmd.Flag("to", "Last evaluation. Without it, the end of the data.").PlaceHolder("T").String(),
		interval:    cmd.Flag("interval", "Time between evaluations; without it, that of the configuration.").PlaceHolder("15s").Duration(),
		format:      cmd.Flag("format", "json or text.").Default("json").Enum("json", "text"),
		rankMap:     cmd.Flag("rank-map", "CSV that says where each rank of a job sits.").PlaceHolder("FILE").ExistingFile(),
	}
	return cmd.FullCommand(), func(ctx context.Context, e *env) error { return replay(ctx, e, &f) }
}

func replay(ctx context.Context, e *env, f *replayFlags) error {
	var opts []config.Option
	if *f.source == "" {
		opts = append(opts, config.WithoutSource(), config.SkipFiles())
	}
	cfg, err := loadConfig(*f.config, opts...)
	if err != nil {
		return err
	}
	if *f.interval > 0 {
		cfg.Global.Interval = config.Duration(*f.interval)
	}
	if *f.rankMap != "" {
		cfg.Topology.Files = append(cfg.Topology.Files, config.TopologyFile{Kind: "rank_map", Path: *f.rankMap})
	}
	past, err := openPast(ctx, e, cfg, f)
	if err != nil {
		return err
	}
	defer past.close()
	from, to, err := past.span(*f.from, *f.to)
	if err != nil {
		return usageError(err)
	}
	if *f.source != "" {
		// Every evaluation would be a telemetry gap, and the cause not told.
		if err := past.sources[*f.source].Instant(ctx, "vector(1)", from, &promapi.Result{}); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
	}
	a, err := assemble(cfg, past.sources, nil)
	if err != nil {
		return usageError(err)
	}
	if w := cfg.Global.WarmUp.Std(); w > 0 && past.first.Before(from) {
		start := from.Add(-w)
		if start.Before(past.first) {
			start = past.first
		}
		if err := a.engine.WarmUp(ctx, start, from, cfg.Global.Interval.Std()); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	return play(ctx, e, a, cfg.Global.Interval.Std(), from, to, *f.format)
}

// play evaluates the time from one instant to another, prints what happened,
// and says at the end how it went.
func play(ctx context.Context, e *env, a *assembly, interval time.Duration, from, to time.Time, format string) error {
	out := bufio.NewWriter(e.stdout)
	p := &eventPrinter{out: out, format: format, renderer: &a.opts.renderer}
	ticks, failed, blind := 0, 0, true
	began := time.Now()
	err := a.engine.Replay(ctx, from, to, interval, func(t engine.Tick) error {
		ticks++
		if t.Err != nil {
			failed++
			e.log.Warn("evaluation failed", "at", t.At, "err", t.Err)
		}
		blind = blind && !seesCluster(t.Snapshot)
		return p.print(t.Events)
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	took := time.Since(began)
	fmt.Fprintf(e.stderr, "replayed %s in %s (%.0f times real time): %d evaluations, %d failed, %d incidents opened, %d resolved\n",
		to.Sub(from), took.Round(time.Millisecond), to.Sub(from).Seconds()/max(took.Seconds(), 1e-3), ticks, failed, p.opened, p.resolved)
	if blind {
		fmt.Fprintf(e.stderr, "no series of any known exporter in this time: nothing could be judged. "+
			"Is it the right time and source, and does [signals] selector fit? See collwatch coverage\n")
	}
	if failed > 0 {
		return fmt.Errorf("replay: %d of %d evaluations failed", failed, ticks)
	}
	return nil
}

// seesCluster says whether there is anything but the state of targets, which
// every Prometheus has.
func seesCluster(s *signals.Snapshot) bool {
	if s == nil {
		return false
	}
	for id, f := range s.Frames {
		if signals.ID(id) != signals.TargetUp && f != nil && f.Len() > 0 {
			return true
		}
	}
	return false
}

// past is where a replay reads from.
type past struct {
	sources     map[string]promapi.Querier
	first, last time.Time // of the data; zero if unknown
	close       func()
}

// pastRequests are the requests a second at which the past may be read, whatever
// the daemon's limit is.
const pastRequests = 1000

func openPast(ctx context.Context, e *env, cfg *config.Config, f *replayFlags) (*past, error) {
	given := 0
	for _, set := range []bool{len(*f.openmetrics) > 0, *f.tsdb != "", *f.source != ""} {
		if set {
			given++
		}
	}
	if given != 1 {
		return nil, usageError(fmt.Errorf("%s: give exactly one of --openmetrics, --tsdb and --source", f.name()))
	}
	if *f.source != "" {
		// A command that somebody waits for asks thousands of small questions, one
		// after the other: what spares the server is how many it answers at once.
		for i := range cfg.Sources {
			cfg.Sources[i].Limits.RequestsPerSecond = max(cfg.Sources[i].Limits.RequestsPerSecond, pastRequests)
		}
		if *f.config == "" {
			return nil, usageError(fmt.Errorf("%s: --source needs the --config that has the source", f.name()))
		}
		sources, err := pastSources(cfg, prometheus.NewRegistry())
		if err != nil {
			return nil, usageError(err)
		}
		q, ok := sources[*f.source]
		if !ok {
			return nil, usageError(fmt.Errorf("%s: no source %q in %s, which has %s", f.name(), *f.source, *f.config, sourceNames(cfg)))
		}
		return &past{sources: map[string]promapi.Querier{*f.source: q}, close: func() {}}, nil
	}
	db, err := openDB(ctx, e, f)
	if err != nil {
		return nil, err
	}
	first, last := db.TimeRange()
	// Sources that the configuration names are all answered by the one store.
	sources := map[string]promapi.Querier{}
	for _, s := range cfg.Sources {
		sources[s.Name] = db.Querier()
	}
	if len(sources) == 0 {
		sources["replay"] = db.Querier()
	}
	return &past{sources: sources, first: first, last: last, close: func() {
		if err := db.Close(); err != nil {
			e.log.Warn("closing the embedded store", "err", err)
		}
	}}, nil
}

func openDB(ctx context.Context, e *env, f *replayFlags) (*embedprom.DB, error) {
	if *f.tsdb != "" {
		db, err := embedprom.OpenTSDB(*f.tsdb, embedprom.Options{Logger: e.log})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name(), err)
		}
		return db, nil
	}
	db, err := embedprom.Open(embedprom.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name(), err)
	}
	for _, name := range *f.openmetrics {
		if err := loadFile(ctx, e, db, name); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", f.name(), err), db.Close())
		}
	}
	return db, nil
}

func loadFile(ctx context.Context, e *env, db *embedprom.DB, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	stats, err := db.LoadOpenMetrics(ctx, io.Reader(file), nil)
	var cut *embedprom.LoadError
	switch {
	case errors.As(err, &cut) && cut.Cut && stats.Samples > 0:
		// What stands before the cut is good data, and better than none.
		e.log.Warn("the file ends in the middle; what stands before is used", "file", name, "err", err)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(e.stderr, "%s: %d samples of %d series\n", name, stats.Samples, stats.Series)
	return nil
}

// longestGuess is the longest span that is taken from the data alone. One sample
// with a wrong time would have a replay walk through decades.
const longestGuess = 92 * 24 * time.Hour

func (p *past) span(from, to string) (start, end time.Time, err error) {
	if start, err = parseTime("--from", from, p.first); err != nil {
		return start, end, err
	}
	if end, err = parseTime("--to", to, p.last); err != nil {
		return start, end, err
	}
	if end.Before(start) {
		return start, end, fmt.Errorf("replay: --to %s is before --from %s", end.Format(time.RFC3339), start.Format(time.RFC3339))
	}
	if (from == "" || to == "") && end.Sub(start) > longestGuess {
		return start, end, fmt.Errorf("replay: the data reach from %s to %s: say with --from and --to what of it is meant", start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
	}
	return start, end, nil
}

// parseTime reads RFC 3339 or Unix seconds.
func parseTime(flag, s string, fallback time.Time) (time.Time, error) {
	if s == "" {
		if fallback.IsZero() {
			return fallback, fmt.Errorf("replay: %s is needed: the data do not tell", flag)
		}
		return fallback, nil
	}
	if sec, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(sec) < 1e11 {
		return time.UnixMilli(int64(sec * 1000)).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("replay: %s %q is neither RFC 3339 nor Unix seconds", flag, s)
	}
	return t.UTC(), nil
}
