package detectors

import "github.com/collwatch/collwatch/signals"

// cards knows the model of each NIC, by host, device and port. Cards of different
// models are never compared.
type cards map[[3]string]string

// update takes the models of a tick.
func (c cards) update(t *Tick) {
	f := t.Frames[signals.NICModel]
	for i := range f.Len() {
		e := t.Entities.Of(f.Entity[i])
		c[[3]string{e.Host, e.Device, e.Port}] = e.Detail
	}
}

// of is the model of the card that e belongs to, "" if it is not known.
func (c cards) of(e signals.Entity) string { return c[[3]string{e.Host, e.Device, e.Port}] }
