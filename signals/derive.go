package signals

// deriver divides counters of the collwatch exporter: time in operations by
// operations is the execution time, bytes by time is the bandwidth.
type deriver struct {
	exec, bus, p2pExec, p2pBus compiled
}

func (d *deriver) init() {
	of := func(id ID) compiled { return compiled{Rule: Rule{Signal: id, Kind: KindComm}} }
	d.exec, d.bus, d.p2pExec, d.p2pBus = of(CollExecTime), of(CollBusBandwidth), of(P2PExecTime), of(P2PBusBandwidth)
}

func (d *deriver) rows(r *Reader) {
	busy, ops, bytes := r.frames[CollBusy], r.frames[CollOps], r.frames[CollBytes]
	if busy.Len() == 0 || ops.Len() == 0 {
		return
	}
	for i, id := range busy.Entity {
		e := r.entities.Of(id)
		if d.otherClock(r, busy, e) {
			continue
		}
		e.Detail = ""
		oid, ok := r.entities.Find(e)
		if !ok {
			continue
		}
		n := ops.Row(oid)
		if n < 0 || !(ops.Delta[n] > 0) || !(busy.Delta[i] > 0) {
			continue // nothing finished, or unknown
		}
		exec, bus := &d.exec, &d.bus
		if e.Op == "Send" || e.Op == "Recv" {
			exec, bus = &d.p2pExec, &d.p2pBus
		}
		exec.dialect, bus.dialect = int(busy.Dialect[i]), int(busy.Dialect[i])
		r.plainRule(exec, e, busy.Stamp[i], busy.Delta[i]/ops.Delta[n])
		if m := bytes.Row(oid); m >= 0 && bytes.Delta[m] > 0 {
			if f := busFactor(e.Op, e.NRanks); f > 0 {
				r.plainRule(bus, e, busy.Stamp[i], bytes.Delta[m]/busy.Delta[i]*f)
			}
		}
	}
}

// otherClock says that operations of the same kind were timed by another
// clock too: how many by which is not exported, so neither can be divided.
func (d *deriver) otherClock(r *Reader, busy *Frame, e Entity) bool {
	switch e.Detail {
	case "gpu":
		e.Detail = "cpu"
	case "cpu":
		e.Detail = "gpu"
	default:
		return false
	}
	id, ok := r.entities.Find(e)
	if !ok {
		return false
	}
	i := busy.Row(id)
	return i >= 0 && busy.Delta[i] > 0
}

// busFactor turns bytes of the whole operation per second into bus bandwidth,
// as nccl-tests defines it; 0 where it defines none.
func busFactor(op string, nranks int32) float64 {
	n := float64(nranks)
	switch op {
	case "Send", "Recv", "SendRecv", "Broadcast", "Reduce":
		return 1
	}
	if nranks < 2 {
		return 0
	}
	switch op {
	case "AllReduce":
		return 2 * (n - 1) / n
	case "ReduceScatter", "AllGather":
		return (n - 1) / n
	}
	return 0
}
