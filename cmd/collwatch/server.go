package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// server answers on the daemon's address. The handlers read the running
// generation at each request.
func (d *daemon) server() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", d.metricsHandler())
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "collwatch is healthy.") })
	mux.HandleFunc("GET /-/ready", d.readyHandler)
	mux.HandleFunc("POST /-/reload", d.reloadHandler)
	mux.Handle("/debug/pprof/", d.pprofHandler())
	site := d.site()
	site.Register(mux)
	return &http.Server{Handler: site.Prefixed(mux), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// metricsHandler serves the metrics of the process and of the running
// generation.
func (d *daemon) metricsHandler() http.Handler {
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		return prometheus.Gatherers{d.reg, d.current.Load().reg}.Gather()
	})
	return promhttp.HandlerFor(gather, promhttp.HandlerOpts{Registry: d.reg, EnableOpenMetrics: true})
}

func (d *daemon) readyHandler(w http.ResponseWriter, _ *http.Request) {
	if !d.ready.Load() {
		http.Error(w, "not ready: the first evaluation is not finished", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "collwatch is ready.")
}

func (d *daemon) reloadHandler(w http.ResponseWriter, _ *http.Request) {
	if !d.current.Load().cfg.Web.Reload {
		http.Error(w, "not allowed: [web] reload is false", http.StatusForbidden)
		return
	}
	if err := d.reload(); err != nil {
		http.Error(w, "configuration not reloaded: "+err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "configuration reloaded")
}

// pprofHandler serves Go's profiles while the configuration allows it: they
// cost time and show what is in memory.
func (d *daemon) pprofHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.current.Load().cfg.Web.Pprof {
			http.NotFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
