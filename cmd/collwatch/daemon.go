package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/incidents/state"
)

// daemon is what lives from start to end, over all reloads.
type daemon struct {
	path     string
	stateDir string // the folder that is locked, until the end
	home     string // where the pages are, unless the configuration says it
	log      *slog.Logger
	reg      *prometheus.Registry
	sup      *supervisor
	dial     dialer

	store   *state.Store
	manager *incidents.Manager
	saver   *saver
	reloads *reloadMetrics
	blind   *blindness

	current atomic.Pointer[generation]
	next    chan *generation // a generation that is ready to take over
	mu      sync.Mutex       // one reload at a time
	ready   atomic.Bool
}

// newDaemon restores the state and builds the first generation. dial opens all
// of its connections; nil is the system's way.
func newDaemon(path string, cfg *config.Config, log *slog.Logger, dial dialer) (*daemon, error) {
	d := &daemon{path: path, stateDir: cfg.Global.StateDir, log: log, reg: prometheus.NewRegistry(), sup: newSupervisor(log), dial: dial, next: make(chan *generation, 1)}
	d.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		versioncollector.NewCollector("collwatch"))
	d.reloads = newReloadMetrics(d.reg)
	var err error
	if d.store, err = state.Open(state.Options{Dir: cfg.Global.StateDir, Logger: log, Registerer: d.reg}); err != nil {
		return nil, err
	}
	d.manager = incidents.NewManager(incidentOptions(cfg))
	if err := d.manager.Register(d.reg); err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	d.blind = newBlindness(cfg.Incidents.BlindAfter.Std())
	d.saver = &saver{store: d.store, manager: d.manager}
	d.store.Load(incidentsFile, incidents.Schema, func(_ int, data []byte) error { return d.manager.Restore(data) })
	d.store.Load(jobsFile, jobsSchema, func(_ int, data []byte) error { return d.saver.restoreJobs(data) })
	g, err := d.newGeneration(cfg)
	if err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	d.store.Load(baselinesFile, baselineSchema, func(_ int, data []byte) error { return g.asm.learned().Restore(data) })
	d.use(g)
	return d, nil
}

func (d *daemon) newGeneration(cfg *config.Config) (*generation, error) {
	g, err := newGeneration(cfg, d.log, d.dial, d.manager, d.saver, d.blind.state)
	if err == nil {
		g.linkTo(d.home)
	}
	return g, err
}

// listenAt says where the pages will be, before anything runs.
func (d *daemon) listenAt(home string) {
	d.home = home
	d.current.Load().linkTo(home)
}

func (d *daemon) use(g *generation) {
	d.current.Store(g)
	// The first generation brings its own too: who is in maintenance and how
	// large the fleet is are known to it alone.
	disabled := g.asm.opts.diagnosis.Disabled
	d.manager.Configure(g.asm.opts.incidents, func(c diagnosis.Class) bool { return !disabled[c] })
	d.refreshOutages(g)
	d.saver.use(g.asm.learned(), g.asm.reader, g.cfg.Global.StateInterval.Std())
	d.blind.wait(g.cfg.Incidents.BlindAfter.Std())
	d.sup.allowed.Store(int64(max(3*g.cfg.Global.Interval.Std(), time.Minute)))
	d.reloads.success(g.cfg)
}

func (d *daemon) refreshOutages(g *generation) {
	if err := g.asm.outages.refresh(); err != nil {
		d.log.Warn("the list of hosts out of service keeps its former content", "err", err)
	}
}

// run evaluates and delivers, one generation after the other, until ctx ends.
// Shutdown resolves nothing: whoever is told then learns of a silence of the
// daemon, not of a recovery.
func (d *daemon) run(ctx context.Context) error {
	for {
		g := d.current.Load()
		genCtx, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- g.run(genCtx, d.afterTick) }()
		select {
		case next := <-d.next:
			cancel()
			if err := <-done; err != nil {
				return err
			}
			// What was learned goes on, as far as the new settings can use it.
			d.handOver(g, next)
			d.use(next)
		case err := <-done:
			cancel()
			d.saver.all()
			return errors.Join(err, d.store.Close())
		}
	}
}

// handOver gives what one generation learned to the next.
func (d *daemon) handOver(from, to *generation) {
	data, err := from.asm.learned().Save()
	if err == nil {
		err = to.asm.learned().Restore(data)
	}
	to.asm.custom.Inherit(from.asm.custom)
	to.asm.outages.list.Inherit(from.asm.outages.list)
	to.warm = err == nil
	to.pages.Store(from.pages.Load())
	if err != nil {
		d.log.Warn("baselines do not fit the new configuration and start anew", "err", err)
	}
}

// afterTick runs in the loop's goroutine: state first, then the receivers, so
// that nobody is told what a crash would make us forget.
func (d *daemon) afterTick(t engine.Tick, missed int) {
	g := d.current.Load()
	if t.Err != nil {
		d.log.Error("evaluation failed; incidents keep their state", "err", t.Err)
	}
	if missed > 0 {
		d.log.Warn("evaluation was late", "missed", missed, "took", t.Took)
	}
	for i := range t.Events {
		ev := &t.Events[i]
		d.log.Info("incident", "event", ev.Kind, "id", ev.Incident.ID, "class", ev.Incident.Verdict.Class,
			"severity", ev.Incident.Severity, "job", ev.Incident.Verdict.Job, "suspect", ev.Incident.Labels["suspect_node"], "withheld", ev.Incident.Withheld)
	}
	now := time.Now()
	d.blind.observe(&t)
	d.refreshOutages(g)
	g.observe(&t, now)
	d.saver.tick(now)
	g.sync()
	d.sup.cycle(now)
	if !d.ready.Swap(true) {
		d.log.Info("ready", append(g.inputs(), "took", t.Took.Round(time.Millisecond))...)
		d.sup.ready()
	}
	d.sup.status(fmt.Sprintf("%d series, %d open incidents, last evaluation %s in %s",
		g.seen(), len(g.asm.manager.Live()), t.At.UTC().Format(time.TimeOnly), t.Took.Round(time.Millisecond)))
}
