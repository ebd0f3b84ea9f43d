package embedprom

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/promapi"
)

// benchText has 8 metrics of 812 series each, as 16 hosts have, every 15 s.
const (
	benchMetrics = 8
	benchSeries  = 812
	benchStep    = 15_000
)

func fillBench(b *testing.B, s *Sink, from, to int64) {
	b.Helper()
	var hs []uint32
	for m := range benchMetrics {
		for i := range benchSeries {
			hs = append(hs, s.Series("__name__", fmt.Sprintf("metric_%d", m), "node", fmt.Sprintf("gpu-%03d", i/51),
				"device", fmt.Sprint(i%51), "job", "train", "cluster", "c1", "instance", fmt.Sprintf("10.0.0.%d:9100", i/51)))
		}
	}
	for t := from; t < to; t += benchStep {
		for i, h := range hs {
			require.NoError(b, s.Append(h, t+int64(i%1000), float64(i)+float64(t)/1e9))
		}
		require.NoError(b, s.Commit())
	}
}

// BenchmarkReplayTick is what a replay asks at each tick: 8 wide range
// selectors over 6,500 series. The bar is 500 times real time, which is 30 ms
// for a tick of 15 s with everything else.
func BenchmarkReplayTick(b *testing.B) {
	db := openTest(b, Options{})
	const from, hours = int64(1_700_000_000_000), 2
	fillBench(b, db.Appender(), from, from+hours*3_600_000)
	exprs := make([]string, benchMetrics)
	for m := range exprs {
		exprs[m] = fmt.Sprintf("metric_%d[90s]", m)
	}
	for name, tick := range map[string]func(q promapi.Querier, at int64, r *promapi.Result) error{
		"selector": func(q promapi.Querier, at int64, r *promapi.Result) error {
			for _, expr := range exprs {
				if err := q.Instant(b.Context(), expr, time.UnixMilli(at), r); err != nil {
					return err
				}
			}
			return nil
		},
		"engine": func(q promapi.Querier, at int64, r *promapi.Result) error {
			for _, expr := range exprs {
				query, err := db.engine.NewInstantQuery(b.Context(), db.store, nil, expr, time.UnixMilli(at))
				if err != nil {
					return err
				}
				r.Reset()
				if err := q.(*querier).exec(b.Context(), expr, query, r); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			q := db.Querier()
			var r promapi.Result
			at := from + 120_000
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, tick(q, at, &r))
				require.Len(b, r.Refs, benchSeries)
				if at += benchStep; at >= from+hours*3_600_000 {
					at = from + 120_000
				}
			}
			perTick := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			b.ReportMetric(benchStep*1e6/perTick, "x-real-time")
		})
	}
}

// BenchmarkLiveTick writes a tick and asks it at once, as the demonstration
// does.
func BenchmarkLiveTick(b *testing.B) {
	db := openTest(b, Options{})
	s := db.Appender()
	from := int64(1_700_000_000_000)
	fillBench(b, s, from, from+1_800_000)
	q := db.Querier()
	var r promapi.Result
	at := from + 1_800_000
	b.ReportAllocs()
	for b.Loop() {
		for h := range uint32(benchMetrics * benchSeries) {
			require.NoError(b, s.Append(h, at+int64(h%1000), float64(h)))
		}
		require.NoError(b, s.Commit())
		at += benchStep
		for m := range benchMetrics {
			require.NoError(b, q.Instant(b.Context(), fmt.Sprintf("metric_%d[90s]", m), time.UnixMilli(at), &r))
			require.Len(b, r.Refs, benchSeries)
		}
	}
	b.ReportMetric(benchStep*1e6/(float64(b.Elapsed().Nanoseconds())/float64(b.N)), "x-real-time")
}

func BenchmarkLoad(b *testing.B) {
	var text bytes.Buffer
	const perSeries = 100
	for i := range 1000 {
		for t := range perSeries {
			fmt.Fprintf(&text, "metric{node=\"gpu-%03d\",device=\"%d\",job=\"train\",cluster=\"c1\"} %g %d.25\n", i/8, i%8, float64(i*t)/7, 1_700_000_000+15*t)
		}
	}
	text.WriteString("# EOF\n")
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		db, err := Open(Options{})
		require.NoError(b, err)
		st, err := db.LoadOpenMetrics(b.Context(), bytes.NewReader(text.Bytes()), nil)
		require.NoError(b, err)
		require.EqualValues(b, 1000*perSeries, st.Samples)
		require.NoError(b, db.Close())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000/perSeries, "ns/sample")
}
