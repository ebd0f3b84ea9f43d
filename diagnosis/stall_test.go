package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

func hang(c *snaptest.Cluster, who func(signals.Entity) bool) {
	c.SetAll(signals.GPUUtil, 1, who)
	c.SetAll(signals.GPUTensorActive, 0, who)
	c.SetAll(signals.GPUDRAMActive, 0.003, who)
	c.SetAll(signals.GPUPower, 185, who)
	rest(c)
}

// rest stops the traffic and the files of all hosts.
func rest(c *snaptest.Cluster) {
	c.SetAll(signals.NICTx, 1e4, compute)
	c.SetAll(signals.NICRx, 1e4, compute)
}

func compute(e signals.Entity) bool { return e.Device != "mlx5_8" }

// stand runs a cluster whose files are no longer written.
func (p *pipeline) stand(c *snaptest.Cluster, d time.Duration) *pipeline {
	for range int(d / c.Interval) {
		for _, e := range c.Series(signals.InspectorAge) {
			c.Noise(signals.InspectorAge, 0, e)
			c.Set(signals.InspectorAge, c.Level(signals.InspectorAge, e)+c.Interval.Seconds(), e)
		}
		p.observe(c.Next())
	}
	return p
}

func all(signals.Entity) bool { return true }

func not(who func(signals.Entity) bool) func(signals.Entity) bool {
	return func(e signals.Entity) bool { return !who(e) }
}

func trained(t *testing.T, seed uint64) (*snaptest.Cluster, *pipeline) {
	t.Helper()
	c := snaptest.New(snaptest.R16(), seed)
	p := newPipeline(c.Interval).run(c, 20*time.Minute)
	require.Empty(t, p.first)
	return c, p
}

func TestAllRanksStuckAlike(t *testing.T) {
	c, p := trained(t, 1)
	hang(c, all)
	at := p.ticks
	p.stand(c, 10*time.Minute)
	v := p.verdict(t, CollectiveStall)
	require.Equal(t, "all_alike", v.Reason)
	require.Empty(t, v.Suspects)
	require.Empty(t, v.Candidates)
	require.Equal(t, Critical, v.Severity)
	require.Len(t, p.first, 1, "%v", p.first)
	require.LessOrEqual(t, p.first["collective_stall"]-at, 270/15)
	require.Contains(t, v.Next, "RAS")
}

func TestRankExited(t *testing.T) {
	c, p := trained(t, 2)
	dead := snaptest.GPU("gpu-003", 1)
	hang(c, not(func(e signals.Entity) bool { return e == dead }))
	c.Set(signals.GPUMemUsed, 3e6, dead)
	c.Set(signals.GPUUtil, 0, dead)
	c.Set(signals.GPUTensorActive, 0, dead)
	c.Set(signals.GPUPower, 75, dead)
	at := p.ticks
	p.stand(c, 5*time.Minute)
	v := p.verdict(t, CollectiveStall)
	require.Equal(t, "rank_exited", v.Reason)
	require.Equal(t, []Suspect{{Kind: "gpu", Node: "gpu-003", Device: "GPU1", Score: 1}}, v.Suspects)
	require.Equal(t, Workload, v.Owner)
	require.Equal(t, High, v.Confidence)
	require.LessOrEqual(t, p.first["collective_stall gpu-003/GPU1"]-at, 150/15)
	require.Len(t, p.first, 1, "%v", p.first)
}

func TestRankStuckOutsideOfNCCL(t *testing.T) {
	c, p := trained(t, 3)
	stuck := snaptest.GPU("gpu-009", 5)
	hang(c, not(func(e signals.Entity) bool { return e == stuck }))
	c.Set(signals.GPUUtil, 0, stuck)
	c.Set(signals.GPUTensorActive, 0, stuck)
	c.Set(signals.GPUPower, 75, stuck)
	p.stand(c, 5*time.Minute)
	v := p.verdict(t, CollectiveStall)
	require.Equal(t, "rank_behind", v.Reason)
	require.Equal(t, Medium, v.Confidence)
	require.Len(t, p.first, 1, "%v", p.first)
	require.Contains(t, p.first, "collective_stall gpu-009/GPU5")
}

