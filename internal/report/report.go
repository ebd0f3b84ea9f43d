package report

import (
	"math"
	"time"

	"github.com/collwatch/collwatch/internal/compare"
)

// Incident is an incident of the job's time as the page shows it.
type Incident struct {
	ID         string
	From       time.Time
	To         time.Time // zero while it lasts
	Class      string
	Severity   string
	Confidence string
	Summary    string
	// Suspect is the component named, "" if none could be.
	Suspect  string
	NextStep string
	Owner    string
}

// Report is what there is to say about one job.
type Report struct {
	Job         string
	Name, User  string
	From, To    time.Time
	Hosts, GPUs int
	// HostsRead is how many of the HostsKnown of the cluster were looked at: those of
	// the job, those around, and some elsewhere. Zero if all were.
	HostsRead, HostsKnown int

	Record          *compare.Record
	Costs           []Cost
	Health          []Point
	Heat            Heat
	Incidents       []Incident
	Advice          []Advice
	FailedTicks     int
	Ticks           int
	MeasuredShare   bool // the share of wall time could be computed
	WaitingOverall  float64
	SlowestRelative float64
}

// Cost is one kind of operation.
type Cost struct {
	Key       compare.Key
	Share     float64 // of wall time, NaN unknown
	Time      float64 // s per operation
	Bandwidth float64 // B/s, NaN unknown
	Transfer  float64 // s, NaN unknown
	Waiting   float64 // part of Time, NaN unknown
	// Spread is how much the time varied: the ninth decile of its blocks over
	// their median, minus one.
	Spread float64
}

// Point is the health at one column of time.
type Point struct {
	At time.Time
	// Relative is the time of operations over their own median, NaN without any.
	Relative float64
	// Waiting is the part of their time that is waiting, NaN unknown.
	Waiting float64
}

// Heat is who was late when.
type Heat struct {
	// Rows names GPUs, or hosts where there are too many GPUs.
	Rows []string
	// Hosts says that rows are hosts.
	Hosts bool
	// Cells holds, per row, one value a column of time: by what part of the
	// others' time a member's own is shorter, because it came last and did not
	// wait. 0 is on time, NaN is no value.
	Cells [][]float64
}

// Columns is the number of columns of time in health and heat map.
const Columns = 72

// maxRows is how many rows a heat map may have before GPUs are folded into hosts.
const maxRows = 160

// column is the column of time of an instant, -1 outside.
func (r *Report) column(t time.Time) int {
	all := r.To.Sub(r.From)
	if all <= 0 || t.Before(r.From) || t.After(r.To) {
		return -1
	}
	return min(Columns-1, int(float64(Columns)*float64(t.Sub(r.From))/float64(all)))
}

// start is the beginning of a column of time.
func (r *Report) start(column int) time.Time {
	return r.From.Add(time.Duration(float64(r.To.Sub(r.From)) * float64(column) / Columns))
}

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
