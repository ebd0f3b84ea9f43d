package sim

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// OpenMetrics is a Sink that keeps everything and writes it as OpenMetrics text
// with timestamps: the input of a replay. Staleness marks have no form in that
// text and are dropped, so a series that ends stays visible to a reader for the
// look-back of its engine.
type OpenMetrics struct {
	handles map[string]uint32
	names   []string
	labels  []string
	samples [][]sample
}

type sample struct {
	t int64
	v float64
}

// NewOpenMetrics returns an empty recorder.
func NewOpenMetrics() *OpenMetrics { return &OpenMetrics{handles: map[string]uint32{}} }

// Series implements Sink.
func (o *OpenMetrics) Series(labels ...string) uint32 {
	n := len(o.handles)
	h := intern(o.handles, labels)
	if len(o.handles) > n {
		o.names = append(o.names, labels[1])
		o.labels = append(o.labels, labelText(labels[2:]))
		o.samples = append(o.samples, nil)
	}
	return h
}

// labelText renders name/value pairs in braces, "" for none.
func labelText(pairs []string) string {
	if len(pairs) == 0 {
		return ""
	}
	escapes := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(pairs[i])
		b.WriteString(`="`)
		_, _ = escapes.WriteString(&b, pairs[i+1])
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

// Append implements Sink.
func (o *OpenMetrics) Append(h uint32, t int64, v float64) error {
	o.samples[h] = append(o.samples[h], sample{t, v})
	return nil
}

// Stale implements Sink.
func (o *OpenMetrics) Stale(uint32, int64) error { return nil }

// Len is the number of series.
func (o *OpenMetrics) Len() int { return len(o.names) }

// Write writes all series, grouped by name and in the order of time within
// each, and the end mark.
func (o *OpenMetrics) Write(w io.Writer) error {
	order := make([]int, len(o.names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if c := strings.Compare(o.names[a], o.names[b]); c != 0 {
			return c
		}
		return strings.Compare(o.labels[a], o.labels[b])
	})
	bw := bufio.NewWriterSize(w, 1<<20)
	last := ""
	var buf []byte
	for _, i := range order {
		if o.names[i] != last {
			last = o.names[i]
			// Exporters differ in the types they claim, and a replay must not
			// depend on them.
			fmt.Fprintf(bw, "# TYPE %s unknown\n", last)
		}
		for _, s := range o.samples[i] {
			buf = append(append(append(buf[:0], o.names[i]...), o.labels[i]...), ' ')
			buf = append(appendValue(buf, s.v), ' ')
			buf = strconv.AppendInt(buf, s.t/1000, 10)
			if ms := s.t % 1000; ms != 0 {
				buf = append(buf, '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
			}
			if _, err := bw.Write(append(buf, '\n')); err != nil {
				return fmt.Errorf("write series %s: %w", last, err)
			}
		}
	}
	if _, err := bw.WriteString("# EOF\n"); err != nil {
		return fmt.Errorf("write end of OpenMetrics text: %w", err)
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write OpenMetrics text: %w", err)
	}
	return nil
}

// WriteGzip is Write, compressed.
func (o *OpenMetrics) WriteGzip(w io.Writer) error {
	z := gzip.NewWriter(w)
	if err := o.Write(z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("compress OpenMetrics text: %w", err)
	}
	return nil
}

func appendValue(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
