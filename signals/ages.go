package signals

import "math"

// plainRule adds a row that comes from no single series, in the way of emit.
func (r *Reader) plainRule(c *compiled, e Entity, t int64, v float64) {
	r.plainSlot(c, r.slotOf(c, r.entities.Intern(e)), t, v)
}

func (r *Reader) plainSlot(c *compiled, slot int32, t int64, v float64) {
	st := series{slot: slot, owner: -1}
	r.emit(&st, c, row{t: t, v: v, delta: math.NaN(), lo: v, hi: v})
}

// span is when the youngest and the oldest file of a host were written.
type span struct{ young, old int64 }

// plainSlots remembers the slots of rows that come from no single series, where they
// are many and stay: to find one hashes all of its entity. Numbers are those of one
// generation.
type plainSlots struct {
	generation uint64
	slots      []int32 // by number of whatever the row is about; slot plus one, 0 unknown
}

// at is the place for the slot of number i.
func (p *plainSlots) at(r *Reader, i int) *int32 {
	if p.generation != r.generation {
		p.generation, p.slots = r.generation, p.slots[:0]
	}
	for i >= len(p.slots) {
		p.slots = append(p.slots, 0)
	}
	return &p.slots[i]
}

// ages publishes how long ago each GPU's file was written. A GPU has a row
// only if its file is known, or if all candidates are equally old; the
// youngest and oldest file of a host are always published.
func (r *Reader) ages() {
	clear(r.fileAges)
	files := r.book.firstDialect(InspectorAge)
	age := func(dialect int, e Entity, since int64) {
		r.plain(InspectorAge, dialect, e, r.now, r.since(since))
	}
	for i := range r.jobs.records {
		rec := &r.jobs.records[i]
		if rec.join != JoinHeartbeat || !rec.alive || r.over(rec.c) {
			continue
		}
		if host, device, ok := r.ident.gpuOf(rec.b); ok {
			age(rec.dialect, Entity{Kind: KindGPU, Host: host, Device: device}, int64(rec.lastV*1000))
		} else if rec.b != "" {
			age(rec.dialect, Entity{Kind: KindGPU, Host: r.ident.hostOf(rec.a), Device: "GPU-" + rec.b}, int64(rec.lastV*1000))
		}
	}
	for i := range r.dumps.groups {
		g := &r.dumps.groups[i]
		if g.seenTick != r.tick || g.device == "" || r.over(g.job) {
			continue
		}
		candidates := r.dumps.candidates(g, r.ident)
		young, old := int64(0), int64(math.MaxInt64)
		for _, f := range candidates {
			if f := &r.dumps.files[f]; r.now-f.seenT < valueAge {
				young, old = max(young, f.mtime), min(old, f.mtime)
			}
		}
		switch {
		case young == 0 && g.last.t != 0 && len(candidates) == 0:
			// No file is known: the newest change of a value stands in for it.
			r.groupAge(files, i, g.last.t)
		case young == 0:
		case young-old <= r.dumps.period:
			r.groupAge(files, i, young)
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
		age(files, Entity{Kind: KindHost, Host: host, Detail: "youngest"}, s.young)
		age(files, Entity{Kind: KindHost, Host: host, Detail: "oldest"}, s.old)
	}
}

// groupAge publishes the age of the file of a GPU.
func (r *Reader) groupAge(dialect, i int, since int64) {
	g, slot := &r.dumps.groups[i], r.groupSlots.at(r, i)
	if g.host == "" {
		return
	}
	c := r.plainRuleOf(InspectorAge, dialect, KindGPU)
	if *slot == 0 {
		*slot = r.slotOf(c, r.entities.Intern(Entity{Kind: KindGPU, Host: g.host, Device: g.device})) + 1
	}
	r.plainSlot(c, *slot-1, r.now, r.since(since))
}

// since is how long ago something was, in seconds.
func (r *Reader) since(ms int64) float64 { return math.Max(0, float64(r.now-ms)/1000) }

// over says whether a job is known to have ended.
func (r *Reader) over(job string) bool {
	i, ok := r.jobs.idx[job]
	return ok && r.jobs.list[i].Ended
}
