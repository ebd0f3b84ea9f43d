package detectors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/signals"
)

// run ticks a cluster for a while and returns the last report.
func run(c *snaptest.Cluster, b *detectors.Bank, d time.Duration) *detectors.Report {
	var r *detectors.Report
	for end := c.Now.Add(d); c.Now.Before(end); {
		r = b.Observe(c.Next())
	}
	return r
}

// facts are the findings with a code, as "code entity". What a job could reach
// with its links is no fact about any part of them.
func facts(r *detectors.Report) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Code != "" && f.Pattern != detectors.BelowPossible {
			out = append(out, f.Code+" "+f.Entity.String())
		}
	}
	return out
}

func TestHealthyClustersHaveNoFacts(t *testing.T) {
	for name, shape := range map[string]snaptest.Shape{
		"rails": snaptest.R16(), "roce": snaptest.Q8(), "efa": snaptest.E8(), "domains": snaptest.V4(), "small": snaptest.A4(),
		"16 gpus": snaptest.Rails("node%d", 5, 16),
	} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(shape, 3)
			b := detectors.NewBank(detectors.Options{})
			for range testdata.Rounds(80, 2*60*4) {
				require.Empty(t, facts(b.Observe(c.Next())))
			}
		})
	}
}

func TestFacts(t *testing.T) {
	settle := time.Duration(testdata.Rounds(10, 20)) * time.Minute
	nic := snaptest.NIC("gpu-007", "mlx5_3")
	gpu := snaptest.GPU("gpu-004", 2)
	host := snaptest.Host("gpu-013")
	tests := []struct {
		name  string
		fault func(c *snaptest.Cluster)
		after time.Duration
		want  []string
	}{
		{"rate", func(c *snaptest.Cluster) { c.Set(signals.NICRate, 1.25e10, nic) }, time.Minute, []string{"rate_below_peers gpu-007/mlx5_3"}},
		{"bit errors", func(c *snaptest.Cluster) { c.Set(signals.NICSymbolErrors, 38, nic) }, time.Minute, []string{"bit_errors gpu-007/mlx5_3"}},
		{"one burst is over", func(c *snaptest.Cluster) { c.Add(signals.NICSymbolErrors, 1500, nic) }, 2 * time.Minute, nil},
		{"flap unseen by polling", func(c *snaptest.Cluster) { c.Add(signals.NICLinkDowned, 1, nic) }, time.Minute, []string{"link_downed gpu-007/mlx5_3"}},
		{"port down", func(c *snaptest.Cluster) { c.Set(signals.NICState, 1, nic) }, time.Minute, []string{"port_not_active gpu-007/mlx5_3", "port_downtime gpu-007/mlx5_3"}},
		{"transmit wait", func(c *snaptest.Cluster) { c.Set(signals.NICTransmitWait, 6e6, nic) }, time.Minute, []string{"transmit_wait gpu-007/mlx5_3"}},
		{"foreign traffic", func(c *snaptest.Cluster) { c.Set(signals.NICTx, 4.3e10, nic) }, 2 * time.Minute, []string{"traffic_above gpu-007/mlx5_3"}},
		{"clock and reason", func(c *snaptest.Cluster) {
			c.Set(signals.GPUSMClock, 1170e6, gpu)
			c.Set(signals.GPUClockReasons, 0x60, gpu)
			c.Set(signals.GPUTemp, 88, gpu)
		}, 3 * time.Minute, []string{"clock_below_peers gpu-004/GPU2", "throttle_reason gpu-004/GPU2", "hot gpu-004/GPU2"}},
		{"idle GPU", func(c *snaptest.Cluster) {
			c.Set(signals.GPUSMClock, 345e6, gpu)
			c.Set(signals.GPUClockReasons, 0x1, gpu)
			c.Set(signals.GPUUtil, 0, gpu)
		}, 3 * time.Minute, nil},
		{"locked clocks everywhere", func(c *snaptest.Cluster) {
			c.SetAll(signals.GPUSMClock, 1200e6, nil)
			c.SetAll(signals.GPUClockReasons, 0x2, nil)
		}, 3 * time.Minute, nil},
		{"xid", func(c *snaptest.Cluster) { c.Set(signals.GPUXid, 79, gpu) }, time.Minute, []string{"xid gpu-004/GPU2"}},
		{"vanished", func(c *snaptest.Cluster) { c.Gone(signals.None, gpu) }, 100 * time.Second, []string{"gpu_vanished gpu-004/GPU2"}},
		{"exporter restart", func(c *snaptest.Cluster) {
			for k := range 8 {
				c.Gone(signals.None, snaptest.GPU("gpu-004", k))
			}
		}, 2 * time.Minute, nil},
		{"zero rows", func(c *snaptest.Cluster) {
			for k := range 8 {
				c.Gone(signals.None, snaptest.GPU("gpu-004", k))
			}
		}, 6 * time.Minute, []string{"zero_rows gpu-004"}},
		{"width", func(c *snaptest.Cluster) { c.Set(signals.GPUPCIeWidth, 8, gpu) }, 3 * time.Minute, []string{"pcie_width gpu-004/GPU2"}},
		{"replays that do not move", func(c *snaptest.Cluster) { c.Add(signals.GPUPCIeReplays, 4, gpu) }, 3 * time.Minute, nil},
		{"cpu pressure", func(c *snaptest.Cluster) { c.Set(signals.HostCPUPressure, 0.55, host) }, 2 * time.Minute, []string{"cpu_pressure gpu-013"}},
		{"pressure everywhere", func(c *snaptest.Cluster) { c.SetAll(signals.HostCPUPressure, 0.3, nil) }, 2 * time.Minute, nil},
		{"reboot", func(c *snaptest.Cluster) { c.Set(signals.HostBootTime, float64(c.Now.Unix()), host) }, time.Minute, []string{"boot_time_changed gpu-013"}},
		{"oom", func(c *snaptest.Cluster) { c.Add(signals.HostOOMKills, 1, host) }, time.Minute, []string{"oom_kill gpu-013"}},
		{"target down", func(c *snaptest.Cluster) {
			c.Set(signals.TargetUp, 0, signals.Entity{Kind: signals.KindHost, Host: "gpu-013", Detail: "node"})
		}, 2 * time.Minute, []string{"exporter_down gpu-013"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := snaptest.New(snaptest.R16(), 5)
			b := detectors.NewBank(detectors.Options{})
			require.Empty(t, facts(run(c, b, settle)))
			tt.fault(c)
			require.ElementsMatch(t, tt.want, facts(run(c, b, tt.after)))
		})
	}
}
