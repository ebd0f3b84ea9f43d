package compare

import (
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// window is what one communicator showed in one window.
type window struct {
	at    int64 // ms
	value [rowMetrics]float64
	has   [rowMetrics]bool
	bytes float64
}

func (w *window) set(m Metric, v float64) {
	if m.plausible(v) {
		w.value[m], w.has[m] = v, true
	}
}

// cells is a series of means over equal cells of time. The mean is taken over
// communicators, so that one slow among eight is seen; robustness comes later,
// from the median over time.
type cells struct {
	cell int64
	acc  mean
	out  []float64
}

func (c *cells) add(cell int64, v float64) {
	if cell != c.cell {
		c.flush()
		c.cell = cell
	}
	c.acc.add(v)
}

func (c *cells) flush() {
	if c.acc.n > 0 {
		c.out = append(c.out, c.acc.value())
	}
	c.acc = mean{}
}

func (c *cells) done() []float64 {
	c.flush()
	return c.out
}

// row gathers the windows of all communicators of one key.
type row struct {
	Key
	groups map[string]int32 // ranks by group
	things map[signals.Entity]bool
	cells  [rowMetrics]cells
	bytes  []float64
	width  int64 // ms, of a cell
	cell   int64
	count  int
}

// put adds a window to the cell of time in which it closed.
func (r *row) put(w *window) {
	if cell := w.at / r.width; cell != r.cell {
		r.cell = cell
		r.count++
		if w.bytes > 0 {
			r.bytes = append(r.bytes, w.bytes)
		}
	}
	for m := range rowMetrics {
		if w.has[m] {
			r.cells[m].add(r.cell, w.value[m])
		}
	}
}

func (r *row) record() Row {
	out := Row{Key: r.Key, Groups: len(r.groups), Members: len(r.things), Windows: r.count}
	for _, n := range r.groups {
		out.Expected += int(n)
	}
	if len(r.bytes) > 0 {
		out.Bytes = median(slices.Clone(r.bytes))
	}
	for m := range rowMetrics {
		if xs := r.cells[m].done(); len(xs) > 0 {
			out.Series = append(out.Series, Series{m, reduce(xs)})
		}
	}
	return out
}
