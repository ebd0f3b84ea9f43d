package main

import (
	"fmt"
	"slices"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/engine/custom"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// options are the settings of all packages, made from one configuration.
type options struct {
	signals   signals.Options
	topology  topology.Options
	detectors detectors.Options
	custom    custom.Options
	diagnosis diagnosis.Options
	incidents incidents.Options
	renderer  incidents.Renderer
	hosts     int // that exist, if more than are read
}

// assembleOptions maps the configuration to each package's own settings.
func assembleOptions(cfg *config.Config) (*options, error) {
	sig, err := signalOptions(cfg)
	if err != nil {
		return nil, err
	}
	diag, err := diagnosisOptions(cfg)
	if err != nil {
		return nil, err
	}
	det := detectorOptions(cfg)
	return &options{
		signals:   sig,
		topology:  topologyOptions(cfg),
		detectors: det,
		custom:    customOptions(cfg, det.Transfer),
		diagnosis: diag,
		incidents: incidentOptions(cfg),
		renderer:  renderer(cfg),
	}, nil
}

// assembly is one walk of the line with all its parts.
type assembly struct {
	opts    *options
	reader  *signals.Reader
	fabric  *topology.Store
	bank    *detectors.Bank
	custom  *custom.Watch // nil without signals of the user's own
	diag    *diagnosis.Diagnoser
	manager *incidents.Manager
	engine  *engine.Engine
	outages *outages
}

// learned is what outlives a restart of the daemon and a reload.
func (a *assembly) learned() learned { return learned{a.bank, a.diag} }

// assemble builds the line over some sources. A manager given is used instead
// of a new one, so that incidents outlive a reload; known are jobs seen before.
func assemble(cfg *config.Config, sources map[string]promapi.Querier, manager *incidents.Manager, known ...signals.JobMark) (*assembly, error) {
	opts, err := assembleOptions(cfg)
	if err != nil {
		return nil, err
	}
	opts.signals.Known = known
	return assembleWith(opts, cfg, sources, manager)
}

// assembleWith is assemble with settings of its own.
func assembleWith(opts *options, cfg *config.Config, sources map[string]promapi.Querier, manager *incidents.Manager) (*assembly, error) {
	a := &assembly{opts: opts}
	var err error
	if a.reader, err = signals.NewReader(opts.signals, sources); err != nil {
		return nil, fmt.Errorf("signals: %w", err)
	}
	a.fabric = topology.NewStore(opts.topology)
	opts.incidents.FleetSize = func() int { return max(a.fabric.Hosts(), opts.hosts) }
	a.outages = newOutages(cfg)
	opts.incidents.Maintenance = a.outages.list.Reason
	var after func(*diagnosis.Result)
	if a.custom = custom.New(opts.custom); a.custom != nil {
		opts.detectors.Extra = append(slices.Clone(opts.detectors.Extra), a.custom)
		after = a.custom.Explain
	}
	a.bank = detectors.NewBank(opts.detectors)
	a.diag = diagnosis.New(opts.diagnosis)
	if manager == nil {
		manager = incidents.NewManager(opts.incidents)
	}
	a.manager = manager
	a.engine = engine.New(engine.Parts{
		Reader: a.reader, Topology: a.fabric, Bank: a.bank,
		Diagnoser: a.diag, Incidents: manager, Before: a.outages.learn, After: after,
		Keep: cfg.Web.Evaluations,
	})
	return a, nil
}
