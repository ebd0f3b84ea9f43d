package embedprom

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// maxTimestamp is 2200-01-01. Anything later is a timestamp in the wrong unit.
const maxTimestamp = 7258118400000

var (
	errNoTimestamp = errors.New("sample without a timestamp: collwatch reads history, so each sample needs its time")
	errValue       = errors.New("expected a number after the series")
	errTrailing    = errors.New("unexpected text after the timestamp")
	errSeries      = errors.New("expected a series such as name{label=\"value\"}")
)

// sampleLine is one line of an OpenMetrics text that holds a sample.
type sampleLine struct {
	series []byte // name and labels as written
	t      int64  // Unix milliseconds
	v      float64
}

// parseSample cuts a sample line into its parts. It does not look into the
// series, which has been seen before in all but a few lines; newSeries does.
func parseSample(line []byte) (sampleLine, error) {
	var s sampleLine
	n := seriesEnd(line)
	if n <= 0 || n >= len(line) || line[n] != ' ' {
		return s, errSeries
	}
	s.series = line[:n]
	number, rest, more := bytes.Cut(line[n+1:], []byte{' '})
	v, err := parseNumber(number)
	if err != nil {
		return s, fmt.Errorf("%w, got %.40q", errValue, number)
	}
	s.v = v
	if !more || len(rest) > 0 && rest[0] == '#' {
		return s, errNoTimestamp
	}
	stamp, rest, more := bytes.Cut(rest, []byte{' '})
	if more && (len(rest) == 0 || rest[0] != '#') { // an exemplar may follow
		return s, errTrailing
	}
	s.t, err = parseTimestamp(stamp)
	return s, err
}

// seriesEnd returns the index behind the series at the start of line, -1 if
// its braces do not close.
func seriesEnd(line []byte) int {
	i := bytes.IndexAny(line, " {")
	if i < 0 || line[i] == ' ' {
		return i
	}
	for i++; i < len(line); i++ {
		switch line[i] {
		case '}':
			return i + 1
		case '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}

// parseNumber accepts what OpenMetrics accepts, which is less than Go does.
func parseNumber(b []byte) (float64, error) {
	if len(b) == 0 || bytes.ContainsAny(b, "pPxX_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 64)
}

func parseTimestamp(b []byte) (int64, error) {
	sec, err := parseNumber(b)
	if err != nil {
		return 0, fmt.Errorf("expected a timestamp in seconds, got %.40q", b)
	}
	ms := math.Round(sec * 1000)
	if !(ms >= 0 && ms <= maxTimestamp) { // false for NaN too
		return 0, fmt.Errorf("timestamp %.40q is not between 1970 and 2200: timestamps are in seconds, not milliseconds", b)
	}
	return int64(ms), nil
}

// newSeries parses the series of a whole sample line.
func newSeries(line []byte, symbols *labels.SymbolTable) (labels.Labels, error) {
	text := make([]byte, 0, len(line)+8)
	text = append(text, line...)
	text = append(text, "\n# EOF\n"...)
	p := textparse.NewOpenMetricsParser(text, symbols)
	kind, err := p.Next()
	if err != nil {
		return labels.EmptyLabels(), err
	}
	if kind != textparse.EntrySeries {
		return labels.EmptyLabels(), errSeries
	}
	var ls labels.Labels
	p.Labels(&ls)
	if name, twice := ls.HasDuplicateLabelNames(); twice {
		return labels.EmptyLabels(), fmt.Errorf("label %q occurs twice", name)
	}
	return ls, nil
}
