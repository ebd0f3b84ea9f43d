package embedprom

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/collwatch/collwatch/promapi"
)

const (
	maxLine     = 1 << 20 // bytes of one line
	reportEvery = 1 << 16 // lines
)

// LoadStats says how much of a text was loaded.
type LoadStats struct {
	Lines      int64
	Samples    int64
	Series     int64 // as written in this text
	Duplicates int64 // samples dropped since the series has another value at that time
}

// LoadError is a text that could not be read to its end. All samples before
// Line are loaded and usable.
type LoadError struct {
	Line int64 // first line that was not loaded, from 1
	Cut  bool  // the text ends there, in the middle or without "# EOF"
	Err  error
}

// Error implements error.
func (e *LoadError) Error() string {
	if e.Cut {
		return fmt.Sprintf("openmetrics: the text is cut off at line %d: %v; everything before it was loaded", e.Line, e.Err)
	}
	return fmt.Sprintf("openmetrics: line %d: %v; everything before it was loaded", e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

var (
	errNoEOF    = errors.New(`the last line is not "# EOF"`)
	errNoBreak  = errors.New("the line does not end")
	errAfterEOF = errors.New(`text goes on after "# EOF"`)
	errLong     = fmt.Errorf("longer than %d bytes", maxLine)
)

// LoadOpenMetrics reads OpenMetrics text, plain or gzip, whose samples carry
// timestamps. The text is streamed: its size does not matter, and families may
// follow each other in any order of time. progress may be nil; it is called
// now and then, from the same goroutine. The error is a *LoadError unless ctx
// ended.
func (db *DB) LoadOpenMetrics(ctx context.Context, r io.Reader, progress func(LoadStats)) (LoadStats, error) {
	l := &loader{
		sink:    db.Appender(),
		handles: make(map[string]uint32),
		symbols: labels.NewSymbolTable(),
	}
	err := l.run(ctx, r, progress)
	if cerr := l.sink.Commit(); cerr != nil && err == nil {
		err = &LoadError{Line: l.stats.Lines, Err: cerr}
	}
	if db.head != nil {
		db.head.ForceHeadMMap()
	}
	l.stats.Series = int64(len(l.handles))
	return l.stats, err
}

type loader struct {
	sink    *Sink
	handles map[string]uint32 // by the series as written
	symbols *labels.SymbolTable
	stats   LoadStats
	last    []promapi.Sample // newest sample by handle
	ended   bool
}

func (l *loader) run(ctx context.Context, r io.Reader, progress func(LoadStats)) error {
	in, err := plain(r)
	if err != nil {
		return l.cut(err)
	}
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case err == nil:
		case errors.Is(err, bufio.ErrBufferFull):
			return l.fail(errLong)
		case !errors.Is(err, io.EOF):
			return l.cut(err)
		case len(line) == 0 && l.ended:
			return nil
		case len(line) == 0:
			return l.cut(errNoEOF)
		case string(bytes.TrimRight(line, "\r")) != "# EOF":
			// Half a number is a number too, so the line is not used.
			return l.cut(errNoBreak)
		}
		if err := l.line(bytes.TrimRight(line, "\r\n")); err != nil {
			return l.fail(err)
		}
		l.stats.Lines++
		if l.stats.Lines%reportEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(l.stats)
			}
		}
	}
}

func (l *loader) fail(err error) error { return &LoadError{Line: l.stats.Lines + 1, Err: err} }
func (l *loader) cut(err error) error {
	return &LoadError{Line: l.stats.Lines + 1, Cut: true, Err: err}
}

func (l *loader) line(line []byte) error {
	switch {
	case l.ended:
		return errAfterEOF
	case len(line) == 0:
		return nil
	case line[0] == '#':
		l.ended = string(line) == "# EOF"
		return nil
	}
	s, err := parseSample(line)
	if err != nil {
		return err
	}
	h, ok := l.handles[string(s.series)]
	if !ok {
		ls, err := newSeries(line, l.symbols)
		if err != nil {
			return err
		}
		h = l.sink.series(ls)
		l.handles[string(s.series)] = h
		l.last = append(l.last, promapi.Sample{T: math.MinInt64})
	}
	// The storage would see this one only on commit, and drop it unsaid.
	if last := l.last[h]; last.T == s.t && math.Float64bits(last.V) != math.Float64bits(s.v) {
		l.stats.Duplicates++
		return nil
	}
	l.last[h] = promapi.Sample{T: s.t, V: s.v}
	switch err := l.sink.Append(h, s.t, s.v); {
	case errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
		l.stats.Duplicates++
		return nil
	case err != nil:
		return err
	}
	l.stats.Samples++
	return nil
}

// plain undoes gzip if r begins like gzip.
func plain(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, maxLine)
	if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		zr, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		return bufio.NewReaderSize(zr, maxLine), nil
	}
	return in, nil
}
