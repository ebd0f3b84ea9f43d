package sim

import "fmt"

const (
	mib = 1 << 20
	// h100 and b200 are the model names that the GPU exporter shows.
	h100 = "NVIDIA H100 80GB HBM3"
	h200 = "NVIDIA H200"
	a100 = "NVIDIA A100-SXM4-80GB"
	gb   = "NVIDIA GB200"
)

// Default warm-up values of GPUs: while spinning in a collective an H100 draws
// about 185 W, idle about 75 W.
func hopper() Healthy {
	return Healthy{
		ClockMHz: 1755, Reasons: 0x4, Temp: 64, MemTemp: 78, Power: 690, WaitPower: 185, IdlePower: 75,
		Util: 99, Tensor: 0.41, DRAM: 0.46, SMActive: 0.86, MemoryMiB: 71000, XmitWait: 2e5, CPUPressure: 0.01, NICBytes: 9.6e9,
	}
}

// R16 is a rail-optimised InfiniBand cluster: hosts with 8 GPUs and 8 NICs, one
// data-parallel communicator per rail.
func R16(hosts int) Shape {
	s := Shape{
		Name: "R16", Hosts: Hosts("gpu-", hosts, 3), GPUs: 8, NICs: Devices("mlx5_", 8), Storage: "mlx5_8", StorageRate: 3.125e9,
		Fabric: FabricRail, HostsPerRack: 4, Spines: 4, NICRate: 5e10, Model: h100, Card: "MT_0000000838", Healthy: hopper(),
	}
	s.Jobs = []JobSpec{TensorData("48213", hosts, 8)}
	return s
}

// TensorData is a job that is tensor-parallel inside the host and data-parallel
// across hosts: one communicator per GPU index, on its rail. With 16 hosts a
// step takes 4.0 s and each data-parallel operation 6.06 ms.
func TensorData(id string, hosts, gpus int) JobSpec {
	return JobSpec{
		ID: id, Layout: Layout{TP: gpus, DP: hosts, PP: 1}, NICPerStep: 9.6e9 * 4.0,
		Phases: []Phase{
			{Compute: 2.3},
			{Comm: &Comm{Group: GroupTP, Op: "AllReduce", Size: 128 * mib, Ops: 1240, Algo: "NVLS_SIMPLE", Bandwidth: 360, NVLink: true}},
			{Comm: &Comm{Group: GroupTP, Op: "AllGather", Size: 48 * mib, Ops: 40, Algo: "NVLS_SIMPLE", Bandwidth: 360, NVLink: true}},
			{Comm: &Comm{Group: GroupDP, Op: "AllReduce", Size: 141_033_472, Ops: 146, Algo: "RING_SIMPLE", Bandwidth: 43.5}},
		},
	}
}

// Q8 is a RoCE cluster with two leaves and one sharded world communicator.
func Q8(hosts int) Shape {
	h := hopper()
	h.ClockMHz, h.Temp, h.MemTemp, h.Power, h.Tensor, h.DRAM, h.SMActive = 1740, 62, 77, 680, 0.38, 0.44, 0.85
	h.XmitWait, h.ECN, h.CNPSent, h.CNPHandled, h.RxPause, h.OutOfSequence, h.NICBytes = 0, 150, 120, 120, 0.001, 0.02, 1.4e10
	h.MemoryMiB = 120000
	s := Shape{
		Name: "Q8", Hosts: Hosts("roce-", hosts, 2), GPUs: 8, NICs: Devices("mlx5_", 8), Fabric: FabricToR, HostsPerLeaf: 4, HostsPerRack: 4,
		Spines: 4, NICRate: 5e10, Model: h200, Card: "MT_0000001093", Healthy: h,
	}
	s.Jobs = []JobSpec{Sharded("5110", hosts, 8, 290, 1.4e10, 6.0)}
	return s
}

// Sharded is a job with one world communicator that gathers parameters and
// scatters gradients. bandwidth is the healthy bus bandwidth in GB/s of all NICs
// of a host together, step its healthy step time in seconds.
func Sharded(id string, hosts, gpus int, bandwidth, nic, step float64) JobSpec {
	comm := 0.4 * step
	size := int64(64*mib + 400_000)
	bytes := float64(size) * float64(hosts*gpus-1)
	ops := max(1, int(comm*bandwidth*1e9/bytes/3))
	return JobSpec{
		ID: id, Layout: Layout{TP: 1, DP: hosts * gpus, PP: 1}, NICPerStep: nic * step,
		Phases: []Phase{
			{Compute: 0.2 * step},
			{Comm: &Comm{Group: GroupWorld, Op: "AllGather", Size: size, Ops: 2 * ops, Algo: "RING_SIMPLE", Bandwidth: bandwidth}},
			{Compute: 0.4 * step},
			{Comm: &Comm{Group: GroupWorld, Op: "ReduceScatter", Size: size, Ops: ops, Algo: "RING_SIMPLE", Bandwidth: bandwidth}},
		},
	}
}

