package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/engine/custom"
	"github.com/collwatch/collwatch/signals"
)

func signalOptions(cfg *config.Config) (signals.Options, error) {
	s := cfg.Signals
	o := signals.Options{
		Interval: cfg.Global.Interval.Std(), Scrape: s.Scrape.Std(), Dump: s.Dump.Std(), MaxWindow: s.MaxWindow.Std(),
		Selector: s.Selector, MaxSeries: s.MaxSeries, GPUsPerHost: s.GPUsPerHost, NICsPerHost: s.NICsPerHost,
		JobLabels: s.JobLabels, HostLabels: s.HostLabels, HostAliases: s.HostAliases, KeepDomain: !s.StripDomain,
		Disabled: s.DisabledDialects, NodeLabels: nodeLabels(cfg),
		Dialects: map[signals.ID][]string{}, Sources: map[signals.ID]string{}, Windows: map[string]time.Duration{},
	}
	if len(cfg.Sources) > 0 {
		o.Source = cfg.Sources[0].Name
	}
	for name, dialects := range s.Dialects {
		if id, ok := signals.ParseID(name); ok {
			o.Dialects[id] = dialects
		}
	}
	for name, source := range s.Sources {
		if id, ok := signals.ParseID(name); ok {
			o.Sources[id] = source
		}
	}
	for family, window := range s.Windows {
		o.Windows[family] = window.Std()
	}
	for _, f := range cfg.Topology.Files {
		if f.Kind != "rank_map" {
			continue
		}
		ranks, err := readRankMap(f.Path)
		if err != nil {
			return o, err
		}
		if o.RankMap == nil {
			o.RankMap = ranks
			continue
		}
		maps.Copy(o.RankMap.Jobs, ranks.Jobs) // of one job, the file that is named last counts
	}
	for _, c := range s.Custom {
		o.Custom = append(o.Custom, customSignal(c))
	}
	if s.Steps.Count != "" {
		o.Custom = append(o.Custom, signals.CustomSignal{
			Name: "step_count", Expr: s.Steps.Count, Signal: signals.StepCount, Job: s.Steps.JobLabel,
		})
	}
	if s.Steps.Time != "" {
		o.Custom = append(o.Custom, signals.CustomSignal{
			Name: "step_time", Expr: s.Steps.Time, Signal: signals.StepTime, Job: s.Steps.JobLabel, Unit: "seconds",
		})
	}
	if m := cfg.Incidents.Maintenance; m.Expr != "" {
		o.Custom = append(o.Custom, signals.CustomSignal{
			Name: maintenanceState, Expr: m.Expr, Signal: signals.NodeState, Host: m.HostLabel,
		})
	}
	for i := range o.Custom {
		o.Custom[i].Expr = apart(&o.Custom[i])
	}
	return o, nil
}

// apart gives the series of an expression a label of their own. Without it an
// expression such as node_load1 gives the very series that a signal of the
// catalogue is read from, and one set of labels can be one signal only.
func apart(c *signals.CustomSignal) string {
	// The line break ends a comment.
	return fmt.Sprintf("label_replace((%s\n), \"collwatch_signal\", %q, \"__name__\", \".*\")", strings.TrimSpace(c.Expr), c.Name)
}

func readRankMap(path string) (*signals.RankMap, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("rank map: %w", err)
	}
	defer f.Close()
	ranks, err := signals.ParseRankMap(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return ranks, nil
}

func customSignal(c config.CustomSignal) signals.CustomSignal {
	out := signals.CustomSignal{
		Name: c.Name, Expr: c.Expr, Source: c.Source, Unit: c.Unit, Scale: c.Scale, Counter: c.Type == "counter",
		Job: c.JobLabel, Rank: c.RankLabel, Detail: c.DetailLabel,
	}
	if id, ok := signals.ParseID(c.Signal); ok {
		out.Signal = id
	}
	if c.Entity == "switch_port" {
		out.Switch, out.Port = c.HostLabel, c.PortLabel
		return out
	}
	// The reader goes by the most specific label that it is given.
	if c.Entity != "job" {
		out.Host = c.HostLabel
	}
	if c.Entity != "rank" {
		out.Rank = ""
	}
	switch c.Entity {
	case "gpu":
		out.GPU = c.DeviceLabel
	case "nic":
		out.NIC = c.DeviceLabel
	}
	return out
}

// direction is the way that is bad; neither where none is given.
func direction(c config.CustomSignal) signals.Direction {
	switch c.Direction {
	case "up":
		return signals.Up
	case "down":
		return signals.Down
	}
	return signals.Context
}

// sourceOf is a source's name, the first's for none.
func sourceOf(cfg *config.Config, name string) string {
	if name == "" && len(cfg.Sources) > 0 {
		return cfg.Sources[0].Name
	}
	return name
}

// customOptions are the signals of the user's own that feed none of the
// catalogue. Their limits are those of transfers.
func customOptions(cfg *config.Config, limits detectors.TransferOptions) custom.Options {
	o := custom.Options{Interval: cfg.Global.Interval.Std(), Limits: limits}
	for _, c := range cfg.Signals.Custom {
		if s := customSignal(c); s.Signal == signals.None {
			o.Signals = append(o.Signals, custom.Signal{
				Name: s.Name, Unit: s.Unit, Counter: s.Counter, Direction: direction(c),
				Source: sourceOf(cfg, c.Source), Expr: c.Expr, Scale: c.Scale,
				Labels: custom.Labels{Host: s.Host, Device: cmp.Or(s.Switch, s.GPU, s.NIC), Port: s.Port, Job: s.Job, Detail: s.Detail},
			})
		}
	}
	return o
}
