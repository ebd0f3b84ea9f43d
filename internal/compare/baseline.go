package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	maxFaults = 1000
	maxModels = 100
)

type file struct {
	Version    int          `json:"collwatch_baseline"`
	Source     string       `json:"source"`
	Jobs       []string     `json:"jobs"`
	From       time.Time    `json:"from"`
	To         time.Time    `json:"to"`
	Ticks      int          `json:"evaluations"`
	Incomplete int          `json:"incomplete"`
	GPUs       []string     `json:"gpus"`
	Faults     []Fault      `json:"faults"`
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
	if len(r.GPUs) > 0 {
		err = errors.Join(err, put(" ", "gpus", r.GPUs, ","))
	}
	if len(r.Faults) > 0 {
		b.WriteString(" \"faults\": [\n")
		err = errors.Join(err, lines(&b, "  ", r.Faults))
		b.WriteString(" ],\n")
	}
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
	// Labels and values are foreign. A file that nobody can read would only be
	// found out when the series are gone.
	if _, err := ReadBaseline(bytes.NewReader(b.Bytes())); err != nil {
		return fmt.Errorf("nothing is saved, because it could not be read again: %w", err)
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

func lines[T any](b *bytes.Buffer, prefix string, list []T) error {
	for i := range list {
		text, err := json.Marshal(list[i])
		if err != nil {
			return fmt.Errorf("baseline: line %d: %w", i+1, err)
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
