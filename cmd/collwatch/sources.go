package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/notify/alertmanager"
	"github.com/collwatch/collwatch/promapi"
)

// userAgent is how operators find us in the query log of their server.
func userAgent() string { return "collwatch/" + release() }

func release() string {
	if version.Version == "" {
		return "devel"
	}
	return version.Version
}

// dialer opens connections. nil is the system's way; a test gives the daemon a
// network of its own.
type dialer = promconfig.DialContextFunc

func clientOptions(dial dialer) []promconfig.HTTPClientOption {
	opts := []promconfig.HTTPClientOption{promconfig.WithUserAgent(userAgent())}
	if dial != nil {
		opts = append(opts, promconfig.WithDialContextFunc(dial))
	}
	return opts
}

// liveSources makes a client for each configured source, by name.
func liveSources(cfg *config.Config, reg prometheus.Registerer) (map[string]promapi.Querier, error) {
	return sourcesOver(cfg, reg, nil, false)
}

// pastSources are liveSources for commands that read days.
func pastSources(cfg *config.Config, reg prometheus.Registerer) (map[string]promapi.Querier, error) {
	return sourcesOver(cfg, reg, nil, true)
}

func sourcesOver(cfg *config.Config, reg prometheus.Registerer, dial dialer, chunks bool) (map[string]promapi.Querier, error) {
	metrics := promapi.NewMetrics(reg)
	out := make(map[string]promapi.Querier, len(cfg.Sources))
	for i := range cfg.Sources {
		s := &cfg.Sources[i]
		client := s.Client()
		c, err := promapi.New(promapi.Config{
			Name: s.Name, Kind: promapi.Kind(s.Kind), URL: s.URL.Reveal().String(), HTTP: &client, Dial: dial,
			Tenant: s.Tenant, TenantHeader: s.TenantHeader, Replicas: s.ReplicaLabels, Params: s.Params,
			Version: release(), Timeout: s.Timeout.Std(), Interval: cfg.Global.Interval.Std(),
			Limits: promapi.Limits{
				Concurrency: s.Limits.Concurrency, RequestsPerSecond: s.Limits.RequestsPerSecond, MaxBody: s.Limits.MaxBody.Bytes(),
				MaxPoints: int64(s.Limits.MaxPoints), Slice: s.Limits.Slice.Std(), BreakAfter: s.Limits.BreakAfter, StatsEvery: s.Limits.StatsEvery,
			},
			Chunks: chunks, Metrics: metrics, Rand: rand.Float64,
		})
		if err != nil {
			return nil, err
		}
		out[s.Name] = c
	}
	return out, nil
}

// alertmanagerTargets maps the configured targets.
func alertmanagerTargets(cfg *config.Config, dial dialer) []alertmanager.Target {
	out := make([]alertmanager.Target, 0, len(cfg.Alertmanager.Targets))
	for i := range cfg.Alertmanager.Targets {
		t := &cfg.Alertmanager.Targets[i]
		client := t.Client()
		out = append(out, alertmanager.Target{
			Name: t.Name, URL: t.URL.Reveal().String(), ResolveAll: t.ResolveAll, Timeout: t.Timeout.Std(),
			NewTransport: func(pinned alertmanager.DialFunc) (http.RoundTripper, error) {
				opts := clientOptions(dial)
				if pinned != nil {
					opts = append(opts, promconfig.WithDialContextFunc(promconfig.DialContextFunc(pinned)))
				}
				rt, err := promconfig.NewRoundTripperFromConfig(client, "alertmanager", opts...)
				if err != nil {
					return nil, fmt.Errorf("alertmanager target %q: %w", t.Name, err)
				}
				return rt, nil
			},
		})
	}
	return out
}
