package exporter

import (
	"math"

	dto "github.com/prometheus/client_model/go"
)

// buckets says how a histogram of the plugin maps to Prometheus. The plugin's bucket i holds values up to 2^(minExp+i),
// the last one everything above; those are the buckets of native histograms of schema 0.
type buckets struct {
	minExp int
	// classic lists the indexes whose upper bounds are served as classic buckets: fewer, because each is a series.
	classic []int
}

var (
	durationBuckets  = buckets{durMinExp, []int{4, 6, 8, 10, 12, 14, 16, 18, 20, 22}} // 15 µs to 4 s by factors of 4
	bandwidthBuckets = buckets{bwMinExp, []int{6, 8, 10, 12, 14, 16, 18}}             // 64 MiB/s to 256 GiB/s
)

// histogram builds both forms from counts and the sum of all values. Text scrapes show the classic one, protobuf scrapes
// carry both and the server chooses.
func (b buckets) histogram(counts []uint64, sum float64) *dto.Histogram {
	h := &dto.Histogram{SampleSum: &sum, Bucket: make([]*dto.Bucket, 0, len(b.classic))}
	var total uint64
	next := 0
	for i, n := range counts {
		total += n
		if next < len(b.classic) && b.classic[next] == i {
			cumulative, bound := total, math.Ldexp(1, b.minExp+i)
			h.Bucket = append(h.Bucket, &dto.Bucket{CumulativeCount: &cumulative, UpperBound: &bound})
			next++
		}
	}
	h.SampleCount = &total
	b.native(h, counts)
	return h
}

func (b buckets) native(h *dto.Histogram, counts []uint64) {
	schema, threshold, zero := int32(0), math.Ldexp(1, b.minExp), counts[0]
	h.Schema, h.ZeroThreshold, h.ZeroCount = &schema, &threshold, &zero
	previous, gap, end := int64(0), int32(0), int32(0)
	for i, n := range counts[1:] {
		if n == 0 {
			continue
		}
		index := int32(b.minExp + i + 1) // of schema 0: (2^(index-1), 2^index]
		gap = index - end
		if len(h.PositiveSpan) == 0 || gap > 0 {
			offset, length := gap, uint32(0)
			h.PositiveSpan = append(h.PositiveSpan, &dto.BucketSpan{Offset: &offset, Length: &length})
		}
		*h.PositiveSpan[len(h.PositiveSpan)-1].Length++
		h.PositiveDelta = append(h.PositiveDelta, int64(n)-previous)
		previous, end = int64(n), index+1
	}
	if len(h.PositiveSpan) == 0 { // tells a parser that this is a native histogram without observations
		offset, length := int32(0), uint32(0)
		h.PositiveSpan = []*dto.BucketSpan{{Offset: &offset, Length: &length}}
	}
}

// seriesOf is how many lines a histogram takes in the text format.
func (b buckets) series() int { return len(b.classic) + 3 }

func (fs *families) histogram(f *family, labels []*dto.LabelPair, b buckets, counts []uint64, sum float64) {
	fs.add(f, &dto.Metric{Label: labels, Histogram: b.histogram(counts, sum)})
	fs.series += b.series() - 1
}
