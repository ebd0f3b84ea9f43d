package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	actors "github.com/oklog/run"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"
)

// defaultAddress is where the daemon listens unless told otherwise.
const defaultAddress = ":9876"

// gcPercent bounds the garbage that lies about. What an evaluation keeps is large
// and lives for hours, what it throws away is little: collecting early costs
// hardly any time and saves much memory on a host that has other work. The
// environment variable GOGC overrides it.
const gcPercent = 25

func runCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("run", "Run the daemon. The default.").Default()
	path := configFlag(cmd, defaultConfig)
	listen := kingpinflag.AddFlags(cmd, defaultAddress)
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		cfg, err := loadConfig(*path)
		if err != nil {
			return err
		}
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(gcPercent)
		}
		d, err := newDaemon(*path, cfg, e.log, nil)
		if err != nil {
			return err
		}
		d.listenAt(home(listen))
		return d.serve(ctx, listen)
	}
}

// serve runs all actors until one of them ends; the others are then stopped in
// order.
func (d *daemon) serve(ctx context.Context, listen *web.FlagConfig) error {
	var g actors.Group
	engineCtx, stopEngine := context.WithCancel(ctx)
	g.Add(func() error { return d.run(engineCtx) }, func(error) {
		d.sup.stopping()
		stopEngine()
	})
	srv := d.server()
	g.Add(func() error { return ignoreClosed(web.ListenAndServe(srv, listen, d.log)) }, func(error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			d.log.Warn("closing the listener", "err", err)
		}
	})
	watchCtx, stopWatching := context.WithCancel(ctx)
	g.Add(func() error { return d.watch(watchCtx) }, func(error) { stopWatching() })
	stopSignals := make(chan struct{})
	g.Add(func() error { return d.signals(ctx, stopSignals) }, func(error) { close(stopSignals) })
	stopWatch := make(chan struct{})
	g.Add(func() error { return d.sup.watch(stopWatch) }, func(error) { close(stopWatch) })
	return g.Run()
}

// signals reloads at SIGHUP and returns at SIGTERM and SIGINT.
func (d *daemon) signals(ctx context.Context, stop <-chan struct{}) error {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(ch)
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case s := <-ch:
			if s != syscall.SIGHUP {
				d.log.Info("stopping", "signal", s)
				return nil
			}
			_ = d.reload() // logged and counted there
		}
	}
}
