package exporter

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

const prefix = "collwatch_nccl_"

// families collects samples by metric. It builds the wire form directly: a node with hundreds of communicators gives
// tens of thousands of series a scrape, and most of their labels are the same.
type families struct {
	byName map[string]*dto.MetricFamily
	series int // lines of the text format, which is what a server stores
}

func newFamilies() *families { return &families{byName: map[string]*dto.MetricFamily{}} }

// family describes one metric.
type family struct {
	name, help string
	kind       dto.MetricType
}

func (fs *families) add(f *family, m *dto.Metric) {
	mf := fs.byName[f.name]
	if mf == nil {
		mf = &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: &f.kind}
		fs.byName[f.name] = mf
	}
	mf.Metric = append(mf.Metric, m)
	fs.series++
}

func (fs *families) counter(f *family, labels []*dto.LabelPair, v float64) {
	fs.add(f, &dto.Metric{Label: labels, Counter: &dto.Counter{Value: &v}})
}

func (fs *families) gauge(f *family, labels []*dto.LabelPair, v float64) {
	fs.add(f, &dto.Metric{Label: labels, Gauge: &dto.Gauge{Value: &v}})
}

// list returns the families in the order of their names.
func (fs *families) list() []*dto.MetricFamily {
	list := make([]*dto.MetricFamily, 0, len(fs.byName))
	for _, mf := range fs.byName {
		list = append(list, mf)
	}
	slices.SortFunc(list, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return list
}

// with returns base and further labels (name, value, name, value …), sorted by name; pairs are shared, not copied. An
// empty value leaves the label out, which is the same to Prometheus.
func with(base []*dto.LabelPair, more ...string) []*dto.LabelPair {
	labels := make([]*dto.LabelPair, len(base), len(base)+len(more)/2)
	copy(labels, base)
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			labels = append(labels, &dto.LabelPair{Name: new(more[i]), Value: new(more[i+1])})
		}
	}
	slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return labels
}

// identity is the key under which two label sets would be the same series.
func identity(labels []*dto.LabelPair) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString(l.GetName())
		b.WriteByte(0)
		b.WriteString(l.GetValue())
		b.WriteByte(0)
	}
	return b.String()
}

func counterFamily(name, help string) *family {
	return &family{prefix + name, help, dto.MetricType_COUNTER}
}

func gaugeFamily(name, help string) *family {
	return &family{prefix + name, help, dto.MetricType_GAUGE}
}

func histogramFamily(name, help string) *family {
	return &family{prefix + name, help, dto.MetricType_HISTOGRAM}
}
