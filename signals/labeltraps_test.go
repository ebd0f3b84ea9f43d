package signals_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// Each case is one series as an exporter writes it and the entity that it is
// about, whatever the exporter calls it.
func TestLabelTraps(t *testing.T) {
	const mtime = `node_textfile_mtime_seconds{file="/var/lib/node_exporter/nccl_inspector_metrics_GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b22.prom",` + node14 + `}`
	inspector := func(labels string) string {
		return `nccl_collective_exec_time_microseconds{slurm_job_id="7",comm_name="unknown",n_nodes="2",nranks="4",collective="AllReduce",message_size="1-2MB",` + labels + `}`
	}
	cases := map[string]struct {
		lines []string // the last is the one that counts
		id    signals.ID
		want  signals.Entity
		value float64
	}{
		"Hostname up to 4.8": {[]string{`DCGM_FI_DEV_POWER_USAGE{gpu="3",Hostname="GPU-014.dc1.example",instance="10.0.0.1:9400"}`}, signals.GPUPower, gpu("gpu-014", "GPU3"), 7},
		"hostname since":     {[]string{`DCGM_FI_DEV_POWER_USAGE{gpu="3",hostname="gpu-014",instance="10.0.0.1:9400"}`}, signals.GPUPower, gpu("gpu-014", "GPU3"), 7},
		"federated without honor_labels": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",exported_instance="gpu-014:9400",exported_job="dcgm",instance="prom-edge:9090",job="federate"}`,
		}, signals.GPUPower, gpu("gpu-014", "GPU3"), 7},
		"federated, by address": {[]string{
			`node_uname_info{nodename="gpu-014",exported_instance="10.0.0.1:9100",exported_job="node",instance="prom-edge:9090",job="federate"}`,
			`node_infiniband_physical_state_id{device="mlx5_3",port="1",exported_instance="10.0.0.1:9100",exported_job="node",instance="prom-edge:9090",job="federate"}`,
		}, signals.NICPhysState, nic("gpu-014", "mlx5_3"), 7},
		"a collector beside the exporter": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",exported_instance="localhost:9400",exported_job="dcgm",instance="gpu-014:8889",job="otel"}`,
		}, signals.GPUPower, gpu("gpu-014", "GPU3"), 7},
		"a process as instance": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",exported_instance="627cc493-f310-47de-96bd-71410b7dec09",exported_job="dcgm",instance="gpu-014:8889",job="otel"}`,
		}, signals.GPUPower, gpu("gpu-014", "GPU3"), 7},
		"no host label but an address": {[]string{`node_uname_info{nodename="gpu-014",instance="10.0.0.1:9100"}`, `DCGM_FI_DEV_POWER_USAGE{gpu="3",instance="10.0.0.1:9400"}`}, signals.GPUPower, gpu("gpu-014", "GPU3"), 7},
		"the exporter's pod as host": {[]string{
			`kube_pod_info{node="gpu-014",pod="dcgm-exporter-x7k2p",namespace="gpu-operator",host_ip="10.1.0.14",pod_ip="10.9.0.9",instance="ksm:8080"}`,
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",Hostname="dcgm-exporter-x7k2p",instance="10.9.0.9:9400"}`,
		}, signals.GPUPower, gpu("gpu-014", "GPU3"), 7},
		"the exporter's pod as host, beside its node": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",Hostname="dcgm-exporter-x7k2p",pod="dcgm-exporter-x7k2p",exported_pod="llm-0",node="gpu-014",instance="10.9.0.9:9400"}`,
		}, signals.GPUPower, gpu("gpu-014", "GPU3"), 7},
		"the exporter's pod as host, and nothing else": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",Hostname="dcgm-exporter-x7k2p",pod="dcgm-exporter-x7k2p",instance="10.9.0.9:9400"}`,
		}, signals.GPUPower, gpu("dcgm-exporter-x7k2p", "GPU3"), 7},
		"a training pod as node": {[]string{
			`kube_pod_info{node="gpu-014",pod="llm-0-worker-7",namespace="train",host_ip="10.1.0.14",pod_ip="10.9.0.7",instance="ksm:8080"}`,
			mtime, inspector(`node="llm-0-worker-7",gpu="GPU3",` + node14),
		}, signals.CollExecTime, gpu("gpu-014", "GPU3"), 7e-6},
		"CUDA's ordinal against the driver's index": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="5",UUID="GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b22",Hostname="gpu-014",instance="gpu-014:9400"}`,
			mtime, inspector(`node="gpu-014",gpu="GPU0",` + node14),
		}, signals.CollExecTime, gpu("gpu-014", "GPU5"), 7e-6},
		"adapters with gaps in their numbers": {[]string{`node_infiniband_physical_state_id{device="mlx5_11",port="1",` + node14 + `}`}, signals.NICPhysState, nic("gpu-014", "mlx5_11"), 7},
		"a slice of a GPU is no whole GPU": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",Hostname="gpu-014",instance="gpu-014:9400"}`,
		}, signals.GPUPower, withDetail(gpu("gpu-014", "GPU3"), "mig7"), 7},
		"link rows name the GPU otherwise": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",UUID="GPU-1",modelName="H100",Hostname="gpu-014",instance="gpu-014:9400"}`,
			`DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{nvlink="4",gpu="3",gpu_uuid="GPU-1",model_name="H100",hostname="gpu-014",instance="gpu-014:9400"}`,
		}, signals.NVLinkErrors, signals.Entity{Kind: signals.KindGPU, Host: "gpu-014", Device: "GPU3", Port: "4", Detail: "replay"}, 0},
		"a health agent that knows the UUID only": {[]string{
			`DCGM_FI_DEV_POWER_USAGE{gpu="3",UUID="GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b24",Hostname="gpu-014",instance="gpu-014:9400"}`,
			`accelerator_nvidia_nvlink_recovery_errors{uuid="GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b24",instance="gpu-014:15132"}`,
		}, signals.NVLinkErrors, withDetail(gpu("gpu-014", "GPU3"), "recovery"), 0},
		"quotes stay, a newline cannot break a line of text": {[]string{`DCGM_FI_DEV_POWER_USAGE{gpu="3",Hostname="a\"b\nc",instance="10.0.0.1:9400"}`}, signals.GPUPower, gpu("a\"b\ufffdc", "GPU3"), 7},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var s scrapes
			for _, line := range c.lines {
				v := always(7)
				if line == mtime { // rewritten each 30 s
					v = func(i int) (float64, bool) { return t0 + 30*float64(i/2), true }
				}
				s.add(line, 5, v)
			}
			var got []string
			run(t, &s, 5, func(i int, snap *signals.Snapshot) {
				got = got[:0]
				f := snap.Frame(c.id)
				for k := range f.Len() {
					e := snap.Entities.Of(f.Entity[k])
					got = append(got, fmt.Sprintf("%q %q port %q detail %q = %g", e.Host, e.Device, e.Port, e.Detail, f.Value[k]))
				}
				if i < 4 {
					return
				}
				require.Len(t, got, 1, "%v", got)
				require.Equal(t, fmt.Sprintf("%q %q port %q detail %q = %g", c.want.Host, c.want.Device, c.want.Port, c.want.Detail, c.value), got[0])
			})
		})
	}
}

