package embedprom

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
)

// commitEvery is the number of samples after which a Sink commits by itself. A
// long run in one transaction is kept whole in memory, by a slice that is
// copied each time it grows: a quarter of the time of a simulated day.
const commitEvery = 20_000

// mmapEvery is the number of samples after which full chunks are moved out of
// the heap. Without it a fast loader builds long lists of chunks, which every
// query walks.
const mmapEvery = 1 << 20

var errReadOnly = errors.New("the embedded storage was opened read-only")

// Sink writes series into a DB. It is not safe for concurrent use; several
// Sinks of one DB are. It commits by itself now and then.
type Sink struct {
	db    *DB
	app   storage.AppenderV2
	sets  []labels.Labels
	refs  []storage.SeriesRef
	minT  int64 // oldest sample since the last commit
	since int   // samples since full chunks were moved out last
	open  int   // samples since the last commit
	b     labels.ScratchBuilder
}

// Appender returns a Sink. Samples are visible to queries after Commit at the
// latest.
func (db *DB) Appender() *Sink {
	return &Sink{db: db, minT: math.MaxInt64, b: labels.NewScratchBuilder(16)}
}

// Series returns the handle of the series with the given labels: names and
// values in turn, "__name__" first by custom. Labels with empty values are
// dropped, as everywhere in Prometheus. An odd number of strings is a mistake
// of the program and panics.
func (s *Sink) Series(nameValues ...string) uint32 {
	if len(nameValues)%2 != 0 {
		panic("embedprom: Series needs names and values in turn")
	}
	s.b.Reset()
	for i := 0; i < len(nameValues); i += 2 {
		if nameValues[i+1] != "" {
			s.b.Add(nameValues[i], nameValues[i+1])
		}
	}
	s.b.Sort()
	return s.series(s.b.Labels())
}

func (s *Sink) series(ls labels.Labels) uint32 {
	s.sets = append(s.sets, ls)
	s.refs = append(s.refs, 0)
	return uint32(len(s.sets) - 1)
}

// Append adds a sample at t, in Unix milliseconds. A second sample of a series
// at one time with another value is an error.
func (s *Sink) Append(h uint32, t int64, v float64) error {
	if s.app == nil {
		if s.db.head == nil {
			return errReadOnly
		}
		s.app = s.db.head.AppenderV2(context.Background())
	}
	ref, err := s.app.Append(s.refs[h], s.sets[h], 0, t, v, nil, nil, storage.AppendV2Options{})
	if err != nil {
		return fmt.Errorf("append to %s at %d: %w", s.sets[h], t, err)
	}
	s.refs[h] = ref
	s.minT = min(s.minT, t)
	s.since++
	if s.open++; s.open >= commitEvery {
		return s.Commit()
	}
	return nil
}

// Stale marks the series as ended at t, as a scrape does whose target lost it.
func (s *Sink) Stale(h uint32, t int64) error {
	return s.Append(h, t, math.Float64frombits(value.StaleNaN))
}

// Commit makes everything appended so far visible to queries.
func (s *Sink) Commit() error {
	if s.app == nil {
		return nil
	}
	app, minT := s.app, s.minT
	s.app, s.minT, s.open = nil, math.MaxInt64, 0
	if err := app.Commit(); err != nil {
		return fmt.Errorf("commit to the embedded storage: %w", err)
	}
	s.db.ahead.truncate(minT)
	if s.since >= mmapEvery {
		s.since = 0
		s.db.head.ForceHeadMMap()
	}
	return nil
}
