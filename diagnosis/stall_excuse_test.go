package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestOneBusyHostHidesNoHang: I/O on a host of many whose GPUs all spin is no
// checkpoint. One that writes for the others has a GPU that does not.
func TestOneBusyHostHidesNoHang(t *testing.T) {
	const busy = "gpu-005"
	pressure := func(c *snaptest.Cluster) { c.Set(signals.HostIOPressure, 0.5, snaptest.Host(busy)) }
	idle := func(c *snaptest.Cluster, gpus ...signals.Entity) {
		c.Set(signals.GPUUtil, 0, gpus...)
		c.Set(signals.GPUPower, 75, gpus...)
	}
	for name, tc := range map[string]struct {
		fault func(c *snaptest.Cluster)
		quiet bool
	}{
		"pressure":            {pressure, false},
		"a busy storage card": {func(c *snaptest.Cluster) { c.Set(signals.NICTx, 6e9, snaptest.NIC(busy, "mlx5_8")) }, false},
		"one rank saves":      {func(c *snaptest.Cluster) { pressure(c); idle(c, snaptest.GPU(busy, 0)) }, true},
		"its host saves": {func(c *snaptest.Cluster) {
			pressure(c)
			for k := range 8 {
				idle(c, snaptest.GPU(busy, k))
			}
		}, true},
		"half of the hosts save while all spin": {func(c *snaptest.Cluster) {
			c.SetAll(signals.HostIOPressure, 0.5, func(e signals.Entity) bool { return e.Host <= "gpu-008" })
		}, true},
		"utilisation is not reported": {func(c *snaptest.Cluster) { pressure(c); c.Without(signals.GPUUtil) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := trained(t, 10)
			hang(c, all)
			tc.fault(c)
			at := p.ticks
			p.stand(c, 14*time.Minute)
			if tc.quiet {
				require.Empty(t, p.first)
				return
			}
			require.Len(t, p.first, 1, "%v", p.first)
			require.LessOrEqual(t, p.first["collective_stall"]-at, 300/15)
		})
	}
}

// TestOneRankThatWritesNoMoreExcusesNothing: what began as a checkpoint of one rank
// and is none any more is a hang.
func TestOneRankThatWritesNoMoreExcusesNothing(t *testing.T) {
	c, p := trained(t, 11)
	rank := snaptest.GPU("gpu-005", 0)
	hang(c, all)
	c.Set(signals.HostIOPressure, 0.5, snaptest.Host("gpu-005"))
	c.Set(signals.GPUUtil, 0, rank)
	p.stand(c, 4*time.Minute)
	require.Empty(t, p.first)
	c.Set(signals.HostIOPressure, 0, snaptest.Host("gpu-005"))
	c.Set(signals.GPUUtil, 1, rank)
	p.stand(c, 4*time.Minute)
	require.Contains(t, p.first, "collective_stall")
}

// TestEvaluationOfOneRank: while a rank computes, the others wait for it and nothing
// hangs; when it no longer does, they do.
func TestEvaluationOfOneRank(t *testing.T) {
	for name, tensor := range map[string]bool{"by tensor activity": true, "by power": false} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(snaptest.R16(), 12)
			if !tensor {
				c.Without(signals.GPUTensorActive)
			}
			p := newPipeline(c.Interval).run(c, 20*time.Minute)
			rank := snaptest.GPU("gpu-001", 0)
			hang(c, not(func(e signals.Entity) bool { return e == rank }))
			p.stand(c, 10*time.Minute)
			require.Empty(t, p.first)
			hang(c, all)
			p.stand(c, 4*time.Minute)
			require.Equal(t, "all_alike", p.verdict(t, CollectiveStall).Reason)

			work(c)
			p.run(c, 10*time.Minute)
			require.Empty(t, p.last.Verdicts)
			hang(c, not(func(e signals.Entity) bool { return e == rank }))
			p.stand(c, 18*time.Minute)
			require.Equal(t, "all_alike", p.verdict(t, CollectiveStall).Reason, "nobody evaluates for ever")
		})
	}
}
