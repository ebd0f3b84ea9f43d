package signals

import (
	"math"
	"time"
)

// Frame holds all samples of one signal that are new at one tick, as columns:
// row i is about Entity[i]. Rows are in no particular order. An entity occurs
// in at most one row.
type Frame struct {
	Signal ID

	Entity []EntityID
	// Value is the newest value in the canonical unit. For a counter it is the
	// rate per second since the sample before, NaN for the first sample and
	// across a reset: unknown, not zero.
	Value []float64
	// Stamp is the time of the newest sample in Unix milliseconds.
	Stamp []int64
	// Delta is the increase of a counter since the row before, NaN where
	// unknown; nil for gauges.
	Delta []float64
	// Min and Max are over all samples that are new at this tick, so that a
	// state of 15 s is seen by a tick of 60 s; nil for counters.
	Min, Max []float64

	// Dialect is the dialect each row came from.
	Dialect []uint8

	// Err says why the frame is empty or not whole. Rows of an incomplete
	// frame are good; the absence of a row then means nothing.
	Err error

	row map[EntityID]int32
}

// Len is the number of rows.
func (f *Frame) Len() int {
	if f == nil {
		return 0
	}
	return len(f.Entity)
}

// Row returns the row of an entity, or -1.
func (f *Frame) Row(id EntityID) int {
	if f == nil || len(f.Entity) == 0 {
		return -1
	}
	if f.row == nil {
		f.row = make(map[EntityID]int32, len(f.Entity))
	}
	if len(f.row) != len(f.Entity) {
		clear(f.row)
		for i, e := range f.Entity {
			f.row[e] = int32(i)
		}
	}
	if i, ok := f.row[id]; ok {
		return int(i)
	}
	return -1
}

// Get returns the value of an entity, NaN if it has no row.
func (f *Frame) Get(id EntityID) float64 {
	if i := f.Row(id); i >= 0 {
		return f.Value[i]
	}
	return math.NaN()
}

// Whole says that the frame was read without error, so that the absence of a
// row means something.
func (f *Frame) Whole() bool { return f != nil && f.Err == nil }

// reset empties f and keeps its memory.
func (f *Frame) reset() {
	f.Entity = f.Entity[:0]
	f.Value = f.Value[:0]
	f.Stamp = f.Stamp[:0]
	f.Delta = f.Delta[:0]
	f.Min = f.Min[:0]
	f.Max = f.Max[:0]
	f.Dialect = f.Dialect[:0]
	f.Err = nil
	clear(f.row)
}

// Snapshot is everything read at one tick. It is valid until the next one:
// frames reuse their memory.
type Snapshot struct {
	// Time is the evaluation time of the tick.
	Time time.Time
	// Frames is indexed by ID. A nil frame means that no dialect offers the
	// signal here.
	Frames [Count]*Frame
	// Entities resolves the numbers in the frames. The table lives as long as
	// the Reader; its generation changes when numbers are given out anew.
	Entities   *Entities
	Generation uint64

	// Jobs are the jobs known at this tick, in the order of their ids.
	Jobs []*Job
	// Groups are the communicators as far as their membership is known.
	Groups []*Group
	// GroupOf maps the rows of collective and P2P frames (KindComm entities)
	// to an index into Groups.
	GroupOf map[EntityID]int32

	// Gaps lists inputs that should be there and are not.
	Gaps []Gap
	// Warming is set while history is replayed at start: baselines learn,
	// nothing is concluded.
	Warming bool
}

// Frame returns the frame of a signal, or nil.
func (s *Snapshot) Frame(id ID) *Frame { return s.Frames[id] }

// Get returns the value of a signal for an entity, NaN if there is none.
func (s *Snapshot) Get(id ID, e Entity) float64 {
	f := s.Frames[id]
	if f.Len() == 0 {
		return math.NaN()
	}
	eid, ok := s.Entities.Find(e)
	if !ok {
		return math.NaN()
	}
	return f.Get(eid)
}

// Gap is an input that is expected and missing: a target that is down, a file
// that cannot be read, a signal whose rows vanished, a failed query.
type Gap struct {
	// Host is the host concerned, "" if all are.
	Host string
	// Source is the exporter, such as "node" or "dcgm", or the name of the
	// source that failed.
	Source string
	// Reason is one of exporter_down, zero_rows, source_down, stale_file.
	Reason string
	// Since is when it was last seen whole.
	Since time.Time
	// Err is the query error behind a source_down.
	Err error
}
