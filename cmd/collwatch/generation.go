package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/alertmanager"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
	"github.com/collwatch/collwatch/web"
)

// generation is everything that one configuration makes. A reload builds the
// next one completely before it stops this one, so that a mistake costs
// nothing. Incidents and what receivers were told belong to the daemon and
// outlive it.
type generation struct {
	cfg       *config.Config
	reg       *prometheus.Registry
	log       *slog.Logger
	dial      dialer
	asm       *assembly
	metrics   *engine.Metrics
	receivers []receiver
	alerts    *alertmanager.Notifier // nil without a target
	warm      bool                   // baselines came from the generation before
	sources   map[string]promapi.Querier
	coverage  *signals.CoverageMetrics
	covered   time.Time // when coverage was looked at last
	answers   *sourceLog
	strangers string // what the log says of hosts that topology and series do not both know
	pages     atomic.Pointer[web.State]
}

// receiver is somebody who is told.
type receiver struct {
	name string
	// sync takes the present state over; it never blocks on the network.
	sync func()
	// run delivers until ctx ends and returns after the last drain.
	run func(ctx context.Context) error
}

// deliverySource is the manager as receivers see it: what they were told is on
// disk before they go on.
type deliverySource struct {
	*incidents.Manager
	saver *saver
}

func (d deliverySource) SetDeliveries(name string, records map[string]json.RawMessage) error {
	err := d.Manager.SetDeliveries(name, records)
	d.saver.deliveries() // of an error too: it says that one is over, not all
	return err
}

// newGeneration builds all parts. Nothing is sent or started. blind says since
// when evaluations cannot judge what they should.
func newGeneration(
	cfg *config.Config, log *slog.Logger, dial dialer, manager *incidents.Manager, sv *saver, blind func() (time.Time, string),
) (*generation, error) {
	g := &generation{cfg: cfg, reg: prometheus.NewRegistry(), log: log, dial: dial, answers: newSourceLog(log)}
	sources, err := sourcesOver(cfg, g.reg, dial, false)
	if err != nil {
		return nil, err
	}
	g.sources = sources
	if g.asm, err = assemble(cfg, sources, manager, sv.known()...); err != nil {
		return nil, err
	}
	g.coverage = signals.NewCoverageMetrics(g.reg)
	g.asm.opts.renderer.Expression = func(inc *incidents.Incident) string { return g.pages.Load().Expression(inc) }
	g.metrics = engine.NewMetrics(g.reg, g.asm.bank.Names())
	g.asm.fabric.Watch(newFabricWatch(g.reg, log))
	source := deliverySource{Manager: g.asm.manager, saver: sv}
	if err := g.addAlertmanager(source, blind); err != nil {
		return nil, err
	}
	if err := g.addSlack(source); err != nil {
		return nil, err
	}
	return g, nil
}

// linkTo lets links in alerts and messages lead to home, unless the
// configuration says where people reach the pages. Nothing runs yet.
func (g *generation) linkTo(home string) {
	if home != "" && g.cfg.Global.ExternalURL.IsZero() {
		g.asm.opts.renderer.ExternalURL = home
	}
}

func (g *generation) addAlertmanager(source deliverySource, blind func() (time.Time, string)) error {
	am := g.cfg.Alertmanager
	if len(am.Targets) == 0 {
		return nil
	}
	n, err := alertmanager.New(alertmanager.Options{
		Source: source, Renderer: &g.asm.opts.renderer, Targets: alertmanagerTargets(g.cfg, g.dial),
		Interval: g.cfg.Global.Interval.Std(), ResendDelay: am.ResendDelay.Std(), ResolveRepeat: am.ResolveRepeat.Std(),
		BatchSize: am.BatchSize, DrainTimeout: am.DrainTimeout.Std(), PollInterval: am.PollInterval.Std(),
		ReadbackInterval: am.ReadbackInterval.Std(), Heartbeat: am.Heartbeat, External: g.cfg.Global.Labels(), Blind: blind,
		UserAgent: userAgent(), Logger: g.log, Registerer: g.reg,
	})
	if err != nil {
		return err
	}
	g.alerts = n
	g.receivers = append(g.receivers, receiver{name: "alertmanager", sync: n.Sync, run: n.Run})
	return nil
}

