package signals

import (
	"slices"
	"time"

	"github.com/collwatch/collwatch/internal/dense"
)

const (
	// A Reader looks whether there is much to forget every compactEvery ticks.
	compactEvery = 64
	compactFloor = 200_000
	// keepFor is how long things are remembered after their last sample.
	keepFor = time.Hour
)

// compact forgets what nobody exports any more. Jobs come and go, and with
// them their series and entities; without this a daemon would grow for ever.
// Counters and windows of the living keep their state.
func (r *Reader) compact() {
	if r.tick%compactEvery != 0 || r.tick == 0 {
		return
	}
	if n := r.entities.Len(); n > compactFloor && n > 3*r.living() {
		r.renumber()
	}
	if r.opts.KeepInterner {
		return
	}
	for _, s := range r.sources {
		r.compactSource(s, r.now-10*60*1000)
	}
}

func (r *Reader) living() int {
	n := 0
	for i := range r.slots {
		if r.now-r.slots[i].lastT < keepFor.Milliseconds() {
			n++
		}
	}
	return n
}

// renumber gives all entities new numbers, without those that are gone.
func (r *Reader) renumber() {
	old := r.entities
	r.entities, r.generation = NewEntities(), r.generation+1
	slots := r.renumberSlots(old)
	owners, dumps := r.renumberOwners(), r.renumberDumps()
	move := func(to []int32, i *int32) {
		if *i >= 0 {
			*i = to[*i]
		}
	}
	for _, src := range r.sources {
		for i := range src.state {
			st := &src.state[i]
			was := st.slot
			move(slots, &st.slot)
			move(owners, &st.owner)
			move(dumps, &st.dump)
			if was >= 0 && st.slot < 0 {
				st.epoch = 0 // bound anew if it ever returns
			}
		}
	}
	seen := r.groups.seen
	r.groups = newGroupTable(r.groups.ranks)
	for id := range seen {
		if e := old.Of(id); true {
			if now, ok := r.entities.Find(e); ok {
				r.groups.add(now, e)
			}
		}
	}
}

// renumberSlots drops old slots and returns the new number of each, -1 if it
// is gone.
func (r *Reader) renumberSlots(old *Entities) []int32 {
	to := make([]int32, len(r.slots))
	was := r.slots
	r.slots, r.slotIndex = nil, dense.Index{}
	for i := range was {
		s := was[i]
		if to[i] = -1; r.now-s.lastT > keepFor.Milliseconds() {
			continue
		}
		s.entity = r.entities.Intern(old.Of(s.entity))
		to[i] = r.addSlot(s)
	}
	return to
}

// renumberOwners drops owners of jobs that are forgotten, and these jobs.
func (r *Reader) renumberOwners() []int32 {
	jobs := r.jobs.forget(r.now)
	to := make([]int32, len(r.owners))
	kept := r.owners[:0:0]
	clear(r.ownerIndex)
	for i, o := range r.owners {
		id := ""
		if o.job >= 0 {
			id = jobs.ids[o.job]
			o.job = jobs.to[o.job]
		}
		if to[i] = -1; o.gone || (id != "" && o.job < 0) {
			continue
		}
		to[i] = int32(len(kept))
		r.ownerIndex[ownerKey{id, o.host, o.device}] = to[i]
		kept = append(kept, o)
	}
	r.owners = kept
	return to
}

type forgotten struct {
	ids []string // of the old numbers
	to  []int32  // new numbers, -1 for forgotten jobs
}

// forget drops jobs without a sign of life for hours, and relations that do
// not hold. Their records keep their place: series refer to them.
func (t *jobTable) forget(now int64) forgotten {
	var f forgotten
	kept := t.list[:0:0]
	clear(t.idx)
	for _, j := range t.list {
		f.ids = append(f.ids, j.ID)
		if now-j.LastSeen.UnixMilli() > forgetJob.Milliseconds() {
			f.to = append(f.to, -1)
			continue
		}
		t.idx[j.ID] = int32(len(kept))
		f.to = append(f.to, int32(len(kept)))
		kept = append(kept, j)
	}
	t.list, t.dirty, t.ownersAt = kept, true, -1
	return f
}

// renumberDumps drops the groups of files that no series fed lately.
func (r *Reader) renumberDumps() []int32 {
	d := r.dumps
	to := make([]int32, len(d.groups))
	kept := d.groups[:0:0]
	clear(d.index)
	for i, g := range d.groups {
		if to[i] = -1; r.tick-g.seenTick > 4*compactEvery {
			continue
		}
		to[i] = int32(len(kept))
		d.index[dumpKey{g.target, g.host, g.device, g.job}] = to[i]
		kept = append(kept, g)
	}
	d.groups = kept
	return to
}

// compactSource renews the interner of a source when most of its label sets
// are gone.
func (r *Reader) compactSource(s *source, since int64) {
	live := 0
	for i := range s.state {
		if s.state[i].seen >= since && s.state[i].rule >= 0 {
			live++
		}
	}
	if n := s.in.Len(); n > compactFloor && n > 4*live {
		r.renew(s, since)
	}
}

// renew starts a new epoch of the interner with the living label sets only.
func (r *Reader) renew(s *source, since int64) {
	type kept struct {
		st series
		ls labelSet
	}
	var keep []kept
	for i := range s.state {
		if s.state[i].seen >= since && s.state[i].rule >= 0 {
			keep = append(keep, kept{s.state[i], slices.Clone(s.in.Labels(refOf(i)))})
		}
	}
	s.in.Renew()
	s.epoch = s.in.Epoch()
	s.state = nil
	for _, k := range keep {
		ref := s.in.Intern(k.ls)
		*s.at(ref) = k.st
	}
	r.jobs.forgetRecords(r.sources)
}

// forgetRecords drops relations that no living series refers to.
func (t *jobTable) forgetRecords(sources map[string]*source) {
	to := make([]int32, len(t.records))
	for i := range to {
		to[i] = -1
	}
	kept := t.records[:0:0]
	for _, s := range sources {
		for i := range s.state {
			st := &s.state[i]
			if st.rec < 0 || !st.record {
				continue
			}
			if to[st.rec] < 0 {
				to[st.rec] = int32(len(kept))
				kept = append(kept, t.records[st.rec])
			}
			st.rec = to[st.rec]
		}
	}
	t.records, t.dirty = kept, true
}
