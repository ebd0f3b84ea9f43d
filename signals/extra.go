package signals

import (
	"math"

	"github.com/collwatch/collwatch/promapi"
)

// plainRule adds a row that comes from no single series, in the way of emit.
func (r *Reader) plainRule(c *compiled, e Entity, t int64, v float64) {
	i := r.slotOf(c, r.entities.Intern(e))
	st := series{slot: i, owner: -1}
	r.emit(&st, c, row{t: t, v: v, delta: math.NaN(), lo: v, hi: v})
}

// span is when the youngest and the oldest file of a host were written.
type span struct{ young, old int64 }

// ages publishes how long ago each GPU's file was written. A GPU has a row
// only if its file is known, or if all candidates are equally old; the
// youngest and oldest file of a host are always published.
func (r *Reader) ages() {
	clear(r.fileAges)
	for i := range r.dumps.groups {
		g := &r.dumps.groups[i]
		if g.seenTick != r.tick || g.device == "" || r.over(g.job) {
			continue
		}
		gpu := Entity{Kind: KindGPU, Host: g.host, Device: g.device}
		files := r.dumps.candidates(g, r.ident)
		young, old := int64(0), int64(math.MaxInt64)
		for _, f := range files {
			if f := &r.dumps.files[f]; r.now-f.seenT < valueAge {
				young, old = max(young, f.mtime), min(old, f.mtime)
			}
		}
		switch {
		case young == 0 && g.last.t != 0 && len(files) == 0:
			// No file is known: the newest change of a value stands in for it.
			r.age(gpu, g.last.t)
		case young == 0:
		case young-old <= r.dumps.period:
			r.age(gpu, young)
		}
		if young != 0 {
			h, ok := r.fileAges[g.host]
			if !ok {
				h = span{young, old}
			}
			r.fileAges[g.host] = span{max(h.young, young), min(h.old, old)}
		}
	}
	for host, s := range r.fileAges {
		r.age(Entity{Kind: KindHost, Host: host, Detail: "youngest"}, s.young)
		r.age(Entity{Kind: KindHost, Host: host, Detail: "oldest"}, s.old)
	}
}

func (r *Reader) age(e Entity, since int64) {
	r.plainRule(&r.ageRule, e, r.now, math.Max(0, float64(r.now-since)/1000))
}

// over says whether a job is known to have ended.
func (r *Reader) over(job string) bool {
	i, ok := r.jobs.idx[job]
	return ok && r.jobs.list[i].Ended
}

// customRows reads the answers of the user's own expressions.
func (r *Reader) customRows() {
	for _, q := range r.queries {
		if q.custom < 0 || q.skipped {
			continue
		}
		def := &r.opts.Custom[q.custom]
		c := &compiled{Rule: Rule{Signal: r.customSignal(q.custom)}, rank: 0}
		scale := def.Scale
		if scale == 0 {
			scale = 1
		}
		for i, ref := range q.res.Refs {
			ss := q.res.Of(i)
			if len(ss) == 0 || math.IsNaN(ss[len(ss)-1].V) || math.IsInf(ss[len(ss)-1].V, 0) {
				continue
			}
			e := r.customEntity(def, q.src.in.Labels(ref))
			c.Kind = e.Kind
			r.plainRule(c, e, ss[len(ss)-1].T, ss[len(ss)-1].V*scale)
		}
	}
}

func (r *Reader) customSignal(i int) ID {
	if id := r.opts.Custom[i].Signal; id != None {
		return id
	}
	return Custom
}

// customEntity builds the entity from the labels that the user named; the most
// specific one decides the kind.
func (r *Reader) customEntity(d *CustomSignal, ls promapi.Labels) Entity {
	get := func(name string) string {
		if name == "" {
			return ""
		}
		return clean(ls.Get(name))
	}
	e := Entity{Host: r.ident.hostOf(get(d.Host)), Job: jobID(get(d.Job)), Rank: count32(get(d.Rank), 1), Detail: d.Name}
	if more := get(d.Detail); more != "" {
		e.Detail += " " + more
	}
	if d.Signal != None {
		e.Detail = get(d.Detail)
	}
	switch {
	case get(d.GPU) != "":
		e.Kind, e.Device = KindGPU, gpuDevice(get(d.GPU))
	case get(d.NIC) != "":
		e.Kind, e.Device, e.Port = KindNIC, r.ident.nicOf(e.Host, get(d.NIC)), "1"
	case e.Rank > 0:
		e.Kind = KindRank
	case e.Host != "":
		e.Kind = KindHost
	default:
		e.Kind = KindJob
	}
	return e
}

// deriver divides counters of the collwatch exporter: time in operations by
// operations is the execution time, bytes by time is the bandwidth.
type deriver struct {
	exec, bus compiled
}

func (d *deriver) init() {
	d.exec = compiled{Rule: Rule{Signal: CollExecTime, Kind: KindComm}}
	d.bus = compiled{Rule: Rule{Signal: CollBusBandwidth, Kind: KindComm}}
}

func (d *deriver) rows(r *Reader) {
	busy, ops, bytes := r.frames[CollBusy], r.frames[CollOps], r.frames[CollBytes]
	if busy.Len() == 0 || ops.Len() == 0 {
		return
	}
	for i, id := range busy.Entity {
		e := r.entities.Of(id)
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
			p, b := *exec, *bus
			p.Signal, b.Signal = P2PExecTime, P2PBusBandwidth
			exec, bus = &p, &b
		}
		exec.dialect, bus.dialect = int(busy.Dialect[i]), int(busy.Dialect[i])
		r.plainRule(exec, e, busy.Stamp[i], busy.Delta[i]/ops.Delta[n])
		if m := bytes.Row(oid); m >= 0 && bytes.Delta[m] > 0 {
			if f := busFactor(e.Op, e.NRanks); f > 0 {
				r.plainRule(bus, e, busy.Stamp[i], bytes.Delta[m]/busy.Delta[i]*f)
			}
		}
		r.groups.add(oid, e)
	}
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