// A4 is a small InfiniBand pool on one switch, for small jobs.
func A4(hosts int) Shape {
	h := Healthy{
		ClockMHz: 1410, Reasons: 0, Temp: 60, MemTemp: 72, Power: 385, WaitPower: 110, IdlePower: 60,
		Util: 98, Tensor: 0.36, DRAM: 0.40, SMActive: 0.82, MemoryMiB: 70000, XmitWait: 2e5, CPUPressure: 0.02, NICBytes: 6e9,
	}
	return Shape{
		Name: "A4", Hosts: Hosts("a4-", hosts, 2), GPUs: 8, NICs: Devices("mlx5_", 8), Fabric: FabricSwitch, NICRate: 2.5e10,
		Model: a100, Card: "MT_0000000223", Healthy: h,
	}
}

// Small is a job of an A4 pool: intra-host reductions and one inter-host
// communicator. bandwidth is 82 GB/s for four hosts, 87 for two.
func Small(id string, hosts []int, bandwidth float64) JobSpec {
	n := len(hosts)
	return JobSpec{
		ID: id, Hosts: hosts, Layout: Layout{TP: 8, DP: n, PP: 1}, NICPerStep: 6e9 * 2,
		Phases: []Phase{
			{Compute: 1.1},
			{Comm: &Comm{Group: GroupTP, Op: "AllReduce", Size: 64 * mib, Ops: 300, Algo: "RING_SIMPLE", Bandwidth: 230, NVLink: true}},
			{Comm: &Comm{Group: GroupWorld, Op: "AllReduce", Size: 268_697_600, Ops: 110, Algo: "RING_SIMPLE", Bandwidth: bandwidth}},
		},
	}
}

// V4 has four NVLink domains of 18 hosts with 4 GPUs each, joined by InfiniBand.
func V4(hostsPerDomain int) Shape {
	h := Healthy{
		ClockMHz: 1900, Reasons: 0x4, Temp: 58, MemTemp: 70, Power: 980, WaitPower: 310, IdlePower: 140,
		Util: 98.5, Tensor: 0.324, DRAM: 0.241, SMActive: 0.80, MemoryMiB: 150000, XmitWait: 2e5, CPUPressure: 0.01, NICBytes: 5e9,
	}
	var hosts []string
	for d := range 4 {
		for i := range hostsPerDomain {
			hosts = append(hosts, fmt.Sprintf("nvl-%s-%02d", letters(d), i+1))
		}
	}
	s := Shape{
		Name: "V4", Hosts: hosts, GPUs: 4, NICs: Devices("mlx5_", 4), Fabric: FabricNVL72, HostsPerDomain: hostsPerDomain, HostsPerRack: hostsPerDomain,
		Spines: 4, NICRate: 5e10, Model: gb, Card: "MT_0000001069", Healthy: h,
	}
	s.Jobs = []JobSpec{{
		ID: "7001", Layout: Layout{TP: hostsPerDomain * 4, DP: 4, PP: 1}, NICPerStep: 5e9 * 3,
		Phases: []Phase{
			{Compute: 1.9},
			{Comm: &Comm{Group: GroupTP, Op: "AllReduce", Size: 96 * mib, Ops: 1100, Algo: "NVLS_SIMPLE", Bandwidth: 690, NVLink: true}},
			{Comm: &Comm{Group: GroupDP, Op: "AllReduce", Size: 135 * mib, Ops: 160, Algo: "RING_SIMPLE", Bandwidth: 44}},
		},
	}}
	return s
}

// E8 is an AWS cluster: 32 EFA devices per host and no visible links.
func E8(hosts int) Shape {
	h := hopper()
	h.Temp, h.MemTemp, h.Tensor, h.DRAM, h.XmitWait, h.NICBytes = 63, 77, 0.40, 0.45, 0, 1.9e9
	nics := make([]string, 32)
	for i := range nics {
		nics[i] = fmt.Sprintf("rdmap%ds0", 79+i/4*17+i%4*2)
	}
	s := Shape{
		Name: "E8", Hosts: Hosts("efa-", hosts, 2), GPUs: 8, NICs: nics, Fabric: FabricEFA, NICRate: 1.25e10, Model: h100, Card: "efa", Healthy: h,
	}
	s.Jobs = []JobSpec{Sharded("9003", hosts, 8, 180, 1.9e9, 5.0)}
	return s
}
