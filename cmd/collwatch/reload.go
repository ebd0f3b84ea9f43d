package main

import (
	"hash/fnv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/collwatch/collwatch/config"
)

// reloadMetrics say whether the running configuration is the one on disk.
type reloadMetrics struct {
	ok, when, hash prometheus.Gauge
}

func newReloadMetrics(reg prometheus.Registerer) *reloadMetrics {
	f := promauto.With(reg)
	return &reloadMetrics{
		ok:   f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_config_last_reload_successful", Help: "1 if the last attempt to load the configuration succeeded."}),
		when: f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_config_last_reload_success_timestamp_seconds", Help: "Time of the last successful load of the configuration."}),
		hash: f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_config_hash", Help: "Hash of the running configuration, to compare replicas with."}),
	}
}

func (m *reloadMetrics) success(cfg *config.Config) {
	m.ok.Set(1)
	m.when.SetToCurrentTime()
	h := fnv.New32a()
	_, _ = h.Write([]byte(cfg.Hash))
	m.hash.Set(float64(h.Sum32()))
}

// reload builds a generation from the file and lets it take over. On any mistake
// the running one goes on untouched.
func (d *daemon) reload() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sup.reloading()
	defer d.sup.ready()
	start := time.Now()
	cfg, err := loadConfig(d.path)
	if err == nil {
		var g *generation
		if g, err = d.newGeneration(cfg); err == nil {
			d.replace(g)
			d.log.Info("configuration reloaded", "file", d.path, "took", time.Since(start).Round(time.Millisecond))
			if cfg.Global.StateDir != d.stateDir {
				d.log.Warn("global.state_dir changes with a restart only; the state goes on in the former folder",
					"in_use", d.stateDir, "configured", cfg.Global.StateDir)
			}
			return nil
		}
	}
	d.reloads.ok.Set(0)
	d.log.Error("configuration not reloaded, the former one goes on", "file", d.path, "err", err)
	return err
}

// replace hands a generation over; one that was not started yet is dropped for
// it.
func (d *daemon) replace(g *generation) {
	select {
	case <-d.next:
	default:
	}
	d.next <- g
}
