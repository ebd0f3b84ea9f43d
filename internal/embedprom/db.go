package embedprom

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/collwatch/collwatch/promapi"
)

const (
	// headSpan is the time that the in-memory part of the storage covers. It is
	// longer than any input: families of an OpenMetrics text follow each other,
	// each over the whole time, and with a short head all but the first would
	// go the slow way of out-of-order samples.
	headSpan = 100 * 365 * 24 * time.Hour

	defaultLookback   = 5 * time.Minute // as in Prometheus
	defaultTimeout    = 2 * time.Minute // as in Prometheus
	defaultMaxSamples = 50_000_000      // as in Prometheus
	defaultReadAhead  = 8_000_000       // samples of 16 bytes
)

// Options configures Open and OpenTSDB. The zero value is complete.
type Options struct {
	// Name is the name of the source in errors, "embedded" if empty.
	Name string
	// Dir keeps the data; it must be empty or a folder of an earlier Open. If
	// it is "", a temporary folder is used and removed by Close. Ignored by
	// OpenTSDB.
	Dir string
	// Interner gives the Refs of answers, a new one if nil.
	Interner *promapi.Interner
	// Logger gets what the storage has to say, nothing if nil.
	Logger *slog.Logger
	// Lookback is how old the newest sample of a series may be in an instant
	// query, 5 minutes if 0.
	Lookback time.Duration
	// Timeout is the longest evaluation, 2 minutes if 0.
	Timeout time.Duration
	// MaxSamples bounds the samples in memory of one query, 50 million if 0.
	MaxSamples int
	// ReadAhead bounds the samples kept decoded for coming queries over all
	// selectors, 8 million (128 MB) if 0; negative switches reading ahead off.
	ReadAhead int
	// Experimental allows PromQL functions that servers refuse unless a feature
	// is enabled.
	Experimental bool
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "embedded"
	}
	if o.Interner == nil {
		o.Interner = promapi.NewInterner()
	}
	if o.Logger == nil {
		o.Logger = promslog.NewNopLogger()
	}
	if o.Lookback == 0 {
		o.Lookback = defaultLookback
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxSamples == 0 {
		o.MaxSamples = defaultMaxSamples
	}
	if o.ReadAhead == 0 {
		o.ReadAhead = defaultReadAhead
	}
	return o
}

// DB is a Prometheus storage with its query engine.
type DB struct {
	opts   Options
	store  storage.Queryable
	head   *tsdb.DB // nil if read-only
	parser parser.Parser
	engine *promql.Engine
	ahead  *readAhead

	cleanup []func() error // run in reverse order by Close
}

// Open opens an empty storage, or the one in opts.Dir, for writing and
// querying. Samples may arrive in any order of time.
func Open(opts Options) (*DB, error) {
	opts = opts.withDefaults()
	db := newDB(opts)
	dir, wal := opts.Dir, 0
	if dir == "" {
		tmp, err := os.MkdirTemp("", "collwatch-tsdb-")
		if err != nil {
			return nil, fmt.Errorf("temporary folder for the embedded storage: %w", err)
		}
		db.onClose(func() error { return os.RemoveAll(tmp) })
		// Nobody will read it again, so no log is written.
		dir, wal = tmp, -1
	}
	o := tsdb.DefaultOptions()
	o.WALSegmentSize = wal
	o.RetentionDuration = headSpan.Milliseconds()
	o.MinBlockDuration = headSpan.Milliseconds()
	o.MaxBlockDuration = headSpan.Milliseconds()
	o.OutOfOrderTimeWindow = headSpan.Milliseconds()
	o.StripeSize = 1 << 12
	o.NoLockfile = opts.Dir == ""
	head, err := tsdb.Open(dir, opts.Logger, nil, o, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the embedded storage in %q: %w", dir, err), db.Close())
	}
	head.DisableCompactions()
	db.head, db.store = head, head
	db.onClose(head.Close)
	return db, nil
}

// OpenTSDB opens the data folder of a Prometheus server for queries only; it
// writes nothing there. The server need not be stopped, but what it writes
// later is not seen.
func OpenTSDB(dir string, opts Options) (*DB, error) {
	if st, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("data folder of Prometheus: %w", err)
	} else if !st.IsDir() {
		return nil, fmt.Errorf("data folder of Prometheus: %q is not a folder", dir)
	}
	if !looksLikeTSDB(dir) {
		return nil, fmt.Errorf("data folder of Prometheus: %q holds neither blocks nor a wal folder", dir)
	}
	db := newDB(opts.withDefaults())
	sandbox, err := os.MkdirTemp("", "collwatch-tsdb-")
	if err != nil {
		return nil, fmt.Errorf("temporary folder for the embedded storage: %w", err)
	}
	db.onClose(func() error { return os.RemoveAll(sandbox) })
	ro, err := tsdb.OpenDBReadOnly(dir, sandbox, db.opts.Logger)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %q: %w", dir, err), db.Close())
	}
	db.onClose(ro.Close)
	// Each Querier of a read-only storage reads the write-ahead log anew, so
	// one is made for all times and kept.
	q, err := ro.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %q: %w", dir, err), db.Close())
	}
	db.onClose(q.Close)
	db.store = storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		return sharedQuerier{Querier: q, mint: mint, maxt: maxt}, nil
	})
	return db, nil
}

