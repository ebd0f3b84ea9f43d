package main

import (
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/topology"
	"github.com/collwatch/collwatch/topology/parse"
)

func topologyOptions(cfg *config.Config) topology.Options {
	t := cfg.Topology
	o := topology.Options{Refresh: t.Refresh.Std(), NoSeries: !t.FromSeries, Labels: map[string][]string{
		parse.Rack: t.Labels.Rack, parse.Leaf: t.Labels.Leaf, parse.Domain: t.Labels.Domain,
		parse.Pod: t.Labels.Spine, "spine": t.Labels.Spine,
	}}
	for _, f := range t.Files {
		if f.Kind != "rank_map" { // that one is for the jobs
			o.Files = append(o.Files, topology.File{Kind: f.Kind, Path: f.Path, Host: f.Host})
		}
	}
	return o
}

// nodeLabels are the site's labels as series have them, the first of a list
// last, as the last one counts.
func nodeLabels(cfg *config.Config) [][2]string {
	var out [][2]string
	l := cfg.Topology.Labels
	for _, level := range []struct {
		name string
		keys []string
	}{{parse.Rack, l.Rack}, {parse.Leaf, l.Leaf}, {parse.Pod, l.Spine}, {parse.Domain, l.Domain}} {
		for _, v := range slices.Backward(level.keys) {
			out = append(out, [2]string{v, level.name})
		}
	}
	return out
}

// fabricWatch turns what becomes of topology sources into metrics and messages.
// A label names a kind of file, not a file: paths are many and long.
type fabricWatch struct {
	log           *slog.Logger
	failed        *prometheus.GaugeVec
	dropped       *prometheus.GaugeVec
	hosts, leaves prometheus.Gauge
	disagreements prometheus.Gauge
	bad           map[string]map[string]bool // kind to the paths that failed
	lost          map[string]map[string]int  // kind to dropped parts by path
}

func newFabricWatch(reg prometheus.Registerer, log *slog.Logger) *fabricWatch {
	f := promauto.With(reg)
	return &fabricWatch{
		log:           log,
		failed:        f.NewGaugeVec(prometheus.GaugeOpts{Name: "collwatch_topology_files_failed", Help: "Topology files of which nothing new could be used; what they said before is kept."}, []string{"kind"}),
		dropped:       f.NewGaugeVec(prometheus.GaugeOpts{Name: "collwatch_topology_dropped", Help: "Lines and entries of topology files that could not be used."}, []string{"kind"}),
		hosts:         f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_topology_hosts", Help: "Hosts that the fabric knows."}),
		leaves:        f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_topology_leaves", Help: "Leaves that NIC ports are known to be plugged into."}),
		disagreements: f.NewGauge(prometheus.GaugeOpts{Name: "collwatch_topology_disagreements", Help: "Things about which topology sources differ; collwatch topology --check lists them."}),
		bad:           map[string]map[string]bool{}, lost: map[string]map[string]int{},
	}
}

// FileRead implements topology.Observer.
func (w *fabricWatch) FileRead(r topology.FileReport) {
	if w.bad[r.Kind] == nil {
		w.bad[r.Kind], w.lost[r.Kind] = map[string]bool{}, map[string]int{}
	}
	delete(w.bad[r.Kind], r.Path)
	delete(w.lost[r.Kind], r.Path)
	switch {
	case r.Err != nil:
		w.bad[r.Kind][r.Path] = true
		w.log.Warn("topology file cannot be used", "kind", r.Kind, "file", r.Path, "err", r.Err, "former_kept", r.Kept)
	case r.Dropped > 0:
		w.lost[r.Kind][r.Path] = r.Dropped
		w.log.Warn("parts of a topology file cannot be used", "kind", r.Kind, "file", r.Path, "used", r.Facts, "dropped", r.Dropped, "first", r.Problems[0].String())
	default:
		w.log.Info("topology file read", "kind", r.Kind, "file", r.Path, "used", r.Facts)
	}
	total := 0
	for _, n := range w.lost[r.Kind] {
		total += n
	}
	w.failed.WithLabelValues(r.Kind).Set(float64(len(w.bad[r.Kind])))
	w.dropped.WithLabelValues(r.Kind).Set(float64(total))
}

// FabricBuilt implements topology.Observer.
func (w *fabricWatch) FabricBuilt(f *topology.Fabric) {
	w.hosts.Set(float64(len(f.Hosts())))
	w.leaves.Set(float64(len(f.Leaves())))
	w.disagreements.Set(float64(len(f.Disagreements())))
}
