package signals_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

const t0 = 1767600000

// scrapes writes exposition lines with values that may depend on the number
// of the scrape.
type scrapes struct {
	b strings.Builder
}

// add appends a series with one sample every 15 s; v returns false for a
// scrape without it.
func (s *scrapes) add(series string, n int, v func(i int) (float64, bool)) {
	for i := range n {
		if x, ok := v(i); ok {
			fmt.Fprintf(&s.b, "%s %s %d\n", series, num(x), t0+15*i)
		}
	}
}

func num(x float64) string {
	if math.IsNaN(x) {
		return "NaN"
	}
	return fmt.Sprintf("%g", x)
}

func always(x float64) func(int) (float64, bool) {
	return func(int) (float64, bool) { return x, true }
}

func linear(start, perScrape float64) func(int) (float64, bool) {
	return func(i int) (float64, bool) { return start + perScrape*float64(i), true }
}

func gpu(host, device string) signals.Entity {
	return signals.Entity{Kind: signals.KindGPU, Host: host, Device: device}
}

func nic(host, device string) signals.Entity {
	return signals.Entity{Kind: signals.KindNIC, Host: host, Device: device, Port: "1"}
}

func host(name string) signals.Entity { return signals.Entity{Kind: signals.KindHost, Host: name} }

func TestNodeExporterAndDCGM(t *testing.T) {
	var s scrapes
	const node = `instance="GPU-014.cluster.local:9100",job="node"`
	s.add(`up{`+node+`}`, 9, always(1))
	s.add(`node_uname_info{`+node+`,nodename="gpu-014",release="6.8.0-52-generic"}`, 9, always(1))
	s.add(`node_infiniband_state_id{`+node+`,device="mlx5_3",port="1"}`, 9, always(4))
	s.add(`node_infiniband_rate_bytes_per_second{`+node+`,device="mlx5_3",port="1"}`, 9, always(5e10))
	s.add(`node_infiniband_port_data_transmitted_bytes_total{`+node+`,device="mlx5_3",port="1"}`, 9, linear(8.8e14, 1.5e10))
	s.add(`node_infiniband_link_downed_total{`+node+`,device="mlx5_3",port="1"}`, 9, func(i int) (float64, bool) { return 12 + float64(i/5), true })
	s.add(`node_pressure_cpu_waiting_seconds_total{`+node+`}`, 9, linear(41233, 1.5))
	s.add(`DCGM_FI_DEV_SM_CLOCK{gpu="3",UUID="GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b22",Hostname="gpu-014",instance="10.0.0.1:9400",job="dcgm"}`, 9, always(1755))
	s.add(`DCGM_FI_DEV_GPU_UTIL{gpu="4",hostname="gpu-014.x.y",instance="10.0.0.1:9400",job="dcgm"}`, 9, always(99))
	r := reader(t, load(t, s.b.String()), signals.Options{})
	first := r.Read(t.Context(), unix(t0))
	require.True(t, math.IsNaN(first.Get(signals.NICTx, nic("gpu-014", "mlx5_3"))), "a rate needs two samples")
	require.Equal(t, 4.0, first.Get(signals.NICState, nic("gpu-014", "mlx5_3")))
	last := watch(t, r, t0+15, t0+9*15, nil)
	require.InDelta(t, 1e9, last.Get(signals.NICTx, nic("gpu-014", "mlx5_3")), 1)
	require.InDelta(t, 0.1, last.Get(signals.HostCPUPressure, host("gpu-014")), 1e-6)
	require.Equal(t, 1755e6, last.Get(signals.GPUSMClock, gpu("gpu-014", "GPU3")))
	require.InDelta(t, 0.99, last.Get(signals.GPUUtil, gpu("gpu-014", "GPU4")), 1e-9)
	require.Empty(t, last.Gaps)
	up := host("gpu-014")
	up.Detail = "node"
	require.Equal(t, 1.0, last.Get(signals.TargetUp, up))
}
