package exporter

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

func compatView(t *testing.T, c *compat, seen []Observation, now int64) view {
	t.Helper()
	out := newFamilies()
	c.build(seen, "gpu-014", now, out)
	return parseView(t, string(expose(t, out.list())))
}

// TestInspectorNames: the Inspector's names, labels and units, as means over a window, also for P2P.
func TestInspectorNames(t *testing.T) {
	c := newCompat()
	first := observed(t, typical(100e9))
	require.Len(t, compatView(t, c, []Observation{first}, 100e9)["nccl_bus_bandwidth_gbs"], 1, "the first answer is the mean so far")

	img := typical(100e9)
	at := img.comm(0)
	img.key(at, 16, keyBits(2, 20, 2, 3), 120, 117, 2_000_000)
	img.u64(at+commKeys+16*keySize+keyBusyNs, 107*2_000_000+10*5_000_000)
	img.u64(at+commKeys+16*keySize+keyBwSum, 107*30_000_000+10*12_000_000)
	second := observed(t, img)
	require.Len(t, compatView(t, c, []Observation{second}, 110e9)["nccl_p2p_bus_bandwidth_gbs"], 1, "within the window nothing changes")
	v := compatView(t, c, []Observation{second}, 131e9)
	const labels = `{algo_proto="RING_SIMPLE",collective="AllReduce",comm_name="tp \"quoted\"\nline",gpu="GPU4",message_size="512-1024KB",` +
		`n_nodes="2",node="gpu-014",nranks="8",slurm_job_id="48213",version="v6.collwatch"}`
	require.InDelta(t, 5000, v["nccl_collective_exec_time_microseconds"][labels], 1e-9, "the ten operations of the window only: %v", v)
	require.InDelta(t, 12, v["nccl_bus_bandwidth_gbs"][labels], 1e-9)
	require.Empty(t, v["nccl_p2p_bus_bandwidth_gbs"], "no P2P in the window")

	// A process that began anew has smaller counters: no negative means.
	require.Empty(t, compatView(t, c, []Observation{first}, 170e9))
}

// TestInspectorNamesMergeCommunicators: the Inspector's labels cannot tell communicators apart, so they become one series.
func TestInspectorNamesMergeCommunicators(t *testing.T) {
	img := newImage(2)
	for i := range 2 {
		at := img.open(i, uint64(i+1), 3, 8, "same")
		img.key(at, 16, keyBits(2, 20, 2, 3), 10, 10, uint64(1_000_000*(i+1)))
	}
	out := newFamilies()
	newCompat().build([]Observation{observed(t, img)}, "n", 100e9, out)
	list := out.list()
	require.Len(t, list, 2)
	require.Equal(t, dto.MetricType_GAUGE, list[0].GetType())
	require.Len(t, list[1].Metric, 1)
	require.InDelta(t, 1500, list[1].Metric[0].GetGauge().GetValue(), 1e-9)
}
