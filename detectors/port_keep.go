package detectors

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// A port that has been down for longer than history is read looks like one that
// was never provisioned. So the ports that are down, and were not always, are
// kept over a restart.

// keptPorts is the saved form of portState.
type keptPorts struct {
	Down []keptPort `json:"down"`
}

type keptPort struct {
	portName
	Since time.Time `json:"since"`
}

// portName names a port whatever its number is.
type portName struct {
	Host   string `json:"host"`
	Device string `json:"device"`
	Port   string `json:"port,omitempty"`
}

func nameOfPort(e signals.Entity) portName { return portName{e.Host, e.Device, e.Port} }

// hostsUp are the hosts with a port that is active. Where all are down the host
// is what is ill or boots, which nothing that is kept here tells.
func (d *portState) hostsUp(t *Tick) map[string]bool {
	up := map[string]bool{}
	for i := range d.ports.list {
		if p := &d.ports.list[i].v; p.active && !p.down {
			up[t.Entities.Of(d.ports.list[i].id).Host] = true
		}
	}
	return up
}

// Keep implements [Keeper].
func (d *portState) Keep() (json.RawMessage, error) {
	out := keptPorts{Down: d.down}
	for name, since := range d.recalled { // not seen again yet
		out.Down = append(out.Down, keptPort{name, unixMilli(since)})
	}
	if len(out.Down) == 0 {
		return nil, nil
	}
	return json.Marshal(out)
}

// Recall implements [Keeper].
func (d *portState) Recall(raw json.RawMessage) error {
	var in keptPorts
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if len(in.Down) > recallMost {
		return fmt.Errorf("%d ports are more than %d", len(in.Down), recallMost)
	}
	d.recalled = make(map[portName]int64, len(in.Down))
	for _, k := range in.Down {
		if k.Host != "" && k.Since.UnixMilli() > 0 {
			d.recalled[k.portName] = k.Since.UnixMilli()
		}
	}
	return nil
}

// forget drops what was kept of ports that do not come back.
func (d *portState) forget(now time.Time) {
	switch {
	case d.recalled == nil:
	case d.until.IsZero():
		d.until = now.Add(recallFor)
	case now.After(d.until):
		d.recalled = nil
	}
}

// takeUp continues a port where it was at its first sample.
func (d *portState) takeUp(e signals.Entity, p *portMemory, v float64, stamp int64) {
	since, ok := d.recalled[nameOfPort(e)]
	if !ok {
		return
	}
	delete(d.recalled, nameOfPort(e))
	p.active = true
	if v != stateActive {
		p.down, p.since = true, min(since, stamp)
	}
}
