package exporter

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/exporter-toolkit/web"
)

// Handler serves /metrics, /-/healthy, /-/ready and a landing page. With a Control it takes POST /-/mode?mode=deep&for=60s.
func Handler(g prometheus.Gatherer, control *Control, logger *slog.Logger) (http.Handler, error) {
	mux := http.NewServeMux()
	// Two servers and one person looking; more would only wait for each other.
	const inFlight = 8
	mux.Handle("GET /metrics", textHandler(g, promhttp.HandlerFor(g, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
		// The answer stays on a local network, and the CPU belongs to training.
		DisableCompression:  true,
		MaxRequestsInFlight: inFlight,
	}), inFlight))
	alive := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /-/healthy", alive)
	mux.HandleFunc("GET /-/ready", alive)
	if control != nil {
		mux.HandleFunc("POST /-/mode", func(w http.ResponseWriter, r *http.Request) { switchMode(w, r, control, logger) })
	}
	landing, err := web.NewLandingPage(web.LandingConfig{
		Name: "collwatch-exporter", Description: "What the NCCL profiler plugin saw on this node",
		Links: []web.LandingLinks{{Address: "/metrics", Text: "Metrics"}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the landing page: %w", err)
	}
	mux.Handle("GET /{$}", landing)
	return mux, nil
}

func switchMode(w http.ResponseWriter, r *http.Request, control *Control, logger *slog.Logger) {
	mode := r.URL.Query().Get("mode")
	d, err := time.ParseDuration(r.URL.Query().Get("for"))
	if err != nil {
		http.Error(w, `"for" must be a duration such as 60s; 0s takes a request back`, http.StatusBadRequest)
		return
	}
	if err := control.Request(mode, d); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	logger.Info("asked the processes of this node for another mode", "mode", mode, "for", d, "remote", r.RemoteAddr)
	_, _ = fmt.Fprintln(w, "accepted")
}