// run ticks and delivers until ctx ends, then drains. each is called after each
// tick.
func (g *generation) run(ctx context.Context, each func(engine.Tick, int)) error {
	// Receivers outlive the loop by their drain, so that the last tick is
	// delivered.
	deliver, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	errs := make(chan error, len(g.receivers))
	for _, r := range g.receivers {
		wg.Go(func() {
			if err := r.run(deliver); err != nil && !errors.Is(err, context.Canceled) {
				errs <- fmt.Errorf("%s: %w", r.name, err)
			}
		})
	}
	loop := make(chan error, 1)
	loopCtx, stopLoop := context.WithCancel(ctx)
	defer stopLoop()
	go func() { loop <- g.loop(loopCtx, each) }()
	var failed error
	select {
	case failed = <-errs:
		stopLoop()
		failed = errors.Join(failed, ignoreCanceled(<-loop))
	case failed = <-loop:
		failed = ignoreCanceled(failed)
	}
	stop()
	wg.Wait()
	for _, q := range g.sources {
		if c, ok := q.(interface{ Close() }); ok {
			c.Close() // idle connections
		}
	}
	return failed
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (g *generation) loop(ctx context.Context, each func(engine.Tick, int)) error {
	interval, offset := g.cfg.Global.Interval.Std(), g.cfg.Global.QueryOffset.Std()
	if w := g.cfg.Global.WarmUp.Std(); w > 0 && !g.warm {
		g.warmUp(ctx, w)
	}
	return g.asm.engine.Run(ctx, engine.Live{
		Interval: interval, QueryOffset: offset, Clock: engine.SystemClock{},
		Each: func(t engine.Tick, missed int) {
			g.metrics.Observe(&t, missed)
			each(t, missed)
		},
	})
}

// warmUp reads history. Without it baselines form from live samples: later, but no
// worse.
func (g *generation) warmUp(ctx context.Context, history time.Duration) {
	interval := g.cfg.Global.Interval.Std()
	start := time.Now()
	end := start.Add(-g.cfg.Global.QueryOffset.Std()).Truncate(interval)
	g.log.Info("reading history; the first evaluation follows", "history", history)
	err := g.asm.engine.WarmUp(ctx, end.Add(-history), end, interval)
	if err == nil {
		err = g.unread()
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		g.log.Warn("history cannot be read; baselines form from live samples", "err", err)
	default:
		debug.FreeOSMemory() // history is much garbage at once
		g.log.Info("baselines are warm", "history", history, "took", time.Since(start).Round(time.Millisecond))
	}
}

// unread is why no query of the history was answered, nil if one was.
func (g *generation) unread() (err error) {
	for _, q := range g.asm.reader.Queries() {
		switch {
		case q.Skipped:
		case q.Err == nil:
			return nil
		case err == nil:
			err = q.Err
		}
	}
	return err
}

// coverageEvery is how often the inputs are counted: what is installed changes
// seldom, and counting looks at every series.
const coverageEvery = 10 * time.Minute

// observe keeps what pages and metrics show of a tick. It runs in the loop's
// goroutine, which owns the reader and the fabric.
func (g *generation) observe(t *engine.Tick, now time.Time) {
	g.answers.observe(t)
	before := g.pages.Load()
	more := web.State{Queries: g.asm.reader.Queries(), Fabric: g.asm.fabric.Fabric()}
	if before != nil {
		more.Coverage, more.Plots = before.Coverage, before.Plots
	}
	if now.Sub(g.covered) >= coverageEvery || more.Coverage == nil {
		g.covered = now
		more.Coverage, more.Plots = g.asm.reader.Coverage(), g.asm.reader.Plots()
		g.coverage.Set(more.Coverage)
		g.compareHosts(t, more.Fabric)
	}
	g.pages.Store(web.Look(t, before, more))
}

// seen counts the series in the newest answers of all sources. Rows of one
// evaluation would say less: a window that was read once is not read again.
func (g *generation) seen() (n int) {
	if s := g.pages.Load(); s != nil {
		for _, q := range s.Queries {
			n += q.Series
		}
	}
	return n
}

// inputs says for the log what there is to judge, and how many classes of fault
// can be told from it: all of the class, a part, or nothing (collwatch coverage
// says which and why).
func (g *generation) inputs() []any {
	out := []any{"series", g.seen()}
	s := g.pages.Load()
	if s == nil || s.Coverage == nil {
		return out
	}
	levels := map[signals.Level]int{}
	for _, c := range s.Coverage.Classes {
		levels[c.Level]++
	}
	return append(out, "classes_full", levels[signals.LevelFull], "classes_coarse", levels[signals.LevelCoarse],
		"classes_blind", levels[signals.LevelBlind])
}

// compareHosts says in the log when other hosts than before are known to the
// topology or to series alone.
func (g *generation) compareHosts(t *engine.Tick, f *topology.Fabric) {
	if t.Snapshot == nil || t.Result == nil || !t.Result.Whole {
		return
	}
	s := compareHosts(f, t.Snapshot.Entities)
	lines := s.lines()
	if text := strings.Join(lines, "; "); text != g.strangers {
		g.strangers = text
		level := slog.LevelInfo
		if s.apart() {
			level = slog.LevelWarn
		}
		for _, line := range lines {
			g.log.Log(context.Background(), level, "topology and series know other hosts", "what", line)
		}
	}
}

// sync hands the present state to all receivers.
func (g *generation) sync() {
	for _, r := range g.receivers {
		r.sync()
	}
}
