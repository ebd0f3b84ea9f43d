package compare

import (
	"slices"
	"time"
)

// maxBlocks is the number of blocks of time that a record keeps of a series. It
// is enough for an interval and few enough for a file in a repository.
const maxBlocks = 48

// Record is what one job or time range did, reduced to what a comparison needs.
type Record struct {
	// Source says what it was made from: "job 48213".
	Source string
	// Jobs are the jobs seen, sorted.
	Jobs []string
	// From and To bound the samples that were used.
	From, To time.Time
	// Ticks counts the evaluations read, Incomplete those of which the series of
	// collectives were not whole.
	Ticks, Incomplete int
	// Rows are sorted by key.
	Rows []Row
	// Run has the series of the whole run: step time and contention.
	Run []Series
	// Faults are the incidents of the time, as far as anybody looked for them,
	// sorted by their beginning.
	Faults []Fault
	// Unwatched says why faults could not be looked for, "" if they could.
	Unwatched string
	// Hosts are the hosts whose GPUs showed a row, sorted. A baseline file does not
	// keep them.
	Hosts []string
	// GPUs are the model names of the GPUs, sorted; empty if nobody tells.
	GPUs []string
}

// Row is one kind of operation.
type Row struct {
	Key
	// Bytes is the median message size, 0 unknown.
	Bytes float64
	// Groups counts the communicators, Members the GPUs that showed the row,
	// Expected those that the communicators should have (0 unknown).
	Groups, Members, Expected int
	// Windows counts the windows of time with new values.
	Windows int
	// Series has one entry per metric that could be computed, sorted by metric.
	Series []Series
}

// Series is a metric over time: medians of consecutive blocks of equal length.
type Series struct {
	Metric Metric
	Blocks []float64
}

// Of returns the blocks of a metric, nil if the row has none.
func (r *Row) Of(m Metric) []float64 { return find(r.Series, m) }

func find(list []Series, m Metric) []float64 {
	for i := range list {
		if list[i].Metric == m {
			return list[i].Blocks
		}
	}
	return nil
}

// Median is the median of a metric over time, NaN if the row has none.
func (r *Row) Median(m Metric) float64 { return median(slices.Clone(r.Of(m))) }

// row returns the row of a key.
func (r *Record) row(k Key) *Row {
	i, ok := slices.BinarySearchFunc(r.Rows, k, func(row Row, k Key) int { return compareKeys(row.Key, k) })
	if !ok {
		return nil
	}
	return &r.Rows[i]
}

// Duration is the time from the first to the last sample used.
func (r *Record) Duration() time.Duration { return r.To.Sub(r.From) }
