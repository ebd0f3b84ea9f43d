package promapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decoder reads the answer of an instant or range query into a Result. A series
// whose label set was seen before costs no allocation.
type decoder struct {
	scanner

	cache  *refCache
	table  *refTable
	guess  uint32 // entry of the table that the next series may have
	name   []byte
	parser labelParser
	dst    *Result

	// seen has a bit for each Ref that was already in this answer.
	seen []uint64

	status    string
	errorType string
	errorText string
	stats     queryStats

	duplicates int  // series that came twice
	disorder   bool // some series needs sorting or merging
	histograms int  // native histogram samples, which are left out
}

// queryStats is what a server says about the cost of a query when asked with
// stats=1.
type queryStats struct {
	Samples struct {
		Total int64 `json:"totalQueryableSamples"`
		Peak  int64 `json:"peakSamples"`
	} `json:"samples"`
}

func newDecoder(cache *refCache) *decoder { return &decoder{cache: cache} }

// maxText bounds error texts and warnings; maxWarnings their number.
const (
	maxText     = 1 << 10
	maxWarnings = 20
)

// decode reads the whole of r into dst. The error is a *syntaxError if r is no
// answer of a Prometheus API; what the server itself says about errors is in
// status, errorType and errorText.
func (d *decoder) decode(r io.Reader, dst *Result) error {
	d.reset(r)
	d.dst, d.table = dst, d.cache.current()
	d.status, d.errorType, d.errorText, d.stats = "", "", "", queryStats{}
	d.duplicates, d.disorder, d.histograms, d.guess = 0, false, 0, 0
	clear(d.seen)
	dst.Reset()
	if err := d.members(d.topLevel); err != nil {
		return err
	}
	if c := d.peek(); c != 0 {
		return d.fail("nothing")
	}
	if !errors.Is(d.err, io.EOF) {
		return d.err
	}
	if d.status != "success" && d.status != "error" {
		return &syntaxError{offset: d.off, want: `a "status"`}
	}
	if d.disorder {
		dst.mend()
	}
	return nil
}

// members calls member for each member of an object, with its name. The name is
// valid until member reads.
func (d *decoder) members(member func(name []byte) error) error {
	if err := d.take('{'); err != nil {
		return err
	}
	if d.peek() == '}' {
		d.pos++
		return nil
	}
	for {
		name, err := d.str()
		if err != nil {
			return err
		}
		// Looking for the colon may move the buffer.
		d.name = append(d.name[:0], name...)
		if err := d.take(':'); err != nil {
			return err
		}
		if err := member(d.name); err != nil {
			return err
		}
		if done, err := d.next('}'); done || err != nil {
			return err
		}
	}
}

// next steps over a comma or the closing bracket and says whether it was the
// latter.
func (d *decoder) next(closing byte) (bool, error) {
	switch d.peek() {
	case ',':
		d.pos++
		return false, nil
	case closing:
		d.pos++
		return true, nil
	}
	return false, d.fail(", or " + string(closing))
}

func (d *decoder) topLevel(name []byte) (err error) {
	switch string(name) {
	case "status":
		d.status, err = d.text()
	case "errorType":
		d.errorType, err = d.text()
	case "error":
		d.errorText, err = d.text()
	case "warnings":
		d.dst.Warnings, err = d.texts(d.dst.Warnings)
	case "infos":
		d.dst.Infos, err = d.texts(d.dst.Infos)
	case "isPartial":
		d.dst.Partial = d.peek() == 't'
		err = d.skip()
	case "data":
		if d.peek() != '{' {
			return d.skip() // null in an error
		}
		err = d.members(d.data)
	default:
		err = d.skip()
	}
	return err
}

func (d *decoder) data(name []byte) error {
	switch string(name) {
	case "result":
		return d.result()
	case "stats":
		if d.peek() != '{' {
			return d.skip()
		}
		return d.readStats()
	}
	return d.skip() // resultType: the result itself says what it is
}

func (d *decoder) readStats() error {
	d.need(ahead)
	// The object is small and nested, so the standard library reads a copy.
	start, depth, end := d.pos, 0, -1
	for i := start; i < len(d.buf) && end < 0; i++ {
		switch d.buf[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				end = i + 1
			}
		}
	}
	if end > 0 {
		var st queryStats
		if json.Unmarshal(d.buf[start:end], &st) == nil {
			d.stats = st
		}
	}
	return d.skip()
}

// text reads a string, or null as an empty one, and keeps its beginning.
func (d *decoder) text() (string, error) {
	if d.peek() != '"' {
		return "", d.skip()
	}
	raw, err := d.str()
	if err != nil {
		return "", err
	}
	offset := d.off + int64(d.pos)
	text, ok := appendText(nil, raw)
	if !ok {
		return "", &syntaxError{offset: offset, want: "a string"}
	}
	return clip(string(text)), nil
}

// clip shortens a text of a server to what a log line bears.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

func (d *decoder) texts(dst []string) ([]string, error) {
	if d.peek() != '[' {
		return dst, d.skip()
	}
	d.pos++
	if d.peek() == ']' {
		d.pos++
		return dst, nil
	}
	more := 0
	for {
		s, err := d.text()
		if err != nil {
			return dst, err
		}
		if len(dst) < maxWarnings {
			dst = append(dst, s)
		} else {
			more++
		}
		if done, err := d.next(']'); err != nil {
			return dst, err
		} else if done {
			break
		}
	}
	if more > 0 {
		dst = append(dst, fmt.Sprintf("and %d more", more))
	}
	return dst, nil
}
