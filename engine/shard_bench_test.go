package engine_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/sim"
)

// BenchmarkShards is what one of N daemons costs that share a cluster of 320 hosts
// and 16 jobs: by `shard`, which divides what is told, and by a selector of each
// daemon's own fabric, which divides what is read.
func BenchmarkShards(b *testing.B) {
	const hosts, each = 320, 20
	jobs := func(hosts int) (list []sim.JobSpec) {
		for first := 0; first < hosts; first += each {
			s := sim.TensorData(strconv.Itoa(48000+first), each, 8)
			for h := range each {
				s.Hosts = append(s.Hosts, first+h)
			}
			list = append(list, s)
		}
		return list
	}
	measure := func(b *testing.B, r *recording) {
		var spent cost
		for b.Loop() {
			spent.add(r.steady(b))
		}
		b.ReportMetric(float64(spent.rows)/float64(spent.ticks), "rows")
		b.ReportMetric(spent.cpu.Seconds()*1e3/float64(spent.ticks), "cpu-ms/tick")
		b.ReportMetric(0, "ns/op")
	}
	whole := recordJobs(b, sim.R16(hosts), jobs(hosts))
	for _, n := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("shard=1of%d", n), func(b *testing.B) {
			whole.shard = diagnosis.Shard{Index: 1, Count: n}
			measure(b, whole)
		})
	}
	for _, n := range []int{2, 4, 8} {
		part := recordJobs(b, sim.R16(hosts/n), jobs(hosts/n))
		b.Run(fmt.Sprintf("selector=1of%d", n), func(b *testing.B) { measure(b, part) })
	}
}
