package signals

// note is a reason why samples were not used, counted for the coverage report.
type note uint8

const (
	noteSentinel   note = iota // negative, a blank, not finite
	noteRange                  // beyond what is possible
	noteSaturated              // a counter that stands at 2^32-1
	noteReset                  // a counter fell or its host booted
	noteUnit                   // the unit is not decided yet
	noteAllToAll               // a bandwidth that is always 0
	noteSuperseded             // another dialect speaks for the same thing
	noteDuplicate              // the same value again, of a GPU with two jobs
	noteFrozen                 // belongs to a job that ended
	noteStale                  // older than two dump periods
	noteUnmapped               // a raw value without a meaning
	numNotes
)

var noteNames = [numNotes]string{
	"sentinel", "out of range", "saturated", "reset", "unit undecided", "AllToAll bandwidth", "superseded", "duplicate", "job ended", "stale", "unmapped value",
}

type noteKey struct {
	signal  ID
	dialect int
}

// readStats counts what happened to samples, per signal and dialect.
type readStats struct {
	notes [numNotes]uint64
	by    map[noteKey]*[numNotes]uint64
}

func newReadStats() *readStats { return &readStats{by: map[noteKey]*[numNotes]uint64{}} }

func (s *readStats) note(c *compiled, n note) {
	s.notes[n]++
	k := noteKey{c.Signal, c.dialect}
	by := s.by[k]
	if by == nil {
		by = new([numNotes]uint64)
		s.by[k] = by
	}
	by[n]++
}