func looksLikeTSDB(dir string) bool {
	for _, pattern := range []string{"wal", "*/meta.json"} {
		if m, _ := filepath.Glob(filepath.Join(dir, pattern)); len(m) > 0 {
			return true
		}
	}
	return false
}

func newDB(opts Options) *DB {
	p := parser.NewParser(parser.Options{EnableExperimentalFunctions: opts.Experimental})
	return &DB{
		opts:   opts,
		parser: p,
		ahead:  newReadAhead(opts.ReadAhead),
		engine: promql.NewEngine(promql.EngineOpts{
			Logger:               opts.Logger,
			MaxSamples:           opts.MaxSamples,
			Timeout:              opts.Timeout,
			LookbackDelta:        opts.Lookback,
			EnableAtModifier:     true,
			EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 {
				return time.Minute.Milliseconds()
			},
			Parser: p,
		}),
	}
}

func (db *DB) onClose(f func() error) { db.cleanup = append(db.cleanup, f) }

// Close frees everything and removes a temporary folder.
func (db *DB) Close() error {
	var errs []error
	for _, v := range slices.Backward(db.cleanup) {
		errs = append(errs, v())
	}
	db.cleanup = nil
	return errors.Join(append(errs, db.engine.Close())...)
}

// TimeRange returns the time of the first and of the last sample, zero times
// if there is none or the storage is read-only.
func (db *DB) TimeRange() (first, last time.Time) {
	if db.head == nil || db.head.Head().MinTime() == math.MaxInt64 {
		return time.Time{}, time.Time{}
	}
	head := db.head.Head()
	oldest := head.MinTime()
	// What came after a younger sample of its series is kept and counted apart.
	if late := head.MinOOOTime(); late > 0 { // after a Truncate it says nothing
		oldest = min(oldest, late)
	}
	return time.UnixMilli(oldest), time.UnixMilli(head.MaxTime())
}

// Truncate forgets what is older than t, so that a storage which is written for
// long keeps its size.
func (db *DB) Truncate(t time.Time) error {
	if db.head == nil {
		return errReadOnly
	}
	if err := db.head.Head().Truncate(t.UnixMilli()); err != nil {
		return fmt.Errorf("forget what is older than %s: %w", t.UTC().Format(time.RFC3339), err)
	}
	return nil
}

// Storage gives the storage itself, for the HTTP API on top of it.
func (db *DB) Storage() storage.Queryable { return db.store }

// Chunks gives the storage as its compressed chunks, of which a read-only one has
// none to give.
func (db *DB) Chunks() storage.ChunkQueryable {
	if db.head == nil {
		return noChunks{}
	}
	return db.head
}

type noChunks struct{}

// ChunkQuerier implements storage.ChunkQueryable.
func (noChunks) ChunkQuerier(_, _ int64) (storage.ChunkQuerier, error) {
	return storage.NoopChunkedQuerier(), nil
}

// Engine gives the query engine and its parser, for the HTTP API on top of it.
func (db *DB) Engine() (*promql.Engine, parser.Parser) { return db.engine, db.parser }

// Appendable lets a rule engine on top of a storage that Open made write what
// it records.
func (db *DB) Appendable() storage.AppendableV2 { return appendable{db} }

type appendable struct{ db *DB }

// AppenderV2 implements storage.AppendableV2.
func (a appendable) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return a.db.head.AppenderV2(ctx)
}

// sharedQuerier narrows a querier of all times to [mint, maxt] and leaves its
// end to the owner.
type sharedQuerier struct {
	storage.Querier

	mint, maxt int64
}

// Select implements storage.Querier.
func (q sharedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, ms ...*matcher) storage.SeriesSet {
	if hints == nil {
		hints = &storage.SelectHints{Start: q.mint, End: q.maxt}
	}
	return q.Querier.Select(ctx, sorted, hints, ms...)
}

// Close implements storage.Querier.
func (sharedQuerier) Close() error { return nil }
