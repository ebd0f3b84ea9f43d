package promapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"syscall"
	"testing"
	"time"

	apiv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/stretchr/testify/require"
)

// benchVector is an answer with n series of 12 labels, about 320 bytes each.
func benchVector(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"success","data":{"resultType":"vector","result":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"__name__":"nccl_inspector_collective_seconds","cluster":"train-1","collective":"AllReduce","comm":"0x7f%08x","device":"mlx5_%d","gpu":"%d","instance":"gpu-%04d.example.net:9100","job":"nccl","job_id":"48213","node":"gpu-%04d","rank":"%d","size":"64MiB"},"value":[1767225615.781,"%v"]}`,
			i/64, i%8, i%8, i/8, i/8, i, 0.0123+float64(i%977)/1e5)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

// benchMatrix is the same as benchVector for a range selector with k samples a
// series.
func benchMatrix(n, k int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"__name__":"nccl_inspector_collective_seconds","cluster":"train-1","collective":"AllReduce","comm":"0x7f%08x","device":"mlx5_%d","gpu":"%d","instance":"gpu-%04d.example.net:9100","job":"nccl","job_id":"48213","node":"gpu-%04d","rank":"%d","size":"64MiB"},"values":[`,
			i/64, i%8, i%8, i/8, i/8, i)
		for j := range k {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `[%d.%03d,"%v"]`, 1767225615+15*j, i%1000, 0.0123+float64((i+j)%977)/1e5)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

func perSeries(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/series")
}

// processorTime of the process so far: unlike time it does not move with what else the
// machine does.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 300_000} {
		text := benchVector(n)
		b.Run(fmt.Sprintf("vector/series=%d", n), func(b *testing.B) { benchDecode(b, text, n) })
	}
	for _, k := range []int{2, 6} {
		text := benchMatrix(100_000, k)
		b.Run(fmt.Sprintf("matrix/series=100000/samples=%d", k), func(b *testing.B) { benchDecode(b, text, 100_000) })
	}
}

func benchDecode(b *testing.B, text []byte, n int) {
	d := newDecoder(newRefCache(NewInterner()))
	var r Result
	in := bytes.NewReader(text)
	require.NoError(b, d.decode(in, &r)) // the first answer is not the steady state
	require.Equal(b, n, r.Len())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	used := processorTime(b)
	for b.Loop() {
		in.Reset(text)
		if err := d.decode(in, &r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime(b)-used).Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/series")
}

// BenchmarkDecodeFirst is an answer of which no series was seen before.
func BenchmarkDecodeFirst(b *testing.B) {
	const n = 100_000
	text := benchVector(n)
	b.ReportAllocs()
	for b.Loop() {
		d := newDecoder(newRefCache(NewInterner()))
		require.NoError(b, d.decode(bytes.NewReader(text), new(Result)))
	}
	perSeries(b, n)
}

func BenchmarkDecodeEncodingJSON(b *testing.B) {
	const n = 10_000
	text := benchVector(n)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var a struct {
			Status string
			Data   struct {
				Result []struct {
					Metric map[string]string
					Value  [2]any
				}
			}
		}
		if err := json.Unmarshal(text, &a); err != nil || len(a.Data.Result) != n {
			b.Fatal(err)
		}
	}
	perSeries(b, n)
}

// canned is an api.Client with one answer.
type canned struct{ body []byte }

func (c canned) URL(string, map[string]string) *url.URL { return &url.URL{Scheme: "http", Host: "x"} }

func (c canned) Do(context.Context, *http.Request) (*http.Response, []byte, error) {
	return &http.Response{StatusCode: http.StatusOK}, c.body, nil
}

func BenchmarkDecodeClientGolang(b *testing.B) {
	const n = 10_000
	api := apiv1.NewAPI(canned{benchVector(n)})
	b.ReportAllocs()
	for b.Loop() {
		v, _, _, err := api.Query(b.Context(), "x", time.Unix(0, 0))
		if err != nil || v == nil {
			b.Fatal(err)
		}
	}
	perSeries(b, n)
}

// BenchmarkDecodeMemory reports what stays in memory for 100,000 series: label
// sets, the cache of their writings and one answer.
func BenchmarkDecodeMemory(b *testing.B) {
	const n = 100_000
	text := benchVector(n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	d := newDecoder(newRefCache(NewInterner()))
	var r Result
	require.NoError(b, d.decode(bytes.NewReader(text), &r))
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/series")
	runtime.KeepAlive(d)
	runtime.KeepAlive(text)
}
