package main

import (
	"slices"
	"strings"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/signals"
)

// maintenanceState is the state of the hosts that incidents.maintenance.expr
// gives.
const maintenanceState = "in maintenance"

// outages are the hosts that are out of service on purpose: those of a file,
// those of which the scheduler says so, and those of an expression.
type outages struct {
	list   *incidents.MaintenanceList
	states []string
	failed bool
}

func newOutages(cfg *config.Config) *outages {
	m := cfg.Incidents.Maintenance
	return &outages{list: incidents.NewMaintenanceList(m.File), states: m.States}
}

// refresh reads the file again. The same error is reported once.
func (o *outages) refresh() error {
	err := o.list.Refresh()
	defer func() { o.failed = err != nil }()
	if o.failed {
		return nil
	}
	return err
}

// learn takes the scheduler's word over. Without it the former word stands: a
// gap in telemetry puts no host back into service.
func (o *outages) learn(s *signals.Snapshot) {
	f := s.Frame(signals.NodeState)
	if !f.Whole() {
		return
	}
	reasons := map[string]string{}
	expr := map[string]bool{}
	for i := range f.Len() {
		e := s.Entities.Of(f.Entity[i])
		for state := range strings.SplitSeq(strings.ToLower(e.Detail), "+") {
			switch {
			case f.Value[i] == 0:
			case e.Detail == maintenanceState:
				expr[e.Host] = true
			case slices.Contains(o.states, state):
				reasons[e.Host] = "scheduler: " + state
			}
		}
	}
	for host := range expr {
		if reasons[host] == "" {
			reasons[host] = maintenanceState
		}
	}
	o.list.Set(reasons)
}
