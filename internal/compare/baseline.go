package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// fileVersion is the version of the baseline file. A file of another version is
// refused: a gate must not guess.
const fileVersion = 1

// Limits of a baseline file, which anybody may have edited.
const (
	maxFile   = 8 << 20
	maxRows   = 10_000
	maxJobs   = 10_000
	maxString = 256
)

type file struct {
	Version    int          `json:"collwatch_baseline"`
	Source     string       `json:"source"`
	Jobs       []string     `json:"jobs"`
	From       time.Time    `json:"from"`
	To         time.Time    `json:"to"`
	Ticks      int          `json:"evaluations"`
	Incomplete int          `json:"incomplete"`
	Rows       []fileRow    `json:"rows"`
	Run        []fileSeries `json:"run"`
}

type fileRow struct {
	Key

	Bytes    float64      `json:"bytes"`
	Groups   int          `json:"groups"`
	Members  int          `json:"members"`
	Expected int          `json:"expected"`
	Windows  int          `json:"windows"`
	Series   []fileSeries `json:"series"`
}

type fileSeries struct {
	Metric Metric `json:"metric"`
	Unit   string `json:"unit"`
	// Median and Low to High (the quartiles) are for readers of a diff; they are
	// worked out from the blocks, which alone count.
	Median number   `json:"median"`
	Low    number   `json:"low"`
	High   number   `json:"high"`
	Blocks []number `json:"blocks"`
}

// number is written with few significant digits: more would only make diffs
// larger than the noise.
type number float64

const digits = 5

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(n), 'g', digits, 64), nil
}

