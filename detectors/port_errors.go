package detectors

import (
	"math"

	"github.com/collwatch/collwatch/signals"
)

// usualFactor is how far above the usual rate errors are unusual. An order of
// magnitude is more than traffic alone explains.
const usualFactor = 10

// portErrors watches the error counters of NIC ports: bit errors, lost and
// repeated packets. Which of them mean something depends on the fabric; what a
// fabric lacks has no series and no finding.
type portErrors struct {
	*rateWatch
	sent  *column // of the tick: bytes sent, for the share of repeated bytes
	share int     // index of the rule of that share
	ids   []signals.EntityID
	rates []float64
	times []int64
}

func newPortErrors(o Options) *portErrors {
	factor := o.ErrorFactor
	rules := []rateRule{
		{signals.NICSymbolErrors, CodeBitErrors, Errors, 1, factor},
		{signals.NICRxErrors, CodeBitErrors, Errors, 0.5, factor},
		{signals.NICICRC, CodeBitErrors, Errors, 0.2, factor},
		{signals.NICLinkIntegrity, CodeBitErrors, Errors, 0.2, factor},
		{signals.NICOutOfSequence, CodePacketLoss, Errors, 10, factor},
		{signals.NICSeqErrors, CodePacketLoss, Errors, 5, factor},
		{signals.NICAckTimeouts, CodeRetransmissions, Errors, 0.2, factor},
		{signals.NICRetransmits, CodeRetransmissions, Errors, 5, factor},
		{signals.NICRemoteUnresponsive, CodeRemoteSilent, Errors, 0.05, factor},
		{signals.NICRemoteImpaired, CodeRemoteSilent, Errors, 0.05, factor},
		{signals.NICDiscards, CodeDiscards, Errors, 10, factor},
		// Last: the share of bytes sent again, which is no counter of its own.
		{signals.NICRetransmitBytes, CodeRetransmissions, Errors, 2e-4, 8},
	}
	return &portErrors{rateWatch: newRateWatch("port_errors", rules), share: len(rules) - 1}
}

// leastTraffic is the rate below which a share of bytes says nothing.
const leastTraffic = 1e6

// Observe implements [Detector].
func (d *portErrors) Observe(t *Tick, r *Report) {
	d.sent = t.column(signals.NICTx)
	for i := range d.rules {
		f := t.Frames[d.rules[i].signal]
		switch {
		case f.Len() == 0:
		case i == d.share:
			d.shares(f)
			d.observe(t, i, d.ids, d.rates, d.times)
		default:
			d.observe(t, i, f.Entity, f.Value, f.Stamp)
		}
		d.report(t, i, r)
	}
}

// shares divides repeated bytes by all bytes sent.
func (d *portErrors) shares(f *signals.Frame) {
	d.ids, d.rates, d.times = d.ids[:0], d.rates[:0], d.times[:0]
	for k, id := range f.Entity {
		sent, ok := d.sent.get(id)
		if !ok || sent < leastTraffic || math.IsNaN(f.Value[k]) {
			continue
		}
		d.ids = append(d.ids, id)
		d.rates = append(d.rates, f.Value[k]/sent)
		d.times = append(d.times, f.Stamp[k])
	}
}
