package signals

import (
	"time"

	"github.com/collwatch/collwatch/promapi"
)

// digest turns the answers of all queries into the snapshot of one tick.
func (r *Reader) digest(at time.Time, warming bool) *Snapshot {
	r.begin(at, warming)
	for i := range r.answers {
		r.firstPass(&r.answers[i])
	}
	r.jobs.relate(r)
	r.bindAll()
	r.dumps.settle(r.tick, r.ident)
	if epoch := r.ident.epoch; r.ordinals() != epoch {
		// The writes belong to other GPUs than it seemed.
		r.dumps.unsettle(r.tick)
		r.bindAll()
		r.dumps.settle(r.tick, r.ident)
	}
	settled := false
	for i := range r.answers {
		if f := r.answers[i].family; !settled && (f == "collwatch" || f == "inspector") {
			r.jobs.judge(r)
			settled = true
		}
		r.thirdPass(&r.answers[i])
	}
	if !settled {
		r.jobs.judge(r)
	}
	r.derive.rows(r)
	r.ages()
	r.relations()
	r.finish()
	return &r.snap
}

// bindAll looks at all series of the tick. Binding may teach what earlier
// bindings would have needed: once more, but not for ever.
func (r *Reader) bindAll() {
	for range 3 {
		epoch := r.ident.epoch
		for i := range r.answers {
			r.secondPass(&r.answers[i])
		}
		if r.ident.epoch == epoch {
			break
		}
	}
}

// begin starts a new tick.
func (r *Reader) begin(at time.Time, warming bool) {
	r.tick++
	r.now = at.UnixMilli()
	r.catchingUp = warming
	r.snap.Time, r.snap.Warming = at, warming
	r.snap.Entities, r.snap.Generation = r.entities, r.generation
	r.snap.Gaps = r.snap.Gaps[:0]
	for id := range r.frames {
		if f := r.frames[id]; f != nil {
			f.reset()
		}
	}
	r.dumps.begin()
	r.answers = r.answers[:0]
	for _, q := range r.queries {
		if q.skipped {
			continue
		}
		if e := q.src.in.Epoch(); e != q.src.epoch {
			q.src.epoch, q.src.state = e, q.src.state[:0]
		}
		q.src.grow(q.src.in.Len())
		a := answer{src: q.src, family: q.family.name, res: &q.res, q: q, to: r.now}
		if warming && q.plain() {
			q.cut(r.now-q.window.Milliseconds(), r.now)
			a.pieces = q.pieces
		}
		r.answers = append(r.answers, a)
	}
}

// finish fills the parts of the snapshot beside the frames.
func (r *Reader) finish() {
	if r.snap.Dialects == nil {
		for _, d := range r.book.dialects {
			r.snap.Dialects = append(r.snap.Dialects, d.Name)
		}
	}
	r.markErrors()
	r.groups.update(r)
	r.jobs.publish(r)
	r.snap.Entities, r.snap.Generation = r.entities, r.generation
	r.snap.Groups, r.snap.GroupOf = r.groups.list, r.groups.of
	r.gaps()
}

// markErrors says in each frame whether one of its queries failed.
func (r *Reader) markErrors() {
	for _, q := range r.queries {
		if q.err == nil {
			continue
		}
		err := q.err
		if promapi.ClassOf(err) == promapi.ClassUnknown {
			err = &promapi.Error{Class: promapi.ClassUnknown, Source: q.src.name, Msg: "query of family " + q.family.name + " failed", Err: q.err}
		}
		for i := range r.book.rules {
			c := &r.book.rules[i]
			// A frame that other dialects fill here is not hurt.
			if g := r.gives[c.Signal]; c.family == q.family.name && (g == 0 || g&(1<<c.dialect) != 0) {
				r.frame(c.Signal).Err = err
			}
		}
	}
}