// The count of Xids is one of a window that slides: it falls back to zero, and
// the fall is no reset of a counter.
func TestXidCountOfASlidingWindow(t *testing.T) {
	count := `DCGM_EXP_XID_ERRORS_COUNT{gpu="3",Hostname="gpu-014",xid="74",window_size_in_ms="300000",instance="gpu-014:9400"}`
	var s scrapes
	s.add(count, 6, func(i int) (float64, bool) { return []float64{0, 0, 1, 2, 1, 0}[i], true })
	got := values(t, &s, 6, signals.GPUXidCount, withDetail(gpu("gpu-014", "GPU3"), "74"))
	require.Equal(t, []float64{0, 0, 1, 2, 1, 0}, got)
}

// Fields that vanish while a profiler holds the counters are missing input for
// those GPUs, not zero, and no gap of the exporter.
func TestProfilingFieldsOfAPartOfTheGPUs(t *testing.T) {
	var s scrapes
	for g := range 4 {
		s.add(fmt.Sprintf(`DCGM_FI_DEV_POWER_USAGE{gpu="%d",Hostname="gpu-014",instance="gpu-014:9400",job="dcgm"}`, g), 40, always(600))
		s.add(fmt.Sprintf(`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="%d",Hostname="gpu-014",instance="gpu-014:9400",job="dcgm"}`, g), 40,
			func(i int) (float64, bool) { return 0.4, i < 10 || g > 1 })
	}
	run(t, &s, 40, func(i int, snap *signals.Snapshot) {
		require.Empty(t, snap.Gaps, "tick %d", i)
		if i < 39 {
			return
		}
		f := snap.Frame(signals.GPUTensorActive)
		require.Equal(t, 2, f.Len())
		require.True(t, math.IsNaN(snap.Get(signals.GPUTensorActive, gpu("gpu-014", "GPU0"))))
		require.Equal(t, 4, snap.Frame(signals.GPUPower).Len())
	})
}

