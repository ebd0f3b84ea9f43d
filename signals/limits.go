package signals

// limit is between what a quantity can be, in canonical units: for a gauge its
// value, for a counter its rate. Both are far outside of anything measured, so
// that only numbers that are no measurement fall out: the blank of another
// field, a register of 32 bits that became one of 64, a file half read.
type limit struct {
	least, most float64
	// zero says that 0 is a value although it is below the least.
	zero bool
}

// errorsPerSecond is more than any counter of errors moves: a step of 2^32 is
// more than that in every interval of up to 7 min.
const errorsPerSecond = 1e7

// limitOf is the limit of a signal; ok is false where there is none.
func limitOf(id ID) (l limit, ok bool) {
	switch id {
	case NICState, SwitchPortState:
		// InfiniBand specification, PortInfo: 1 down to 5 active-defer; 0 asks
		// for no change and is never the state of a port.
		return limit{least: 1, most: 5}, true
	case NICPhysState:
		return limit{least: 1, most: 7}, true
	case NICRate, SwitchPortRate:
		// From 10 Mb/s to 8 Tb/s; 0 is a port without a link.
		return limit{least: 1.25e6, most: 1e12, zero: true}, true
	case NICTx, NICRx, SwitchPortTx, HostNetRx, HostNetTx:
		return limit{most: 2e12}, true
	case NICLinkDowned, NICCarrierDown, NICLinkRecovery:
		// Training a link takes a good part of a second.
		return limit{most: 10}, true
	case NICSymbolErrors, NICRxErrors, NICICRC, NICLinkIntegrity, NICSeqErrors, NICOutOfSequence, NICAckTimeouts, NICRetransmits,
		NICRNR, NICCQEErrors, NICDiscards, NICRemoteUnresponsive, NICRemoteImpaired, NVLinkErrors, GPUECC, GPURemappedRows,
		GPUPCIeReplays, HostOOMKills:
		return limit{most: errorsPerSecond}, true
	case HostCPUPressure, HostIOPressure, HostMemPressure, HostIRQPressure:
		// A part of the time, with room for a scrape that came late.
		return limit{most: 2}, true
	}
	return limit{}, false
}

// holds says whether v can be.
func (l limit) holds(v float64) bool {
	return v <= l.most && (v >= l.least || v == 0 && l.zero)
}

// dip remembers that a counter fell, for as long as it is not known whether it
// began anew or was only misread: a misread one is back where it was, and the
// way back is no increase.
type dip struct {
	from float64 // the value before the fall, 0 none
	at   int64   // of the fall, Unix ms
}

// dipSmall is a value that a counter which began anew may reach by itself in a
// moment. One that is back at a greater value in one step was never away.
const (
	dipSmall = 16
	dipSoon  = 2 * 60_000 // ms
)

// back says whether a step up to v at time t ends the dip.
func (d *dip) back(prev, v float64, t int64) bool {
	return d.from > 0 && prev < d.from && v >= d.from && (d.from >= dipSmall || t-d.at <= dipSoon)
}
