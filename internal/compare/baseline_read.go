package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

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
	out := &Record{Source: f.Source, Jobs: f.Jobs, From: f.From.UTC(), To: f.To.UTC(), Ticks: f.Ticks, Incomplete: f.Incomplete, GPUs: f.GPUs, Faults: f.Faults}
	switch {
	case len(f.Rows) == 0 || len(f.Rows) > maxRows || len(f.Jobs) > maxJobs:
		return nil, fmt.Errorf("baseline: %d rows and %d jobs; there must be 1 to %d and at most %d", len(f.Rows), len(f.Jobs), maxRows, maxJobs)
	case f.Ticks < 0 || f.Incomplete < 0 || f.Incomplete > f.Ticks:
		return nil, fmt.Errorf("baseline: %d of %d evaluations are incomplete: impossible", f.Incomplete, f.Ticks)
	case f.To.Before(f.From) || year(f.From) || year(f.To):
		return nil, errors.New("baseline: from and to are no time range")
	}
	if err := checkFaults(f.Faults); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if len(f.GPUs) > maxModels || !slices.IsSorted(f.GPUs) {
		return nil, fmt.Errorf("baseline: gpus must be at most %d sorted names", maxModels)
	}
	for _, s := range slices.Concat(f.Jobs, f.GPUs, []string{f.Source}) {
		if len(s) > maxString || s != single(s) {
			return nil, errors.New("baseline: a name is longer than 256 bytes or has control characters")
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
	for _, s := range []string{r.Op, r.Size, r.Algo} {
		if len(s) > maxString || s != single(s) || r.Op == "" {
			return errors.New("op, size and algo must be texts of at most 256 bytes without control characters, and op not empty")
		}
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
			if !s.Metric.plausible(blocks[i]) {
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
