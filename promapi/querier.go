package promapi

import (
	"context"
	"time"
)

// Querier answers PromQL. Implementations are safe for concurrent use as long
// as each call has its own Result.
type Querier interface {
	// Instant evaluates expr at t and fills dst, whose former content is
	// dropped and whose memory is reused. A range selector as expr gives the
	// raw samples with their own timestamps: that is the live form of a
	// signal. An error is a *Error where its class is known. dst may be used
	// after an error only if the error's class is ClassIncomplete.
	Instant(ctx context.Context, expr string, t time.Time, dst *Result) error

	// Range evaluates expr at each multiple of w.Step in [w.Start, w.End],
	// cut into slices on fixed boundaries. For warm-up only: it loses the
	// samples' own timestamps.
	Range(ctx context.Context, expr string, w Window, dst *Result) error

	// LabelValues lists the values of a label among series that match any of
	// the selectors, in alphabetical order.
	LabelValues(ctx context.Context, label string, selectors []string, w Window) ([]string, error)

	// Interner resolves the Refs in the Results of this Querier.
	Interner() *Interner
}

// Window is a closed interval of evaluation times. Step is unused by
// LabelValues.
type Window struct {
	Start, End time.Time
	Step       time.Duration
}

// Sample is one raw sample. T is in Unix milliseconds.
type Sample struct {
	T int64
	V float64
}

// Result is a decoded answer in columns. Series i has the samples
// Samples[Offsets[i]:Offsets[i+1]], in the order of time; its label set is
// Interner.Labels(Refs[i]). len(Offsets) is len(Refs)+1.
type Result struct {
	Refs    []Ref
	Offsets []int32
	Samples []Sample

	// Warnings are the server's warnings; a non-empty list means that the
	// answer is not whole. Infos are remarks that do not mark the answer.
	Warnings []string
	Infos    []string
	// Partial is the server's own statement that parts are missing.
	Partial bool
	// Bytes is the size of the body, 0 for an embedded engine.
	Bytes int64
}

// Reset empties r and keeps its memory.
func (r *Result) Reset() {
	r.Refs = r.Refs[:0]
	r.Offsets = append(r.Offsets[:0], 0)
	r.Samples = r.Samples[:0]
	r.Warnings = nil
	r.Infos = nil
	r.Partial = false
	r.Bytes = 0
}

// Len is the number of series.
func (r *Result) Len() int { return len(r.Refs) }

// Of returns the samples of series i. The slice is valid until the next
// Reset.
func (r *Result) Of(i int) []Sample { return r.Samples[r.Offsets[i]:r.Offsets[i+1]] }

// Begin starts a new series. Add appends samples to it.
func (r *Result) Begin(ref Ref) {
	if len(r.Offsets) == 0 {
		r.Offsets = append(r.Offsets, 0)
	}
	r.Refs = append(r.Refs, ref)
	r.Offsets = append(r.Offsets, int32(len(r.Samples)))
}

// Add appends a sample to the series begun last.
func (r *Result) Add(t int64, v float64) {
	r.Samples = append(r.Samples, Sample{T: t, V: v})
	r.Offsets[len(r.Offsets)-1] = int32(len(r.Samples))
}
