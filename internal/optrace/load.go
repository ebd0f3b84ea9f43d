package optrace

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Op is one operation of one worker.
type Op struct {
	Worker int // index into Trace.Workers
	Kind   string
	// End is since the step began; Took contains waiting for peers.
	End, Took time.Duration
}

// Step is one training step: its operations in the order of their ends.
type Step struct {
	Ops    []Op
	Length time.Duration
}

// Worker is where a rank sits and the names of its communicators.
type Worker struct {
	Rank, Replica, Stage      int
	Host, GPU                 string
	Data, Pipe, Embed, Tensor string
}

// Trace is a recorded job.
type Trace struct {
	Steps   []Step
	Workers []Worker
	// TensorSize is the number of ranks of a tensor-parallel group, of which
	// one is recorded.
	TensorSize int
}

// Load reads workers.csv and ops.csv.gz from a folder.
func Load(dir string) (*Trace, error) {
	t := &Trace{TensorSize: 1}
	byRank := map[int]int{}
	err := table(filepath.Join(dir, "workers.csv"), false, func(row func(string) string) error {
		w := Worker{
			Rank: number(row("rank")), Replica: number(row("dp")), Stage: number(row("stage")),
			Host: row("node"), GPU: row("gpu"),
			Data: row("dp_group"), Pipe: row("pp_group"), Embed: row("embedding_group"), Tensor: row("tp_group"),
		}
		if w.Tensor != "" {
			t.TensorSize = 4
		}
		byRank[w.Rank] = len(t.Workers)
		t.Workers = append(t.Workers, w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	steps := map[int]int{}
	err = table(filepath.Join(dir, "ops.csv.gz"), true, func(row func(string) string) error {
		id := number(row("step"))
		i, ok := steps[id]
		if !ok {
			i = len(t.Steps)
			steps[id] = i
			t.Steps = append(t.Steps, Step{})
		}
		worker, ok := byRank[number(row("rank"))]
		if !ok {
			return fmt.Errorf("rank %q is not in workers.csv", row("rank"))
		}
		took := time.Duration(number(row("duration_us"))) * time.Microsecond
		end := time.Duration(number(row("start_us")))*time.Microsecond + took
		s := &t.Steps[i]
		s.Length = max(s.Length, end)
		s.Ops = append(s.Ops, Op{Worker: worker, Kind: row("op"), End: end, Took: took})
		return nil
	})
	for i := range t.Steps {
		t.Steps[i].sort()
	}
	return t, err
}

func (s *Step) sort() {
	slices.SortStableFunc(s.Ops, func(a, b Op) int { return cmp.Compare(a.End, b.End) })
}

// table calls each for every row of a CSV file with a header.
func table(path string, zipped bool, each func(row func(string) string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	var in io.Reader = f
	if zipped {
		if in, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	r := csv.NewReader(in)
	r.ReuseRecord = true
	header, err := r.Read()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	column := map[string]int{}
	for i, name := range header {
		column[name] = i
	}
	for {
		record, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := each(func(name string) string { return record[column[name]] }); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

// number reads an integer column; the columns of the recordings are whole.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("optrace: %q is no number", s))
	}
	return n
}