// A GPU that falls off the bus takes its rows along while its neighbours stay.
func TestVanishedGPUIsSeen(t *testing.T) {
	var s scrapes
	for g := range 4 {
		s.add(fmt.Sprintf(`DCGM_FI_DEV_POWER_USAGE{gpu="%d",Hostname="gpu-014",instance="gpu-014:9400",job="dcgm"}`, g), 40,
			func(i int) (float64, bool) { return 600, i < 20 || g != 2 })
	}
	r := run(t, &s, 40, func(i int, snap *signals.Snapshot) {
		if i == 39 {
			require.Equal(t, 3, snap.Frame(signals.GPUPower).Len())
			require.True(t, math.IsNaN(snap.Get(signals.GPUPower, gpu("gpu-014", "GPU2"))))
		}
	})
	require.NotNil(t, r.Coverage())
}

// A window's file has only what ran in it: a key that is not in it was not
// seen, which is no value of zero, and the others go on.
func TestRareOperationsComeAndGo(t *testing.T) {
	coll := func(op string) string {
		return `nccl_collective_exec_time_microseconds{slurm_job_id="7",node="gpu-014",gpu="GPU3",comm_name="c",n_nodes="2",nranks="2",collective="` + op + `",message_size="1-2MB",` + node14 + `}`
	}
	var s scrapes
	s.add(file3, 20, func(i int) (float64, bool) { return t0 + 30*float64(i/2), true })
	s.add(coll("AllReduce"), 20, func(i int) (float64, bool) { return 6000 + float64(i/2), true })
	s.add(coll("Broadcast"), 20, func(i int) (float64, bool) { return 900, i/2 == 3 || i/2 == 7 })
	rows := map[string]int{}
	run(t, &s, 20, func(_ int, snap *signals.Snapshot) {
		f := snap.Frame(signals.CollExecTime)
		for k := range f.Len() {
			require.Positive(t, f.Value[k])
			rows[snap.Entities.Of(f.Entity[k]).Op]++
		}
	})
	require.Equal(t, 10, rows["AllReduce"])
	require.Equal(t, 2, rows["Broadcast"])
}

// On an NVL72 n_nodes counts NVLink domains: one node of it is many hosts.
func TestOneNodeOfAnNVLinkDomainIsManyHosts(t *testing.T) {
	var s scrapes
	for h := range 4 {
		for g := range 2 {
			inst := fmt.Sprintf(`instance="nvl-%d:9100",job="node"`, h)
			s.add(fmt.Sprintf(`nccl_collective_exec_time_microseconds{slurm_job_id="7",node="nvl-%d",gpu="GPU%d",comm_name="dp",n_nodes="1",nranks="8",collective="AllReduce",message_size="1-2MB",%s}`, h, g, inst), 8,
				func(i int) (float64, bool) { return 6000 + float64(i), true })
		}
	}
	run(t, &s, 8, func(i int, snap *signals.Snapshot) {
		if i < 7 {
			return
		}
		require.Len(t, snap.Groups, 1)
		require.Len(t, snap.Groups[0].Members, 8, "one group over four hosts")
		require.True(t, snap.Groups[0].Whole)
	})
}

// Every job of Kubernetes is "unknown" to the Inspector: pods tell them apart.
func TestJobUnknownIsTakenFromThePod(t *testing.T) {
	var s scrapes
	for h, job := range []string{"llm-a", "llm-b"} {
		s.add(fmt.Sprintf(`kube_pod_info{node="n%d",pod="%s-w0",namespace="train",host_ip="10.1.0.%d",pod_ip="10.9.0.%d",instance="ksm:8080",job="ksm"}`, h, job, h, h), 8, always(1))
		s.add(fmt.Sprintf(`kube_pod_labels{namespace="train",pod="%s-w0",label_jobset_sigs_k8s_io_jobset_name="%s",instance="ksm:8080",job="ksm"}`, job, job), 8, always(1))
		s.add(fmt.Sprintf(`nccl_collective_exec_time_microseconds{slurm_job_id="unknown",node="%s-w0",gpu="GPU0",comm_name="unknown",n_nodes="1",nranks="1",collective="AllReduce",message_size="1-2MB",instance="n%d:9100",job="node"}`, job, h), 8,
			func(i int) (float64, bool) { return 6000 + float64(i), true })
	}
	run(t, &s, 8, func(i int, snap *signals.Snapshot) {
		if i < 7 {
			return
		}
		f := snap.Frame(signals.CollExecTime)
		got := map[string]string{}
		for k := range f.Len() {
			e := snap.Entities.Of(f.Entity[k])
			got[e.Host] = e.Job
		}
		require.Equal(t, map[string]string{"n0": "llm-a", "n1": "llm-b"}, got)
	})
}