func TestGPUVanishedInAStall(t *testing.T) {
	c, p := trained(t, 4)
	lost := snaptest.GPU("gpu-012", 4)
	hang(c, all)
	c.Gone(signals.None, lost)
	p.stand(c, 5*time.Minute)
	v := p.verdict(t, CollectiveStall)
	require.Equal(t, "gpu_fault", v.Reason)
	require.Equal(t, []Suspect{{Kind: "gpu", Node: "gpu-012", Device: "GPU4", Score: 1}}, v.Suspects)
	require.Equal(t, Medium, v.Confidence)
	for key := range p.first {
		require.Contains(t, []string{"collective_stall gpu-012/GPU4", "gpu_fault gpu-012/GPU4"}, key)
	}
}

// checkpoint makes a cluster write one: everybody idles, the storage card and
// the disks work.
func checkpoint(c *snaptest.Cluster, evidence bool) {
	c.SetAll(signals.GPUUtil, 0.03, nil)
	c.SetAll(signals.GPUTensorActive, 0, nil)
	c.SetAll(signals.GPUPower, 130, nil)
	rest(c)
	if evidence {
		c.SetAll(signals.HostIOPressure, 0.4, nil)
		c.SetAll(signals.NICTx, 6e9, not(compute))
	}
}

// work brings a cluster back to training.
func work(c *snaptest.Cluster) {
	c.SetAll(signals.GPUUtil, 0.99, nil)
	c.SetAll(signals.GPUTensorActive, c.Shape.Tensor, nil)
	c.SetAll(signals.GPUPower, c.Shape.Power, nil)
	c.SetAll(signals.HostIOPressure, 0, nil)
	c.SetAll(signals.NICTx, c.Shape.Traffic, compute)
	c.SetAll(signals.NICTx, 1e8, not(compute))
	c.SetAll(signals.InspectorAge, 10, nil)
}

func TestCheckpointsAreQuiet(t *testing.T) {
	for name, evidence := range map[string]bool{"with I/O": true, "without any sign of it": false} {
		t.Run(name, func(t *testing.T) {
			c, p := trained(t, 5)
			for range 4 {
				checkpoint(c, evidence)
				p.stand(c, 150*time.Second)
				work(c)
				p.run(c, 15*time.Minute)
			}
			require.Empty(t, p.first)
		})
	}
}

func TestCheckpointThatDoesNotEnd(t *testing.T) {
	c, p := trained(t, 6)
	checkpoint(c, true)
	p.stand(c, 14*time.Minute)
	require.Empty(t, p.first)
	p.stand(c, 6*time.Minute)
	v := p.verdict(t, CollectiveStall)
	require.Equal(t, "storage_suspected", v.Reason)
	require.Equal(t, Platform, v.Owner)
	require.Empty(t, v.Suspects)
}

func TestQuietEnds(t *testing.T) {
	for name, stop := range map[string]func(c *snaptest.Cluster){
		"the job ended": func(c *snaptest.Cluster) { c.End(c.Shape.Job) },
		"all memory is free": func(c *snaptest.Cluster) {
			c.SetAll(signals.GPUMemUsed, 3e6, nil)
		},
		"one GPU index ended everywhere": func(c *snaptest.Cluster) {
			c.SetAll(signals.GPUMemUsed, 3e6, func(e signals.Entity) bool { return e.Device == "GPU1" })
			work(c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := trained(t, 7)
			hang(c, all)
			c.SetAll(signals.GPUUtil, 0, nil)
			c.SetAll(signals.GPUPower, 75, nil)
			stop(c)
			if name == "one GPU index ended everywhere" {
				p.run(c, 20*time.Minute)
			} else {
				p.stand(c, 20*time.Minute)
			}
			for key := range p.first {
				require.NotContains(t, key, "stall")
			}
		})
	}
}

func TestNeverStarted(t *testing.T) {
	c := snaptest.New(snaptest.R16(), 8)
	checkpoint(c, false)
	c.SetAll(signals.InspectorAge, 1e6, nil)
	c.Without(signals.CollExecTime, signals.CollBusBandwidth)
	p := newPipeline(c.Interval).stand(c, 44*time.Minute)
	require.Empty(t, p.first)
	p.stand(c, 3*time.Minute)
	require.Equal(t, "slow_init", p.verdict(t, InitStall).Reason)
	require.Len(t, p.first, 1)
}

func TestPauseOfFortySecondsIsQuiet(t *testing.T) {
	c, p := trained(t, 9)
	for range 5 {
		hang(c, all)
		p.stand(c, 45*time.Second)
		work(c)
		p.run(c, 5*time.Minute)
	}
	require.Empty(t, p.first)
}
