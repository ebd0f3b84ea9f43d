package score

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/collwatch/collwatch/detectors"
)

// nabBar is the score of the windowed Gaussian on the files used here: the plain
// statistic that a chart with robust limits has to beat.
const nabBar = 24.3

// nabTime is how the Numenta Anomaly Benchmark writes times.
const nabTime = "2006-01-02 15:04:05"

// nab scores the univariate core on the Numenta Anomaly Benchmark by its
// standard profile. Its series have nothing to do with collectives; the score is
// there to notice when the core gets worse.
func nab(dir string) ([]Recording, error) {
	b, err := os.ReadFile(filepath.Join(dir, "nab", "combined_windows.json"))
	if err != nil {
		return nil, nil //nolint:nilerr // the set is not there
	}
	var windows map[string][][2]string
	if err := json.Unmarshal(b, &windows); err != nil {
		return nil, fmt.Errorf("windows of the benchmark: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "nab", "*", "*.csv.gz"))
	if err != nil {
		return nil, err
	}
	var got, null, best float64
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".gz")
		s, err := scoreNAB(file, windows[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		got, null, best = got+s, null-float64(len(windows[name])), best+float64(len(windows[name]))
	}
	v := 100 * (got - null) / (best - null)
	return []Recording{{fmt.Sprintf("NAB, univariate core, %d files", len(files)), fmt.Sprintf("above %.1f (windowed Gaussian)", nabBar), fmt.Sprintf("%.1f of 100: it looks for lasting changes of 10 %% and more, and most windows here are bursts and days of the week", v), v > nabBar}}, nil
}

// scoreNAB runs a chart over one file and scores its detections: 1 for one at
// the begin of a window, less for later ones, -1 for a window without any, -0.11
// at most for each one outside.
func scoreNAB(file string, list [][2]string) (float64, error) {
	times, values, err := readNAB(file)
	if err != nil || len(times) < 2 {
		return 0, err
	}
	windows, err := nabWindows(list)
	if err != nil {
		return 0, err
	}
	found, total := make([]bool, len(windows)), 0.0
	sigmoid := func(y float64) float64 { return 2/(1+math.Exp(5*y)) - 1 }
	for _, at := range detectionsNAB(times, values) {
		switch k, y := placeNAB(windows, at); {
		case k >= 0 && !found[k]:
			found[k] = true
			total += sigmoid(y) / sigmoid(-1)
		case k >= 0:
		case math.IsInf(y, 1):
			total -= 0.11
		default:
			total += 0.11 * sigmoid(y)
		}
	}
	for _, ok := range found {
		if !ok {
			total--
		}
	}
	return total, nil
}

// windowNAB is a time in which a detection counts.
type windowNAB struct{ from, to time.Time }

func nabWindows(list [][2]string) ([]windowNAB, error) {
	var out []windowNAB
	for _, w := range list {
		from, err1 := time.Parse(nabTime, strings.TrimSuffix(w[0], ".000000"))
		to, err2 := time.Parse(nabTime, strings.TrimSuffix(w[1], ".000000"))
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("window %v", w)
		}
		out = append(out, windowNAB{from, to})
	}
	return out, nil
}

// placeNAB is where a detection lies, in lengths of a window behind its end: in
// window k, or in none (-1) and behind the last one before it, +Inf before all.
func placeNAB(windows []windowNAB, at time.Time) (k int, y float64) {
	y = math.Inf(1)
	for i, w := range windows {
		width := w.to.Sub(w.from).Seconds()
		if !at.Before(w.from) && !at.After(w.to) {
			return i, -1 + at.Sub(w.from).Seconds()/width
		}
		if at.After(w.to) {
			y = at.Sub(w.to).Seconds() / width
		}
	}
	return -1, y
}

// detectionsNAB are the times at which the core begins to find something, after
// the part that it may learn from.
func detectionsNAB(times []time.Time, values []float64) (out []time.Time) {
	// One point is one window: the core knows windows of 30 s. A state that lasts
	// for a day of points is accepted, as a new job is.
	const window30, accept = 30 * time.Second, 288
	c := detectors.NewChart(detectors.EWMAOptions{}, window30)
	on, was := 0, false
	learn := min(len(times)*15/100, 750)
	low := math.Inf(1)
	for _, v := range values[:learn] {
		low = min(low, v)
	}
	for i := range times {
		// Every point has a time of its own: clocks were set back in some files.
		now := c.Observe(times[0].Add(time.Duration(i)*window30), max(values[i]-min(0, low), 1e-3))
		news := now && !was
		if was, on = now, on+1; !now {
			on = 0
		} else if on > accept {
			c, on, was = detectors.NewChart(detectors.EWMAOptions{}, window30), 0, false
		}
		if news && i >= learn {
			out = append(out, times[i])
		}
	}
	return out
}

func readNAB(file string) (times []time.Time, values []float64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	in, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, err
	}
	rows := csv.NewReader(in)
	for first := true; ; first = false {
		row, err := rows.Read()
		if err == io.EOF {
			return times, values, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if first {
			continue
		}
		at, err1 := time.Parse(nabTime, row[0])
		v, err2 := strconv.ParseFloat(row[1], 64)
		if err1 != nil || err2 != nil {
			return nil, nil, fmt.Errorf("row %v", row)
		}
		times, values = append(times, at), append(values, v)
	}
}
