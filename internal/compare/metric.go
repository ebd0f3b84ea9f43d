package compare

import (
	"fmt"
	"math"
	"strconv"
)

// Metric is what is measured of a row.
type Metric uint8

// The metrics of a row, then those of the whole run.
const (
	// Time is the mean execution time of one operation in seconds: transfer and
	// waiting.
	Time Metric = iota
	// Bandwidth is the bus bandwidth in bytes per second. Exporters average it
	// geometrically and times arithmetically, so one is never computed from the
	// other.
	Bandwidth
	// Transfer is the least time of the members of a communicator in seconds:
	// the last to arrive does not wait.
	Transfer
	// Lateness is the part of Time that is waiting for the last to arrive,
	// 0 to 1: (mean − least) / mean.
	Lateness
	// Share is the part of wall time inside these operations, 0 to 1 (more if
	// they overlap).
	Share

	// StepTime is what the trainer itself says, in seconds.
	StepTime
	// SMActive, TensorActive and DRAMActive are ratios of the job's GPUs.
	SMActive
	TensorActive
	DRAMActive
	// CPUPressure is the stall of the job's hosts for want of CPU, in seconds per
	// second.
	CPUPressure

	numMetrics
)

const (
	rowMetrics  = Share + 1
	firstOfRun  = StepTime
	unitSeconds = "s"
)

type metricMeta struct {
	name, title, unit string
	// bad is +1 where more is worse, −1 where less is, 0 where neither is.
	bad int8
	// points says that values are ratios whose change is a difference in
	// percentage points, because they may be near zero.
	points bool
	// decides says that the verdict rests on it; the others explain.
	decides bool
}

var metrics = [numMetrics]metricMeta{
	Time:         {"time", "mean time", unitSeconds, 1, false, true},
	Bandwidth:    {"bandwidth", "bus bandwidth", "B/s", -1, false, true},
	Transfer:     {"transfer", "transfer", unitSeconds, 1, false, true},
	Lateness:     {"lateness", "waiting", "", 1, true, false},
	Share:        {"share", "share of wall time", "", 1, true, false},
	StepTime:     {"step_time", "step time", unitSeconds, 1, false, false},
	SMActive:     {"sm_active", "SM active", "", 0, true, false},
	TensorActive: {"tensor_active", "tensor cores active", "", 0, true, false},
	DRAMActive:   {"dram_active", "DRAM active", "", 0, true, false},
	CPUPressure:  {"cpu_pressure", "CPU pressure", "", 1, true, false},
}

// String is the name of the metric in files and JSON.
func (m Metric) String() string { return metrics[m].name }

// Title is the name of the metric for people.
func (m Metric) Title() string { return metrics[m].title }

// MarshalText implements encoding.TextMarshaler.
func (m Metric) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Metric) UnmarshalText(b []byte) error {
	for i := range metrics {
		if metrics[i].name == string(b) {
			*m = Metric(i)
			return nil
		}
	}
	return fmt.Errorf("unknown metric %q", b)
}

// Values beyond these are no measurements: what an exporter writes is foreign, and
// a baseline file must be read again.
const (
	leastValue = 1e-12
	mostValue  = 1e18
)

// plausible says that v may be a value of the metric.
func (m Metric) plausible(v float64) bool {
	return v >= 0 && v <= mostValue && (v >= leastValue || metrics[m].points)
}

// Format writes a value of the metric with its unit.
func (m Metric) Format(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case metrics[m].points:
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	case m == Bandwidth:
		return significant(v/1e9) + " GB/s"
	case v < 1e-3:
		return significant(v*1e6) + " µs"
	case v < 1:
		return significant(v*1e3) + " ms"
	}
	return significant(v) + " s"
}

// significant writes three significant digits without an exponent.
func significant(v float64) string {
	if v == 0 || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	return strconv.FormatFloat(v, 'f', min(max(digits, 0), 9), 64)
}

// FormatChange writes a change: percent of the value, or percentage points.
func (m Metric) FormatChange(v float64) string {
	unit := " %"
	if metrics[m].points {
		unit = " pt"
	}
	switch {
	case math.IsNaN(v):
		return "–"
	case v > 10:
		return fmt.Sprintf("×%.0f", 1+v)
	}
	return fmt.Sprintf("%+.1f", 100*v) + unit
}