// WriteBaseline writes a record as a baseline file: JSON, one line for each
// metric, sorted, so that two files can be compared by eye.
func WriteBaseline(w io.Writer, r *Record) error {
	f := file{
		Version: fileVersion, Source: r.Source, Jobs: r.Jobs, From: r.From.UTC().Truncate(time.Second), To: r.To.UTC().Truncate(time.Second),
		Ticks: r.Ticks, Incomplete: r.Incomplete, Run: toFile(r.Run),
	}
	if len(r.Rows) == 0 {
		return errors.New("baseline: no collectives with new values in that time: there is nothing to save")
	}
	var b bytes.Buffer
	put := func(prefix, name string, v any, end string) error {
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("baseline: %s: %w", name, err)
		}
		fmt.Fprintf(&b, "%s%q: %s%s\n", prefix, name, text, end)
		return nil
	}
	b.WriteString("{\n")
	err := errors.Join(
		put(" ", "collwatch_baseline", f.Version, ","), put(" ", "source", f.Source, ","), put(" ", "jobs", notNil(f.Jobs), ","),
		put(" ", "from", f.From, ","), put(" ", "to", f.To, ","), put(" ", "evaluations", f.Ticks, ","), put(" ", "incomplete", f.Incomplete, ","),
	)
	b.WriteString(" \"rows\": [\n")
	for i := range r.Rows {
		row := &r.Rows[i]
		head, herr := json.Marshal(struct {
			Key

			Bytes    number `json:"bytes"`
			Groups   int    `json:"groups"`
			Members  int    `json:"members"`
			Expected int    `json:"expected"`
			Windows  int    `json:"windows"`
		}{row.Key, number(row.Bytes), row.Groups, row.Members, row.Expected, row.Windows})
		err = errors.Join(err, herr)
		b.WriteString("  " + string(bytes.TrimSuffix(head, []byte("}"))) + ",\n   \"series\": [\n")
		err = errors.Join(err, lines(&b, "    ", toFile(row.Series)))
		b.WriteString("   ]}" + comma(i, len(r.Rows)) + "\n")
	}
	b.WriteString(" ],\n \"run\": [\n")
	err = errors.Join(err, lines(&b, "  ", f.Run))
	b.WriteString(" ]\n}\n")
	if err != nil {
		return err
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func lines(b *bytes.Buffer, prefix string, list []fileSeries) error {
	for i := range list {
		text, err := json.Marshal(list[i])
		if err != nil {
			return fmt.Errorf("baseline: %s: %w", list[i].Metric, err)
		}
		b.WriteString(prefix + string(text) + comma(i, len(list)) + "\n")
	}
	return nil
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

func toFile(list []Series) []fileSeries {
	out := make([]fileSeries, len(list))
	for i, s := range list {
		f := fileSeries{Metric: s.Metric, Unit: metrics[s.Metric].unit}
		ordered := make([]float64, len(s.Blocks))
		for k, v := range s.Blocks {
			ordered[k] = rounded(v)
			f.Blocks = append(f.Blocks, number(ordered[k]))
		}
		slices.Sort(ordered)
		n := len(ordered)
		f.Median, f.Low, f.High = number(medianSorted(ordered)), number(ordered[n/4]), number(ordered[(3*n)/4])
		out[i] = f
	}
	return out
}

// rounded is a value as it will be read again, so that saving what was read
// changes nothing.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return v
}

// ReadBaseline reads a baseline file. It takes nothing for granted: the file may
// have been edited or merged.
func ReadBaseline(r io.Reader) (*Record, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("baseline: larger than %d MiB", maxFile>>20)
	}
	var head struct {
		Version *int `json:"collwatch_baseline"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("baseline: no JSON: %w", err)
	}
	switch {
	case head.Version == nil:
		return nil, errors.New(`baseline: no baseline file: "collwatch_baseline" is missing`)
	case *head.Version != fileVersion:
		return nil, fmt.Errorf("baseline: version %d is not understood, only %d: save it again", *head.Version, fileVersion)
	}
	var f file
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	return f.record()
}

func (f *file) record() (*Record, error) {
	out := &Record{Source: f.Source, Jobs: f.Jobs, From: f.From.UTC(), To: f.To.UTC(), Ticks: f.Ticks, Incomplete: f.Incomplete}
	switch {
	case len(f.Rows) == 0 || len(f.Rows) > maxRows || len(f.Jobs) > maxJobs:
		return nil, fmt.Errorf("baseline: %d rows and %d jobs; there must be 1 to %d and at most %d", len(f.Rows), len(f.Jobs), maxRows, maxJobs)
	case f.Ticks < 0 || f.Incomplete < 0 || f.Incomplete > f.Ticks:
		return nil, fmt.Errorf("baseline: %d of %d evaluations are incomplete: impossible", f.Incomplete, f.Ticks)
	case f.To.Before(f.From) || year(f.From) || year(f.To):
		return nil, errors.New("baseline: from and to are no time range")
	}
	for _, s := range append(append([]string(nil), f.Jobs...), f.Source) {
		if len(s) > maxString {
			return nil, errors.New("baseline: a name is longer than 256 bytes")
		}
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("baseline: row %d: %w", i+1, err)
		}
		series, err := fromFile(r.Series, 0, rowMetrics)
		if err != nil {
			return nil, fmt.Errorf("baseline: row %d (%s): %w", i+1, r.Key, err)
		}
		out.Rows = append(out.Rows, Row{Key: r.Key, Bytes: r.Bytes, Groups: r.Groups, Members: r.Members, Expected: r.Expected, Windows: r.Windows, Series: series})
	}
	slices.SortFunc(out.Rows, func(a, b Row) int { return compareKeys(a.Key, b.Key) })
	for i := 1; i < len(out.Rows); i++ {
		if out.Rows[i].Key == out.Rows[i-1].Key {
			return nil, fmt.Errorf("baseline: two rows are %s", out.Rows[i].Key)
		}
	}
	var err error
	if out.Run, err = fromFile(f.Run, firstOfRun, numMetrics); err != nil {
		return nil, fmt.Errorf("baseline: run: %w", err)
	}
	return out, nil
}

func year(t time.Time) bool { return t.Year() < 1970 || t.Year() > 9999 }

func (r *fileRow) check() error {
	const most = 10_000_000
	for _, n := range []int{int(r.NRanks), int(r.NNodes), r.Groups, r.Members, r.Expected, r.Windows} {
		if n < 0 || n > most {
			return fmt.Errorf("a count of %d is not between 0 and %d", n, most)
		}
	}
	if len(r.Op) > maxString || len(r.Size) > maxString || len(r.Algo) > maxString || r.Op == "" {
		return errors.New("op, size and algo must be texts of at most 256 bytes, and op not empty")
	}
	if !(r.Bytes >= 0) || r.Bytes > 1e18 {
		return fmt.Errorf("bytes are %g", r.Bytes)
	}
	return nil
}

func fromFile(list []fileSeries, from, to Metric) ([]Series, error) {
	var out []Series
	for _, s := range list {
		if s.Metric < from || s.Metric >= to {
			return nil, fmt.Errorf("metric %s does not belong here", s.Metric)
		}
		if len(s.Blocks) == 0 || len(s.Blocks) > maxBlocks {
			return nil, fmt.Errorf("%s has %d blocks, not 1 to %d", s.Metric, len(s.Blocks), maxBlocks)
		}
		blocks := make([]float64, len(s.Blocks))
		for i, v := range s.Blocks {
			blocks[i] = float64(v)
			if math.IsNaN(blocks[i]) || blocks[i] < 0 || blocks[i] > 1e18 || (blocks[i] < 1e-12 && !metrics[s.Metric].points) {
				return nil, fmt.Errorf("%s: block %d is %g", s.Metric, i+1, blocks[i])
			}
		}
		out = append(out, Series{s.Metric, blocks})
	}
	slices.SortFunc(out, func(a, b Series) int { return int(a.Metric) - int(b.Metric) })
	for i := 1; i < len(out); i++ {
		if out[i].Metric == out[i-1].Metric {
			return nil, fmt.Errorf("%s is there twice", out[i].Metric)
		}
	}
	return out, nil
}
