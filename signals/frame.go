package signals

import (
	"math"
	"slices"
	"time"
)

// Frame holds all samples of one signal that are new at one tick, as columns:
// row i is about Entity[i]. Rows are in no particular order. An entity occurs
// in at most one row. A column that a signal has no use for may be nil.
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
	// unknown and for gauges.
	Delta []float64
	// Min and Max are over all samples that are new at this tick, so that a
	// state of 15 s is seen by a tick of 60 s. For a counter they equal Value.
	Min, Max []float64
	// Changed is when the value was last seen to change, in Unix
	// milliseconds; 0 if it never did since it is known. A code that sticks
	// for days, such as the last Xid, is news only if this is recent.
	Changed []int64

	// Dump is for values that are window means of a file (collective times
	// and bandwidths, dialects of the Inspector): when the file that brought
	// the value was written, in Unix milliseconds. Where the file's time is
	// not known it is the time of the scrape that first showed it. A file is
	// scraped many times; such a signal has a row only at the tick that sees
	// a *new* file, so rows with different Dump come from disjoint windows,
	// and a file that stands still has no rows, whatever its series say. 0
	// for dialects with counters, where a row covers the time since the row
	// before.
	Dump []int64
	// Bytes is the size of the messages behind the row, within the class of
	// Entity.Size; 0 unknown. Of several fine sizes of one class the row
	// shows the one that is nearest to what it showed before: nothing is
	// averaged, because no dialect tells how many operations each size has.
	Bytes []float64

	// Dialect is the dialect each row came from, an index into
	// Snapshot.Dialects.
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
	f.Changed = f.Changed[:0]
	f.Dump = f.Dump[:0]
	f.Bytes = f.Bytes[:0]
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

	// Dialects names the dialects that Frame.Dialect counts.
	Dialects []string

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

// JobsOn returns the jobs that run on a host, ended ones left out. A GPU that
// two jobs share has two.
func (s *Snapshot) JobsOn(host string) []*Job {
	var out []*Job
	for _, j := range s.Jobs {
		if _, ok := slices.BinarySearch(j.Hosts, host); ok && !j.Ended {
			out = append(out, j)
		}
	}
	return out
}

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
	// Reason is one of exporter_down (its target does not answer or vanished),
	// zero_rows (it answers, but rows that are always there are not),
	// source_down (a query failed, or the source has nothing at all),
	// incomplete (the source said that its answer is not whole), stale_file (a
	// file of the textfile collector cannot be read).
	Reason string
	// Since is when it was last seen whole.
	Since time.Time
	// Err is the query error behind a source_down.
	Err error
}
