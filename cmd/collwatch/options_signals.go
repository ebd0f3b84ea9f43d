package main

import (
	"fmt"
	"os"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/signals"
)

func signalOptions(cfg *config.Config) (signals.Options, error) {
	s := cfg.Signals
	o := signals.Options{
		Interval: cfg.Global.Interval.Std(),
		Selector: s.Selector,
	}
	for _, f := range cfg.Topology.Files {
		if f.Kind != "rank_map" {
			continue
		}
		ranks, err := readRankMap(f.Path)
		if err != nil {
			return o, err
		}
		o.RankMap = ranks
	}
	for _, c := range s.Custom {
		o.Custom = append(o.Custom, customSignal(c))
	}
	if s.Steps.Count != "" {
		o.Custom = append(o.Custom, signals.CustomSignal{
			Name: "step_count", Expr: s.Steps.Count, Signal: signals.StepCount, Job: s.Steps.JobLabel, Direction: signals.Up,
		})
	}
	if s.Steps.Time != "" {
		o.Custom = append(o.Custom, signals.CustomSignal{
			Name: "step_time", Expr: s.Steps.Time, Signal: signals.StepTime, Job: s.Steps.JobLabel, Direction: signals.Up, Unit: "seconds",
		})
	}
	return o, nil
}

func readRankMap(path string) (*signals.RankMap, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("rank map: %w", err)
	}
	defer f.Close()
	ranks, err := signals.ParseRankMap(f)
	if err != nil {
		return nil, fmt.Errorf("rank map %s: %w", path, err)
	}
	return ranks, nil
}

func customSignal(c config.CustomSignal) signals.CustomSignal {
	out := signals.CustomSignal{
		Name: c.Name, Expr: c.Expr, Source: c.Source, Unit: c.Unit, Scale: c.Scale,
		Host: c.HostLabel, Job: c.JobLabel,
	}
	switch c.Direction {
	case "up":
		out.Direction = signals.Up
	case "down":
		out.Direction = signals.Down
	}
	switch c.Entity {
	case "gpu":
		out.GPU = c.DeviceLabel
	case "nic":
		out.NIC = c.DeviceLabel
	}
	return out
}