// The collwatch exporter's compatible set beside its own series is one thing.
func TestPreferredDialectIsNotCountedTwice(t *testing.T) {
	var s scrapes
	s.add(file3, 12, func(i int) (float64, bool) { return t0 + 30*float64(i/2), true })
	s.add(`nccl_collective_exec_time_microseconds{`+g2+`}`, 12, func(i int) (float64, bool) { return 6000 + float64(i/2), true })
	s.add(`nccl_collective_exec_time_microseconds{rank="3",slurm_job_id="48213",hostname="gpu-014",gpu_device_id="GPU3",comm_id="0x1",n_ranks="16",n_nodes="16",collective="AllReduce",message_size="134.22MB",timestamp="1",coll_sn="1",instance="gpu-014:9101",job="g1"}`,
		12, func(i int) (float64, bool) { return 6000 + float64(i/2), true })
	most := 0
	run(t, &s, 12, func(i int, snap *signals.Snapshot) {
		if i > 3 {
			most = max(most, snap.Frame(signals.CollExecTime).Len())
		}
	})
	require.Equal(t, 1, most, "one dialect wins for a GPU")
}

// Two teams may call their jobs alike.
func TestJobsOfOneNameInTwoNamespaces(t *testing.T) {
	var s scrapes
	for h, ns := range []string{"team-a", "team-b"} {
		s.add(fmt.Sprintf(`kube_pod_info{node="n%d",pod="train-w0",namespace="%s",host_ip="10.1.0.%d",pod_ip="10.9.0.%d",instance="ksm:8080",job="ksm"}`, h, ns, h, h), 8, always(1))
		s.add(fmt.Sprintf(`kube_pod_labels{namespace="%s",pod="train-w0",label_jobset_sigs_k8s_io_jobset_name="train",instance="ksm:8080",job="ksm"}`, ns), 8, always(1))
		s.add(fmt.Sprintf(`DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="n%d",exported_namespace="%s",exported_pod="train-w0",instance="n%d:9400",job="dcgm"}`, h, ns, h), 8, always(99))
	}
	run(t, &s, 8, func(i int, snap *signals.Snapshot) {
		if i < 7 {
			return
		}
		got := map[string][]string{}
		for _, j := range snap.Jobs {
			got[j.ID] = j.Hosts
		}
		require.Equal(t, map[string][]string{"train": {"n0"}, "team-b/train": {"n1"}}, got)
	})
}

// A healthy lane corrects bits all the time, and packets that were damaged
// elsewhere, or have no route or key, say nothing of the port that counts them.
func TestWhatIsNoErrorOfAPort(t *testing.T) {
	var s scrapes
	for _, name := range []string{
		"node_ethtool_received_corrected_bits_phy", "node_infiniband_port_receive_remote_physical_errors_total",
		"node_infiniband_port_receive_switch_relay_errors_total", "node_infiniband_port_constraint_errors_received_total",
		"node_infiniband_port_constraint_errors_transmitted_total", "rdma_phy_rx_corrected_bits_total",
	} {
		s.add(name+`{device="mlx5_3",port="1",`+node14+`}`, 3, linear(0, 1e5))
	}
	s.add(`node_infiniband_port_errors_received_total{device="mlx5_3",port="1",`+node14+`}`, 3, linear(0, 15))
	run(t, &s, 3, func(i int, snap *signals.Snapshot) {
		if i < 2 {
			return
		}
		require.Equal(t, 1.0, snap.Get(signals.NICRxErrors, nic("gpu-014", "mlx5_3")))
		require.Equal(t, 1, snap.Frame(signals.NICRxErrors).Len())
		require.Zero(t, snap.Frame(signals.NICSymbolErrors).Len())
	})
}
