package signals

const (
	// A Reader looks whether there is much to forget every compactEvery ticks.
	compactEvery = 64
	compactFloor = 200_000
)

// compact forgets label sets that nobody exports any more. Jobs come and go,
// and with them their series; without this a daemon would grow for ever.
// Counters and windows of the living keep their state.
func (r *Reader) compact() {
	if r.opts.KeepInterner || r.tick%compactEvery != 0 {
		return
	}
	for _, s := range r.sources {
		r.compactSource(s, r.now-10*60*1000)
	}
}

func (r *Reader) compactSource(s *source, since int64) {
	live := 0
	for i := range s.state {
		if s.state[i].seen >= since && s.state[i].rule >= 0 {
			live++
		}
	}
	if n := s.in.Len(); n < compactFloor || n < 4*live {
		return
	}
	type kept struct {
		st series
		ls labelSet
	}
	var keep []kept
	for i := range s.state {
		if s.state[i].seen >= since && s.state[i].rule >= 0 {
			keep = append(keep, kept{s.state[i], s.in.Labels(refOf(i))})
		}
	}
	s.in.Renew()
	s.epoch = s.in.Epoch()
	s.state = s.state[:0]
	for _, k := range keep {
		ref := s.in.Intern(k.ls)
		*s.at(ref) = k.st
	}
}
