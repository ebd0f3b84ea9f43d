package detectors

import "github.com/collwatch/collwatch/signals"

// cards knows the model of each NIC. Cards of different models are never compared.
type cards struct {
	ports map[[3]string]*card // by host, device and port
	told  table[cardRow]      // by entity of the rows that tell models
	of    table[*card]        // by entity of whatever else is about a port
}

// card is one of them. All that is about it leads here, so that a model that becomes
// known, or another, is known everywhere.
type card struct{ model string }

type cardRow struct {
	card  *card
	model string
}

// update takes the models of a tick.
func (c *cards) update(t *Tick) {
	f := t.Frames[signals.NICModel]
	for i := range f.Len() {
		id := f.Entity[i]
		row := c.told.at(id)
		if row == nil {
			e := t.Entities.Of(id)
			row = c.told.put(id)
			*row = cardRow{c.port(e), e.Detail}
		}
		row.card.model = row.model
	}
}

func (c *cards) port(e signals.Entity) *card {
	k := [3]string{e.Host, e.Device, e.Port}
	p := c.ports[k]
	if p == nil {
		p = &card{}
		c.ports[k] = p
	}
	return p
}

func (c *cards) renumber(to []signals.EntityID) {
	c.told.renumber(to)
	c.of.renumber(to)
}

// model is the model of the card that an entity belongs to, "" if it is not known.
func (t *Tick) model(id signals.EntityID) string {
	p := t.cards.of.at(id)
	if p == nil {
		p = t.cards.of.put(id)
		*p = t.cards.port(t.Entities.Of(id))
	}
	return (*p).model
}
