package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pick returns the samples of all series of a name whose label text has all
// parts.
func (o *OpenMetrics) pick(name string, parts ...string) [][]sample {
	var out [][]sample
next:
	for i, n := range o.names {
		if n != name {
			continue
		}
		for _, p := range parts {
			if !strings.Contains(o.labels[i], p) {
				continue next
			}
		}
		out = append(out, o.samples[i])
	}
	return out
}

// mean of all samples between two offsets in seconds.
func mean(run *Run, series [][]sample, from, to float64) float64 {
	sum, n := 0.0, 0.0
	for _, s := range series {
		for _, x := range s {
			if at := float64(x.t-run.Cluster.start) / 1000; at >= from && at <= to {
				sum += x.v
				n++
			}
		}
	}
	return sum / n
}

// rate of counters between two offsets, averaged over the series.
func rate(run *Run, series [][]sample, from, to float64) float64 {
	sum := 0.0
	for _, s := range series {
		var first, last *sample
		for i := range s {
			if at := float64(s[i].t-run.Cluster.start) / 1000; at >= from && at <= to {
				if first == nil {
					first = &s[i]
				}
				last = &s[i]
			}
		}
		if first != last {
			sum += (last.v - first.v) / float64(last.t-first.t) * 1000
		}
	}
	return sum / float64(len(series))
}

func TestHealthyValues(t *testing.T) {
	run, om := record(t, "N00", Params{Seed: 1, Onset: time.Minute, Hosts: 16})
	within := func(want, tolerance, got float64, what string) {
		t.Helper()
		require.InEpsilon(t, want, got, tolerance, what)
	}
	within(43.5, 0.08, mean(run, om.pick("nccl_bus_bandwidth_gbs", `n_nodes="16"`), 300, 3000), "bus bandwidth")
	within(6060, 0.08, mean(run, om.pick("nccl_collective_exec_time_microseconds", `n_nodes="16"`), 300, 3000), "execution time")
	within(690, 0.03, mean(run, om.pick("DCGM_FI_DEV_POWER_USAGE"), 300, 3000), "power")
	within(0.41, 0.03, mean(run, om.pick("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), 300, 3000), "tensor activity")
	within(9.6e9, 0.04, rate(run, om.pick("node_infiniband_port_data_transmitted_bytes_total", `mlx5_3`), 300, 3000), "NIC bytes")
	within(1755, 0.01, mean(run, om.pick("DCGM_FI_DEV_SM_CLOCK"), 300, 3000), "clock")
}

func TestSlowNIC(t *testing.T) {
	run, om := record(t, "S01", Params{Seed: 2, Onset: 10 * time.Minute})
	bw := func(gpu string, from, to float64) float64 {
		return mean(run, om.pick("nccl_bus_bandwidth_gbs", `gpu="`+gpu, `n_nodes="16"`), from, to)
	}
	require.InEpsilon(t, 11, bw("GPU3", 720, 1400), 0.08, "the sick rail")
	require.InEpsilon(t, bw("GPU5", 100, 580), bw("GPU5", 720, 1400), 0.03, "another rail keeps its bandwidth")
	for _, nic := range []string{"mlx5_0", "mlx5_3", "mlx5_7"} {
		s := om.pick("node_infiniband_port_data_transmitted_bytes_total", nic)
		require.Less(t, rate(run, s, 720, 1400), 0.72*rate(run, s, 100, 580), "bytes of %s fall", nic)
	}
	for _, m := range []string{"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"} {
		require.Less(t, mean(run, om.pick(m), 720, 1400), 0.85*mean(run, om.pick(m), 100, 580), m)
	}
	require.Equal(t, 1.25e10, mean(run, om.pick("node_infiniband_rate_bytes_per_second", "gpu-007", "mlx5_3"), 720, 1400))
	require.Equal(t, 5e10, mean(run, om.pick("node_infiniband_rate_bytes_per_second", "gpu-007", "mlx5_2"), 720, 1400))
}

func TestLateRankHasLeastTime(t *testing.T) {
	run, om := record(t, "S13", Params{Seed: 3, Onset: 10 * time.Minute})
	at := func(node, gpu, nodes string) float64 {
		return mean(run, om.pick("nccl_collective_exec_time_microseconds", `node="`+node, `gpu="`+gpu, `n_nodes="`+nodes+`"`, "AllReduce"), 800, 1400)
	}
	require.InEpsilon(t, 6060, at("gpu-004", "GPU2", "16"), 0.1, "the late host waits for nobody")
	require.Greater(t, at("gpu-005", "GPU2", "16"), 2*at("gpu-004", "GPU2", "16"))
	require.Greater(t, at("gpu-005", "GPU6", "16"), 2*at("gpu-004", "GPU6", "16"), "the whole host comes late")
	require.Greater(t, at("gpu-004", "GPU3", "1"), 1.5*at("gpu-004", "GPU2", "1"), "siblings wait inside the host")
	require.Less(t, mean(run, om.pick("DCGM_FI_DEV_SM_CLOCK", `gpu="2"`, "gpu-004"), 800, 1400), 1200.0)
	require.InEpsilon(t, 455, mean(run, om.pick("DCGM_FI_DEV_POWER_USAGE", `gpu="2"`, "gpu-004"), 800, 1400), 0.1)
}

func TestHangFreezes(t *testing.T) {
	run, om := record(t, "S16", Params{Seed: 4, Onset: 10 * time.Minute})
	for _, s := range om.pick("node_textfile_mtime_seconds") {
		last := s[len(s)-1].v - float64(run.Cluster.start)/1000
		require.Less(t, last, 600.0+31, "no file is written in a hang")
	}
	require.Zero(t, rate(run, om.pick("node_infiniband_port_data_transmitted_bytes_total", "mlx5_2"), 640, 1300))
	require.InEpsilon(t, 185, mean(run, om.pick("DCGM_FI_DEV_POWER_USAGE", "gpu-001"), 660, 1300), 0.02)
	require.Equal(t, 100.0, mean(run, om.pick("DCGM_FI_DEV_GPU_UTIL", "gpu-001"), 660, 1300))
	lost := om.pick("DCGM_FI_DEV_POWER_USAGE", "gpu-012", `gpu="4"`)[0]
	require.Less(t, lost[len(lost)-1].t, run.Cluster.start+700_000, "the lost GPU has no series")
	require.Equal(t, 79.0, om.pick("DCGM_FI_DEV_XID_ERRORS", "gpu-012", `gpu="4"`)[0][len(om.pick("DCGM_FI_DEV_XID_ERRORS", "gpu-012", `gpu="4"`)[0])-1].v)
}
