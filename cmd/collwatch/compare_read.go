package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/internal/compare"
	"github.com/collwatch/collwatch/signals"
)

// dataFlags say where the past is read from.
type dataFlags struct {
	replayFlags

	search *time.Duration
}

func newDataFlags(cmd *kingpin.CmdClause, name string) *dataFlags {
	return &dataFlags{
		replayFlags: replayFlags{
			command:     name,
			config:      configFlag(cmd, ""),
			openmetrics: cmd.Flag("openmetrics", "OpenMetrics text with time stamps, plain or gzip. Repeatable.").PlaceHolder("FILE").ExistingFiles(),
			tsdb:        cmd.Flag("tsdb", "Data folder of a Prometheus that is not running, or a copy.").PlaceHolder("DIR").ExistingDir(),
			source:      cmd.Flag("source", "Name of a configured source to ask; without it, the only one.").PlaceHolder("NAME").String(),
			rankMap:     cmd.Flag("rank-map", "CSV that says where each rank of a job sits.").PlaceHolder("FILE").ExistingFile(),
		},
		search: cmd.Flag("search", "How far back jobs are looked for in a live source or a data folder.").Default("720h").Duration(),
	}
}

// open loads the configuration and opens what is to be read.
func (f *dataFlags) open(ctx context.Context, e *env) (*config.Config, *past, error) {
	var opts []config.Option
	live := len(*f.openmetrics) == 0 && *f.tsdb == ""
	if !live {
		opts = append(opts, config.WithoutSource(), config.SkipFiles())
	}
	if live && *f.config == "" {
		return nil, nil, usageError(fmt.Errorf("%s: give --openmetrics, --tsdb or a --config with a source", f.name()))
	}
	cfg, err := loadConfig(*f.config, opts...)
	if err != nil {
		return nil, nil, err
	}
	if live && *f.source == "" {
		if len(cfg.Sources) != 1 {
			return nil, nil, usageError(fmt.Errorf("%s: the configuration has %d sources: name one by --source", f.name(), len(cfg.Sources)))
		}
		*f.source = cfg.Sources[0].Name
	}
	if *f.rankMap != "" {
		cfg.Topology.Files = append(cfg.Topology.Files, config.TopologyFile{Kind: "rank_map", Path: *f.rankMap})
	}
	p, err := openPast(ctx, e, cfg, &f.replayFlags)
	return cfg, p, err
}

// maxReads bounds the evaluations of one record: the values of a long job depend
// on each other so much that more of them tell nothing new.
const maxReads = 720

// readStep is the time between two evaluations of a span: one dump, or longer for
// a long span; whole multiples of 15 s, and at most the five minutes that history
// is read in.
func readStep(s span, dump time.Duration) time.Duration {
	step := max(dump, s.to.Sub(s.from)/maxReads)
	const grid = 15 * time.Second
	return min((step+grid-1)/grid*grid, 5*time.Minute)
}

// readRecord reads a span into a record: of a job the series of its own hosts, where
// the cluster has many others.
func readRecord(ctx context.Context, cfg *config.Config, p *past, o operand, bar *progress) (*compare.Record, error) {
	opts, err := signalOptions(cfg)
	if err != nil {
		return nil, usageError(err)
	}
	only(&opts, compare.Signals())
	opts.Interval = readStep(o.span, opts.Dump)
	if o.job == "" || o.span.to.Sub(o.span.from) < worthSurvey {
		return readHosts(ctx, opts, p, o, nil, bar)
	}
	around, err := survey(ctx, opts, topologyOptions(cfg), p, o.job, o.span)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	for {
		rec, err := readHosts(ctx, opts, p, o, around.leave(around.of(o.job), 0, maxFar(cfg)), bar)
		if !around.met(err) {
			return rec, err
		}
	}
}

// readHosts is readRecord without what may be left out.
func readHosts(ctx context.Context, opts signals.Options, p *past, o operand, left *leftOut, bar *progress) (*compare.Record, error) {
	s := o.span
	if left != nil {
		opts.Far = left.far
	}
	opts.ReadAhead = true
	r, err := signals.NewReader(opts, p.sources)
	if err != nil {
		return nil, usageError(fmt.Errorf("signals: %w", err))
	}
	c := compare.NewCollector(compare.Options{Source: o.String(), Job: o.job, Dump: opts.Dump, Window: 2 * opts.Interval, From: s.from, Starts: s.starts})
	bar.begin("reading "+o.String(), s)
	err = r.WarmUp(ctx, s.from, s.to, opts.Interval, func(snap *signals.Snapshot) error {
		c.Observe(snap)
		bar.at(snap.Time)
		return left.strays(o.job, snap.Jobs)
	})
	bar.end()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	return c.Record(), nil
}

// only switches off all signals but some, so that only their series are asked
// for.
func only(o *signals.Options, ids []signals.ID) {
	keep := map[signals.ID]bool{}
	for _, id := range ids {
		keep[id] = true
	}
	for id := signals.None + 1; int(id) < signals.Count; id++ {
		if !keep[id] {
			o.Dialects[id] = []string{}
		}
	}
	custom := o.Custom
	o.Custom = nil
	for _, c := range custom {
		if keep[c.Signal] && c.Signal != signals.None {
			o.Custom = append(o.Custom, c)
		}
	}
}

// readSaved reads a baseline file.
func readSaved(name string) (*compare.Record, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rec, err := compare.ReadBaseline(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rec, nil
}

// readOperand makes the record of an operand, whose span is known: from the data,
// or a saved one.
func readOperand(ctx context.Context, cfg *config.Config, p *past, o operand, bar *progress) (*compare.Record, error) {
	if o.file != "" {
		return readSaved(o.file)
	}
	rec, err := readRecord(ctx, cfg, p, o, bar)
	switch {
	case err != nil:
		return nil, err
	case len(rec.Rows) > 0:
		rec.GPUs = gpusOf(ctx, cfg, p, rec.Hosts, o.span)
		return rec, addFaults(ctx, cfg, p, &o, rec)
	case o.job != "" && !slices.Contains(rec.Jobs, o.job):
		// A name that is wrong must not pass a gate as "not comparable".
		return nil, fmt.Errorf("no series of job %q between %s and %s", o.job, o.span.from.Format(time.RFC3339), o.span.to.Format(time.RFC3339))
	}
	return rec, nil
}
