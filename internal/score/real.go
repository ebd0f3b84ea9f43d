package score

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/flightrec"
	"github.com/collwatch/collwatch/internal/testdata"
)

// Recording is the result on one set of real data.
type Recording struct {
	Set, Expected, Got string
	Fine               bool
}

// Recordings plays all real sets that are there; without any the list is empty.
func Recordings() ([]Recording, error) {
	dir := testdata.Find()
	if dir == "" {
		return nil, nil
	}
	var out []Recording
	for _, play := range []func(string) ([]Recording, error){stragglers, flightRecorders, nab} {
		rs, err := play(dir)
		if err != nil {
			return nil, fmt.Errorf("recordings: %w", err)
		}
		out = append(out, rs...)
	}
	return out, nil
}

// phases are the offsets of evaluations that are tried: which dumps a tick sees
// is luck.
const phases = 10

// stragglers replays the series of recorded training jobs.
func stragglers(dir string) ([]Recording, error) {
	var out []Recording
	for _, set := range []struct {
		name, expected string
		fine           func(events []incidents.Event, begin time.Time) (string, bool)
	}{
		{"AR", "the slowed GPU gpu-a01/GPU0 and nobody else, within 240 s", slowedWorker},
		{"ST", "nobody named: a heavy last stage", func(events []incidents.Event, _ time.Time) (string, bool) {
			return "nobody named", len(names(events)) == 0
		}},
	} {
		file := filepath.Join(dir, "straggler", set.name, "inspector.om.gz")
		if _, err := os.Stat(file); err != nil {
			continue
		}
		fine, last := 0, ""
		for i := range phases {
			events, begin, err := replay(file, time.Duration(i)*Interval/phases)
			if err != nil {
				return nil, err
			}
			got, ok := set.fine(events, begin)
			if ok {
				fine++
			} else {
				got = strings.Join(names(events), ", ")
			}
			if last == "" || !ok {
				last = got
			}
		}
		out = append(out, Recording{"StragglerAnalysis " + set.name, set.expected, fmt.Sprintf("%d of %d phases of the evaluation; %s", fine, phases, last), fine == phases})
	}
	return out, nil
}

// slowedWorker checks the only culprit of recording AR.
func slowedWorker(events []incidents.Event, begin time.Time) (string, bool) {
	who := names(events)
	for _, e := range events {
		if len(e.Incident.NamedSuspects()) > 0 && e.Kind == incidents.EventOpen {
			after := e.Time.Sub(begin)
			return fmt.Sprintf("named after %s", after), slices.Equal(who, []string{"gpu-a01/GPU0"}) && after <= 240*time.Second
		}
	}
	return "", false
}

// names lists who was named by anything that is told.
func names(events []incidents.Event) []string {
	var out []string
	for _, e := range events {
		for _, s := range e.Incident.NamedSuspects() {
			if n := incidents.SuspectText(s); e.Incident.Severity > diagnosis.Recorded && !aboutJob(s) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// replay sends a recording through the daemon's line.
func replay(file string, offset time.Duration) (events []incidents.Event, begin time.Time, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, begin, err
	}
	defer func() { _ = f.Close() }()
	in, err := gzip.NewReader(f)
	if err != nil {
		return nil, begin, fmt.Errorf("%s: %w", file, err)
	}
	db, err := embedprom.Open(embedprom.Options{})
	if err != nil {
		return nil, begin, err
	}
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	if _, err := db.LoadOpenMetrics(ctx, in, nil); err != nil {
		return nil, begin, fmt.Errorf("%s: %w", file, err)
	}
	line, err := newLine(db.Querier())
	if err != nil {
		return nil, begin, err
	}
	first, last := db.TimeRange()
	begin = first.Truncate(time.Hour) // recordings begin on the hour
	err = line.Replay(ctx, begin.Add(offset), last, Interval, func(t engine.Tick) error {
		events = append(events, t.Events...)
		return t.Err
	})
	return events, begin, err
}

// flightRecorders applies the waits-for graph to the dumps of hung jobs.
func flightRecorders(dir string) ([]Recording, error) {
	folders, err := filepath.Glob(filepath.Join(dir, "flight-recorder", "*", "expect.json"))
	if err != nil {
		return nil, err
	}
	var out []Recording
	for _, path := range folders {
		var want struct {
			Required []int `json:"required_suspects"`
			Allowed  []int `json:"allowed_suspects"`
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, &want); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		got, err := hung(filepath.Join(filepath.Dir(path), "pickle"))
		if err != nil {
			return nil, err
		}
		fine := !slices.ContainsFunc(got, func(r int) bool { return !slices.Contains(want.Allowed, r) }) &&
			!slices.ContainsFunc(want.Required, func(r int) bool { return !slices.Contains(got, r) })
		out = append(out, Recording{"flight recorder " + filepath.Base(filepath.Dir(path)), fmt.Sprintf("ranks %v, none but %v", want.Required, want.Allowed), fmt.Sprintf("ranks %v", got), fine})
	}
	return out, nil
}

// hung returns the ranks that a hung job waits for.
func hung(folder string) ([]int, error) {
	files, err := filepath.Glob(filepath.Join(folder, "_dump_*"))
	if err != nil {
		return nil, err
	}
	var dumps []*flightrec.Dump
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d, err := flightrec.Decode(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if d.Rank < 0 {
			if _, err := fmt.Sscanf(filepath.Base(file), "_dump_%d", &d.Rank); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		dumps = append(dumps, d)
	}
	r, err := flightrec.Analyse(dumps)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return r.Roots, nil
}
