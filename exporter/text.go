package exporter

import (
	"bufio"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// textHandler answers scrapes of the plain text format itself and leaves the
// others to next. Labels are most of the text, and the client library writes
// them anew for each bucket of a histogram: writing them once halves the time
// of writing, which is most of a scrape's.
func textHandler(g prometheus.Gatherer, next http.Handler, inFlight int) http.Handler {
	free := make(chan struct{}, inFlight)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
		if format.FormatType() != expfmt.TypeTextPlain {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
		default:
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
			return
		}
		list, err := g.Gather()
		if err != nil && len(list) == 0 {
			http.Error(w, "gather: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", string(format))
		_ = writeText(w, list) // the client went away
	})
}

// writeText writes families as expfmt.MetricFamilyToText does, byte for byte.
func writeText(w io.Writer, list []*dto.MetricFamily) error {
	out := &textWriter{Writer: bufio.NewWriterSize(w, 1<<16), bounds: map[float64]string{}}
	for _, mf := range list {
		switch mf.GetType() {
		case dto.MetricType_COUNTER, dto.MetricType_GAUGE, dto.MetricType_HISTOGRAM:
			out.family(mf)
		default:
			if _, err := expfmt.MetricFamilyToText(out, mf); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

type textWriter struct {
	*bufio.Writer
	labels []byte // of the metric at hand, without brackets
	number []byte
	bounds map[float64]string // of buckets, which are few
}

func (t *textWriter) family(mf *dto.MetricFamily) {
	name := mf.GetName()
	if mf.Help != nil {
		t.put("# HELP ", name, " ", helpEscapes().Replace(mf.GetHelp()), "\n")
	}
	t.put("# TYPE ", name, " ", strings.ToLower(mf.GetType().String()), "\n")
	names := [...]string{name + "_bucket", name + "_sum", name + "_count"}
	for _, m := range mf.Metric {
		t.render(m.Label)
		switch {
		case m.Counter != nil:
			t.sample(name, "", m.Counter.GetValue())
		case m.Gauge != nil:
			t.sample(name, "", m.Gauge.GetValue())
		case m.Histogram != nil:
			t.histogram(names, m.Histogram)
		}
	}
}

func (t *textWriter) histogram(names [3]string, h *dto.Histogram) {
	infinite := false
	for _, b := range h.Bucket {
		t.sample(names[0], t.bound(b.GetUpperBound()), float64(b.GetCumulativeCount()))
		infinite = infinite || math.IsInf(b.GetUpperBound(), +1)
	}
	if !infinite {
		t.sample(names[0], "+Inf", float64(h.GetSampleCount()))
	}
	t.sample(names[1], "", h.GetSampleSum())
	t.sample(names[2], "", float64(h.GetSampleCount()))
}

// sample writes a line; le is the bound of a bucket, "" for other samples.
func (t *textWriter) sample(name, le string, v float64) {
	t.put(name)
	if len(t.labels) > 0 || le != "" {
		t.put("{")
		_, _ = t.Write(t.labels)
		if le != "" {
			if len(t.labels) > 0 {
				t.put(",")
			}
			t.put(`le="`, le, `"`)
		}
		t.put("}")
	}
	t.number = appendFloat(append(t.number[:0], ' '), v)
	t.number = append(t.number, '\n')
	_, _ = t.Write(t.number)
}

// put writes strings; bufio keeps the first error for Flush.
func (t *textWriter) put(parts ...string) {
	for _, s := range parts {
		_, _ = t.WriteString(s)
	}
}

// render writes labels once for all lines of a metric.
func (t *textWriter) render(labels []*dto.LabelPair) {
	t.labels = t.labels[:0]
	for i, l := range labels {
		if i > 0 {
			t.labels = append(t.labels, ',')
		}
		t.labels = append(append(t.labels, l.GetName()...), '=', '"')
		for v := l.GetValue(); v != ""; {
			n := strings.IndexAny(v, "\\\n\"")
			if n < 0 {
				t.labels = append(t.labels, v...)
				break
			}
			t.labels = append(append(t.labels, v[:n]...), '\\')
			if c := v[n]; c == '\n' {
				t.labels = append(t.labels, 'n')
			} else {
				t.labels = append(t.labels, c)
			}
			v = v[n+1:]
		}
		t.labels = append(t.labels, '"')
	}
}

func helpEscapes() *strings.Replacer { return strings.NewReplacer(`\`, `\\`, "\n", `\n`) }

// bound is the text of an upper bound.
func (t *textWriter) bound(v float64) string {
	s, ok := t.bounds[v]
	if !ok {
		s = string(appendFloat(nil, v))
		t.bounds[v] = s
	}
	return s
}

func appendFloat(b []byte, v float64) []byte {
	switch {
	case v == 0:
		return append(b, '0') // also the negative one
	case v > 0 && v < 1e6 && v == math.Trunc(v):
		return strconv.AppendUint(b, uint64(v), 10) // most are such counts
	case math.IsInf(v, +1):
		return append(b, "+Inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
