package diagnosis_test

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// crowd is a report with n findings of every kind, spread over a cluster.
func crowd(c *snaptest.Cluster, n int) *detectors.Report {
	r := &detectors.Report{Time: c.Now}
	codes := []struct {
		code    string
		pattern detectors.Pattern
		id      signals.ID
	}{
		{detectors.CodeTransmitWait, detectors.Congestion, signals.NICTransmitWait},
		{detectors.CodeBitErrors, detectors.Errors, signals.NICSymbolErrors},
		{detectors.CodeLinkDowned, detectors.Event, signals.NICLinkDowned},
		{detectors.CodeClockBelow, detectors.PeerOutlier, signals.GPUSMClock},
		{detectors.CodeXid, detectors.Event, signals.GPUXid},
	}
	hosts := c.Shape.Hosts
	for i := range n {
		k := codes[i%len(codes)]
		host := hosts[(i*7)%len(hosts)]
		e := snaptest.NIC(host, c.Shape.NICs[i%len(c.Shape.NICs)])
		if k.id < signals.NICState {
			e = snaptest.GPU(host, i%c.Shape.GPUs)
		}
		r.Findings = append(r.Findings, detectors.Finding{
			Pattern: k.pattern, Code: k.code, Signal: k.id, Entity: e, Job: c.Shape.Job, Value: 79, Expected: 100, Score: math.NaN(),
			Windows: 5, Count: 1, Peers: 100, Since: c.Now.Add(-4 * time.Minute),
		})
	}
	for i, g := range c.Groups {
		if i%20 == 0 {
			r.Findings = append(r.Findings, detectors.Finding{
				Pattern: detectors.SlowTransfer, Signal: signals.CollExecTime, Group: g.ID, Job: g.Job, Value: 2, Expected: 1, Since: c.Now.Add(-6 * time.Minute),
			})
		}
	}
	return r
}

// cpu is the processor time of the process so far, garbage collection included:
// what a busy machine does not change.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDiagnose is one tick of diagnosis.
func BenchmarkDiagnose(b *testing.B) {
	for _, size := range []struct{ hosts, findings int }{{128, 500}, {2048, 5000}} {
		b.Run(fmt.Sprintf("gpus=%d/findings=%d", size.hosts*8, size.findings), func(b *testing.B) {
			c := snaptest.New(snaptest.Rails("gpu-%04d", size.hosts, 8), 1)
			s := c.Next()
			f := topology.NewStore(topology.Options{}).Update(s)
			r := crowd(c, size.findings)
			d := diagnosis.New(diagnosis.Options{})
			b.ReportMetric(float64(len(s.Groups)), "communicators")
			b.ReportAllocs()
			used := cpu(b)
			for b.Loop() {
				d.Diagnose(s, r, f)
			}
			b.ReportMetric((cpu(b)-used).Seconds()*1e3/float64(b.N), "cpu-ms/tick")
		})
	}
}
