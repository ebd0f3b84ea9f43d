package incidents_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// BenchmarkApply is a tick in which a thousand incidents are confirmed, all
// of them beyond folding and cap: the worst case of a storm.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := incidents.NewManager(incidents.Options{FoldAbove: 1 << 20})
			r := diagnosis.Result{Time: t0, Whole: true}
			for i := range n {
				v := nic(fmt.Sprintf("gpu-%05d", i), "mlx5_0")
				v.Job = fmt.Sprint(i)
				r.Verdicts = append(r.Verdicts, v)
			}
			for range 3 { // until all are open
				r.Time = r.Time.Add(interval)
				m.Apply(&r)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Time = r.Time.Add(interval)
				m.Apply(&r)
			}
			data, err := m.Save()
			require.NoError(b, err)
			b.ReportMetric(float64(len(data))/float64(n), "state-B/incident")
		})
	}
}
