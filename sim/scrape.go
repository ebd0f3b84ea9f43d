package sim

// ref is the place of a series in its target plus one; the zero value has not
// been opened.
type ref int32

type entry struct {
	handle uint32
	seen   int64 // number of the scrape that had it last
	labels []string
}

// target is one scrape target: its series carry its job and instance labels,
// and what a scrape no longer finds becomes stale.
type target struct {
	c             *Cluster
	host          *Host
	kind          string
	job, instance string
	interval      int64 // ms
	entries       []entry
	free          []ref
	scrapes       int64
	up            uint32
	upKnown       bool
	emit          func(t *target, now int64)
	down          func() bool
}

// open gets the handle of a series of this target.
func (t *target) open(name string, kv []string) ref {
	labels := make([]string, 0, len(kv)+6)
	labels = append(labels, "__name__", name)
	labels = append(labels, kv...)
	e := entry{seen: -1}
	if t.c.opt.Live {
		e.labels = labels
	} else {
		labels = append(labels, "instance", t.instance, "job", t.job)
		e.handle = t.c.sink.Series(labels...)
	}
	if n := len(t.free); n > 0 {
		r := t.free[n-1]
		t.free = t.free[:n-1]
		t.entries[r-1] = e
		return r
	}
	t.entries = append(t.entries, e)
	return ref(len(t.entries))
}

// put adds a sample to the current scrape.
func (t *target) put(r *ref, v float64, name string, kv ...string) {
	if *r == 0 {
		*r = t.open(name, append([]string(nil), kv...))
	}
	e := &t.entries[*r-1]
	e.seen = t.scrapes
	if t.c.opt.Live {
		t.c.render(e.labels, v)
		return
	}
	t.c.fail(t.c.sink.Append(e.handle, t.c.now, v))
}

// drop gives back a series that will not come again.
func (t *target) drop(r *ref) {
	if *r == 0 {
		return
	}
	e := &t.entries[*r-1]
	if e.seen == t.scrapes && t.scrapes > 0 && !t.c.opt.Live {
		t.c.fail(t.c.sink.Stale(e.handle, t.c.now))
	}
	e.seen = -1
	t.free = append(t.free, *r)
	*r = 0
}

// scrape is what Prometheus does with the target once an interval.
func (t *target) scrape(now int64) {
	if t.c.blind(now) {
		return
	}
	lost := t.c.opt.Noise.ScrapeLoss > 0 && t.host != nil && t.host.rng.Float64() < t.c.opt.Noise.ScrapeLoss
	ok := !lost && (t.down == nil || !t.down())
	t.scrapes++
	if ok {
		t.emit(t, now)
	}
	for i := range t.entries {
		if t.entries[i].seen == t.scrapes-1 {
			t.c.fail(t.c.sink.Stale(t.entries[i].handle, now))
		}
	}
	if !t.upKnown {
		t.upKnown = true
		t.up = t.c.sink.Series("__name__", "up", "instance", t.instance, "job", t.job)
	}
	v := 0.0
	if ok {
		v = 1
	}
	t.c.fail(t.c.sink.Append(t.up, now, v))
}
