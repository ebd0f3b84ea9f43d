package signals

import "math"

// row is one new row of a frame before it is merged with others of the same
// entity.
type row struct {
	t, dump          int64
	v, delta, lo, hi float64
	blank            bool // the counter stands at its end and tells nothing
}

// betterFor is how long a dialect that fell silent still keeps worse ones
// from speaking for the same entity, so that one missed scrape does not make
// values jump between dialects.
const betterFor = 3 * 60 * 1000

// emit puts a row into its frame. Several series may lead to one slot; then
// the better dialect wins, and within one dialect the newest sample, or the
// size that spoke before.
func (r *Reader) emit(st *series, c *compiled, w row) {
	s := &r.slots[st.slot]
	if st.owner >= 0 && !r.admit(st.owner, c, w.t) {
		r.ungroup(s)
		return
	}
	if c.Kind == KindComm && !s.grouped {
		s.grouped = true
		r.groups.add(s.entity, r.entities.Of(s.entity))
	}
	if c.rank < s.better || w.t-s.betterT > betterFor {
		s.better = c.rank
	}
	if c.rank == s.better {
		s.betterT = max(s.betterT, w.t)
	} else {
		r.stats.note(c, noteSuperseded)
		return
	}
	r.gives[s.signal] |= 1 << c.dialect
	f := r.frame(s.signal)
	if s.tick == r.tick {
		r.merge(f, s, st, c, w)
		return
	}
	s.wasV, s.wasChanged, s.wasBytes, s.known = s.lastV, s.changed, s.bytes, s.lastT != 0
	s.tick, s.row = r.tick, int32(len(f.Entity))
	s.take(st, c, w)
	f.Entity = append(f.Entity, s.entity)
	f.Value = append(f.Value, w.v)
	f.Stamp = append(f.Stamp, w.t)
	f.Delta = append(f.Delta, w.delta)
	f.Min = append(f.Min, w.lo)
	f.Max = append(f.Max, w.hi)
	f.Changed = append(f.Changed, s.changed)
	f.Dialect = append(f.Dialect, uint8(c.dialect))
	if c.Kind == KindComm {
		f.Dump = append(f.Dump, w.dump)
		f.Bytes = append(f.Bytes, float64(st.bytes))
	}
}

// ungroup takes a row that is not used out of its communicator.
func (r *Reader) ungroup(s *slot) {
	if s.grouped {
		s.grouped = false
		r.groups.drop(s.entity)
	}
}

// take makes w the row that the slot has in this tick.
func (s *slot) take(st *series, c *compiled, w row) {
	s.changed = s.wasChanged
	if s.known && s.wasV != w.v && !math.IsNaN(w.v) && !math.IsNaN(s.wasV) {
		s.changed = w.t
	}
	s.rank, s.dialect, s.lastT, s.lastV, s.bytes, s.blank = c.rank, uint8(c.dialect), w.t, w.v, st.bytes, w.blank
}

// merge decides between the row that a slot has in this tick and another.
func (r *Reader) merge(f *Frame, s *slot, st *series, c *compiled, w row) {
	i := s.row
	better, sized := c.rank < s.rank, false
	if c.rank == s.rank {
		if sized = st.bytes != s.bytes; sized {
			better = nearer(st.bytes, s.bytes, s.wasBytes)
		} else {
			better = w.t > f.Stamp[i]
			r.stats.note(c, noteDuplicate)
			if w.lo < f.Min[i] {
				f.Min[i] = w.lo
			}
			if w.hi > f.Max[i] {
				f.Max[i] = w.hi
			}
		}
	}
	if !better {
		return
	}
	if sized || c.rank != s.rank {
		f.Min[i], f.Max[i] = w.lo, w.hi
	}
	s.take(st, c, w)
	f.Value[i], f.Stamp[i], f.Delta[i] = w.v, w.t, w.delta
	f.Changed[i], f.Dialect[i] = s.changed, uint8(c.dialect)
	if c.Kind == KindComm {
		f.Dump[i], f.Bytes[i] = w.dump, float64(st.bytes)
	}
}

// nearer says whether size a is nearer to the size that spoke before than b;
// without one the larger speaks.
func nearer(a, b, before float32) bool {
	if before <= 0 {
		return a > b
	}
	far := func(x float32) float32 {
		if x > before {
			return x / before
		}
		return before / max(x, 1e-9)
	}
	return far(a) < far(b)
}

// admit says whether a row about a job on a GPU may be used: the job must
// live, and no better dialect may speak for the same job and GPU.
func (r *Reader) admit(i int32, c *compiled, t int64) bool {
	o := &r.owners[i]
	if o.job >= 0 && r.jobs.list[o.job].Ended {
		r.jobs.sawFrozen(o.job, t, c.Dumped)
		r.stats.note(c, noteFrozen)
		return false
	}
	rank := r.book.dialects[c.dialect].Rank
	if rank < o.best || t-o.bestT > betterFor {
		o.best = rank
	}
	if rank > o.best {
		r.stats.note(c, noteSuperseded)
		return false
	}
	o.bestT, o.lastT = max(o.bestT, t), max(o.lastT, t)
	return true
}
