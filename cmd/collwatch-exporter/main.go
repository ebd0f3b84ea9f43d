package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/collwatch/collwatch/exporter"
)

func main() { os.Exit(command(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// flags is the command line, parsed.
type flags struct {
	options  exporter.Options
	web      *web.FlagConfig
	log      promslog.Config
	control  bool
	jsonDir  string
	rasAddrs []string
	rasEvery time.Duration
}

func parse(args []string, stdout, stderr io.Writer) (*flags, error) {
	f := &flags{options: exporter.Options{Limits: exporter.DefaultLimits()}}
	app := kingpin.New("collwatch-exporter", "Serves what the NCCL profiler plugin saw on this node to Prometheus.")
	app.UsageWriter(stdout).ErrorWriter(stderr)
	app.HelpFlag.Short('h')
	terminated := false
	app.Terminate(func(int) { terminated = true })
	host, _ := os.Hostname()
	app.Flag("dir", "Folder of the plugin's data files (COLLWATCH_DIR of the jobs).").Default("/dev/shm/collwatch").StringVar(&f.options.Dir)
	app.Flag("node.name", "Value of the label node; in a container give the node's name.").Envar("NODE_NAME").Default(host).StringVar(&f.options.Node)
	app.Flag("grace", "How long a dead process and a closed communicator are shown.").Default("5m").DurationVar(&f.options.Grace)
	app.Flag("path.procfs", "Where the host's /proc is mounted.").Default("/proc").StringVar(&f.options.ProcFS)
	app.Flag("limit.series", "Most series of one answer; communicators beyond are left out and counted.").Default("100000").IntVar(&f.options.Limits.Series)
	app.Flag("limit.peers", "Most peers of one communicator, those with the most traffic.").Default("32").IntVar(&f.options.Limits.Peers)
	app.Flag("size-class.octaves", "Width of a size class in powers of two.").Default("1").IntVar(&f.options.Limits.SizeOctave)
	app.Flag("compat.inspector", "Serve the metric names and labels of NVIDIA Inspector too.").BoolVar(&f.options.Compat)
	app.Flag("control", "Accept POST /-/mode to switch the mode of the node's jobs for a while; protect it by --web.config.file.").BoolVar(&f.control)
	app.Flag("inspector-json", "Folder with JSON logs of NVIDIA Inspector to follow, where it has the plugin's slot.").StringVar(&f.jsonDir)
	app.Flag("ras", "Address of a job's NCCL RAS service to poll, such as localhost:28028; may be repeated.").StringsVar(&f.rasAddrs)
	app.Flag("ras.interval", "How often RAS is polled.").Default("15s").DurationVar(&f.rasEvery)
	f.web = kingpinflag.AddFlags(app, ":9436")
	promslogflag.AddFlags(app, &f.log)
	app.Version(version.Print("collwatch-exporter"))
	if _, err := app.Parse(args); err != nil {
		return nil, fmt.Errorf("%w (see collwatch-exporter --help)", err)
	}
	if terminated {
		return nil, nil
	}
	return f, f.check()
}

func (f *flags) check() error {
	var errs []error
	want := func(ok bool, text string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(text, args...))
		}
	}
	want(f.options.Grace >= 0, "--grace: must not be negative, got %s", f.options.Grace)
	want(f.options.Limits.Series > 0, "--limit.series: must be > 0, got %d", f.options.Limits.Series)
	want(f.options.Limits.Peers >= 0, "--limit.peers: must not be negative, got %d", f.options.Limits.Peers)
	want(f.options.Limits.SizeOctave >= 1 && f.options.Limits.SizeOctave <= 8, "--size-class.octaves: must be 1 to 8, got %d", f.options.Limits.SizeOctave)
	want(f.options.Node != "", "--node.name: must not be empty")
	for _, addr := range f.rasAddrs {
		host, port, err := net.SplitHostPort(addr)
		want(err == nil && host != "" && port != "", "--ras: %q is no address: write HOST:PORT, such as localhost:28028", addr)
	}
	want(f.rasEvery >= time.Second, "--ras.interval: must be at least 1s, got %s", f.rasEvery)
	return errors.Join(errs...)
}

// command returns 0 for a clean end, 1 for a failure and 2 for a wrong command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parse(args, stdout, stderr)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "collwatch-exporter: %v\n", err)
		return 2
	}
	if f == nil {
		return 0
	}
	f.log.Writer = stderr
	logger := promslog.New(&f.log)
	if err := serve(ctx, f, logger); err != nil {
		logger.Error("stopped", "err", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, f *flags, logger *slog.Logger) (err error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(versioncollector.NewCollector("collwatch_exporter"))
	f.options.Registry, f.options.Logger = registry, logger

	var group run.Group
	group.Add(run.SignalHandler(ctx, os.Interrupt, syscall.SIGTERM))
	addSources(ctx, f, logger, &group)
	e, err := exporter.New(f.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()

	var control *exporter.Control
	if f.control {
		if control, err = exporter.OpenControl(f.options.Dir); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, control.Close()) }()
	}
	handler, err := exporter.Handler(e, control, logger)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	group.Add(func() error { return web.ListenAndServe(server, f.web, logger) }, func(error) {
		stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(stop)
	})
	logger.Info("starting", "version", version.Info(), "dir", f.options.Dir, "node", f.options.Node)
	if err := group.Run(); err != nil && !errors.Is(err, run.ErrSignal) && !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return err
	}
	return nil
}

// addSources starts what follows other origins than the plugin.
func addSources(ctx context.Context, f *flags, logger *slog.Logger, group *run.Group) {
	add := func(s exporter.Source, follow func(context.Context) error) {
		ctx, cancel := context.WithCancel(ctx)
		group.Add(func() error { return follow(ctx) }, func(error) { cancel() })
		f.options.Sources = append(f.options.Sources, s)
	}
	if f.jsonDir != "" {
		logs := exporter.NewInspectorLogs(f.jsonDir, logger)
		add(logs, logs.Run)
	}
	for _, addr := range f.rasAddrs {
		ras := exporter.NewRAS(addr, f.rasEvery, logger)
		add(ras, ras.Run)
	}
}
