package signals

// repair is one doubt about a unit at one target, with what was seen so far.
// It is decided by evidence that the other unit could not have produced, and
// is never taken back, with one exception: a time decided to be µs by
// circumstantial evidence turns to ns by proof.
type repair struct {
	kind    Repair
	signal  ID
	dialect int
	pair    int32
	proof   uint8 // samples that prove the unit
	signs   uint8 // samples that only suggest µs
	decided verdict
}

type verdict uint8

const (
	undecided verdict = iota
	plain             // as the catalogue says: ratio, ns, MB/s
	rescaled          // percent, µs, B/s
)

// enough samples for a decision; one could be an artefact.
const enough = 3

type repairKey struct {
	signal ID
	pair   int32
}

func (r *Reader) repairOf(c *compiled, pair int32) int32 {
	k := repairKey{c.Signal, pair}
	if i, ok := r.repairIndex[k]; ok {
		return i
	}
	i := int32(len(r.repairs))
	r.repairs = append(r.repairs, repair{kind: c.Repair, signal: c.Signal, dialect: c.dialect, pair: pair})
	r.repairIndex[k] = i
	return i
}

// gauge repairs a raw gauge value before scaling; ok is false while a value
// cannot be read.
func (p *repair) gauge(v float64) (out float64, ok bool) {
	var limit, factor float64
	switch p.kind {
	case PercentOrRatio:
		limit, factor = 1.5, 0.01
	case MegaOrBase:
		limit, factor = 5e6, 1e-6
	default:
		return v, true
	}
	if v > limit && p.decided == undecided {
		if p.proof++; p.proof >= enough {
			p.decided = rescaled
		}
	}
	if p.decided == rescaled {
		return v * factor, true
	}
	return v, v <= limit
}

// rate repairs the rate of a throttle time, given as raw units per second; the
// result is s/s times 1e9, so that the scale of ns applies. A rate cannot
// exceed 1 s/s: more than 1e6 is ns. A rate of nearly exactly 1e6 again and
// again is a µs counter that counts all the time. What lies below may be
// either and is unknown until decided, but nothing is nothing in any unit.
func (p *repair) rate(v float64) (out float64, ok bool) {
	if p.kind != NanoOrMicro || v == 0 {
		return v, true
	}
	switch {
	case v > 1.05e6 && p.decided != plain:
		if p.proof++; p.proof >= enough-1 {
			p.decided = plain
		}
	case v > 0.93e6 && p.decided == undecided:
		if p.signs++; p.signs >= 2*enough {
			p.decided = rescaled
		}
	}
	switch p.decided {
	case plain:
		return v, v <= 1.05e9
	case rescaled:
		return v * 1e3, true
	}
	return 0, false
}

// name says what was decided, "" for a plain reading.
func (p *repair) name() string {
	switch {
	case p.decided == rescaled && p.kind == PercentOrRatio:
		return "percent read as ratio"
	case p.decided == rescaled && p.kind == MegaOrBase:
		return "already in B/s"
	case p.decided == rescaled && p.kind == NanoOrMicro:
		return "us, not ns"
	case p.decided == undecided && p.kind == NanoOrMicro:
		return "ns or us undecided"
	}
	return ""
}
