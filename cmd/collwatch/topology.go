package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
	"github.com/collwatch/collwatch/topology/draw"
	"github.com/collwatch/collwatch/topology/parse"
)

// topologyFlags are what the command was called with.
type topologyFlags struct {
	config, format         string
	files                  []string
	noSeries, check, whole bool
}

func topologyCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("topology", "Show the fabric as it is understood, and where sources disagree.")
	var f topologyFlags
	path := configFlag(cmd, defaultConfig)
	cmd.Flag("format", "text, json, dot or svg.").Default("text").EnumVar(&f.format, "text", "json", "dot", "svg")
	cmd.Flag("file", "Read this file as KIND=PATH instead of what the configuration names; no series are read. May be given several times.").StringsVar(&f.files)
	cmd.Flag("no-series", "Read files only, and ask no source.").BoolVar(&f.noSeries)
	cmd.Flag("check", "List disagreements and what could not be read, and nothing else; exit 3 if there is any.").BoolVar(&f.check)
	cmd.Flag("unfold", "Show each host, however many there are.").BoolVar(&f.whole)
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		f.config = *path
		return showTopology(ctx, e, f)
	}
}

func showTopology(ctx context.Context, e *env, f topologyFlags) error {
	fabric, watch, err := loadFabric(ctx, e, f)
	if err != nil {
		return err
	}
	if f.check {
		return checkTopology(e.stdout, fabric, watch)
	}
	for _, p := range append(slices.Clone(watch.problems), watch.hosts.lines()...) {
		fmt.Fprintf(e.stderr, "collwatch: %s\n", p)
	}
	if len(watch.problems) > 0 && len(fabric.Hosts())+len(fabric.Switches()) == 0 {
		return errors.New("topology: none of the sources could be used, so there is no fabric to show")
	}
	if len(fabric.Hosts())+len(fabric.Switches()) == 0 {
		fmt.Fprintf(e.stderr, "collwatch: no host or switch is known: the sources have no series that tell of the fabric, and no [[topology.file]] does\n")
	}
	switch f.format {
	case "json":
		return draw.JSON(e.stdout, fabric)
	case "dot":
		return draw.DOT(e.stdout, fabric.View(!f.whole))
	case "svg":
		return draw.SVG(e.stdout, fabric.View(!f.whole))
	default:
		return draw.Text(e.stdout, fabric.View(!f.whole))
	}
}

// checkTopology lists what is wrong and ends with 3 if anything is.
func checkTopology(w io.Writer, f *topology.Fabric, watch *fileProblems) error {
	for _, p := range watch.problems {
		fmt.Fprintf(w, "%s\n", p)
	}
	for _, d := range f.Disagreements() {
		fmt.Fprintf(w, "%s\n", d)
	}
	wrong := 0
	if watch.hosts.apart() {
		fmt.Fprintf(w, "%s\n", watch.hosts.lines()[0])
		wrong++
	}
	for _, host := range f.Hosts() {
		for _, p := range f.Ports(host) {
			if p.ExpectedLeaf != "" && p.ExpectedLeaf != p.Leaf {
				fmt.Fprintf(w, "cable of %s/%s: on %s, where %s is expected\n", p.Host, p.Device, p.Leaf, p.ExpectedLeaf)
				wrong++
			}
		}
	}
	if n := len(watch.problems) + len(f.Disagreements()) + wrong; n > 0 {
		return &exitError{code: exitFindings, err: fmt.Errorf("topology: %d findings", n)}
	}
	fmt.Fprintf(w, "no disagreement among %d hosts\n", len(f.Hosts()))
	return nil
}

// loadFabric reads files and, unless told otherwise, series.
func loadFabric(ctx context.Context, e *env, f topologyFlags) (*topology.Fabric, *fileProblems, error) {
	watch := &fileProblems{}
	if len(f.files) > 0 {
		opts := topology.Options{}
		for _, arg := range f.files {
			kind, path, ok := strings.Cut(arg, "=")
			if _, err := parse.KindOf(kind); !ok || err != nil {
				return nil, nil, usageError(fmt.Errorf("topology: --file %s: write KIND=PATH with one of %s", arg, kindNames()))
			}
			opts.Files = append(opts.Files, topology.File{Kind: kind, Path: path})
		}
		return loadFiles(opts, watch), watch, nil
	}
	cfg, err := loadConfig(f.config)
	if err != nil {
		return nil, nil, err
	}
	opts := topologyOptions(cfg)
	if f.noSeries {
		return loadFiles(opts, watch), watch, nil
	}
	opts.Refresh = time.Nanosecond // each evaluation counts
	store := topology.NewStore(opts)
	store.Watch(watch)
	if err := lookAtFabric(ctx, cfg, store, watch); err != nil {
		if len(opts.Files) == 0 {
			return nil, nil, fmt.Errorf("topology: %w", err)
		}
		fmt.Fprintf(e.stderr, "collwatch: no series, files only: %v\n", err)
		return loadFiles(topologyOptions(cfg), watch), watch, nil
	}
	return store.Fabric(), watch, nil
}

func loadFiles(opts topology.Options, watch *fileProblems) *topology.Fabric {
	*watch = fileProblems{}
	store := topology.NewStore(opts)
	store.Watch(watch)
	return store.Load(time.Now())
}

// lookAtFabric lets a store see a few evaluations: roles of adapters follow from
// rates, and hosts from joins.
func lookAtFabric(ctx context.Context, cfg *config.Config, store *topology.Store, watch *fileProblems) error {
	sources, err := liveSources(cfg, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	opts, err := signalOptions(cfg)
	if err != nil {
		return err
	}
	r, err := signals.NewReader(opts, sources)
	if err != nil {
		return err
	}
	end := time.Now().Add(-cfg.Global.QueryOffset.Std()).Truncate(opts.Interval)
	for i := looks - 1; i >= 0; i-- {
		s := r.Read(ctx, end.Add(-time.Duration(i)*opts.Interval))
		for _, g := range s.Gaps {
			if g.Reason == "source_down" && g.Err != nil {
				return g.Err
			}
		}
		watch.hosts = compareHosts(store.Update(s), s.Entities)
	}
	return ctx.Err()
}

func kindNames() string {
	var names []string
	for _, k := range parse.Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// maxProblems bounds the lines about files.
const maxProblems = 200

// fileProblems gathers what could not be used.
type fileProblems struct {
	problems []string
	hosts    strangers // empty where no series were read
}

// FileRead implements topology.Observer.
func (p *fileProblems) FileRead(r topology.FileReport) {
	add := func(text string) {
		if len(p.problems) < maxProblems {
			p.problems = append(p.problems, text)
		}
	}
	if r.Err != nil {
		add(fmt.Sprintf("%s %s: %v", r.Kind, r.Path, r.Err))
		return
	}
	for _, x := range r.Problems {
		add(x.String())
	}
	if n := r.Dropped - len(r.Problems); n > 0 {
		add(fmt.Sprintf("%s: %d more parts cannot be used", r.Path, n))
	}
}

// FabricBuilt implements topology.Observer.
func (p *fileProblems) FabricBuilt(*topology.Fabric) {}
