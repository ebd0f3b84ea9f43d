package snaptest

import (
	"fmt"

	"github.com/collwatch/collwatch/signals"
)

// Shape is the wiring and the healthy levels of a cluster.
type Shape struct {
	Hosts   []string
	GPUs    int      // per host
	NICs    []string // compute NICs per host, next to the GPUs in this order
	Storage []string // storage NICs per host

	Rate, StorageRate float64 // B/s
	Model             string
	// Leaf names the switch of the k-th NIC of the i-th host; nil if unknown.
	Leaf func(i, k int) string
	// Rack names the rack of the i-th host; nil if unknown.
	Rack func(i int) string
	// Domain names the NVLink domain of the i-th host; nil if none.
	Domain func(i int) string

	Job string
	// World makes one communicator of all GPUs, instead of one across the
	// hosts per GPU index and one inside each host.
	World bool

	// Healthy levels.
	Bandwidth, ExecTime float64 // across hosts
	NVLink              float64 // inside a host, B/s
	Clock, Temp, Mem    float64 // Hz, °C, °C
	Reasons             float64
	Power               float64
	Tensor, DRAM, SM    float64
	Traffic             float64 // B/s per NIC and direction
	Fabric              string  // "ib", "roce" or "efa"
}

// R16 is a rail-optimised InfiniBand cluster of 16 hosts with 8 GPUs and one
// job, tensor parallel inside and data parallel across the hosts.
func R16() Shape { return Rails("gpu-%03d", 16, 8) }

// Rails is R16 with another number of hosts and GPUs; format gives host names.
func Rails(format string, hosts, gpus int) Shape {
	s := Shape{
		GPUs: gpus, Rate: 5e10, Model: "MT_0000000838", Job: "48213",
		Leaf: func(_, k int) string { return fmt.Sprintf("leaf-r%d", k) },
		Rack: func(i int) string { return fmt.Sprintf("r%d", i/4+1) },

		Bandwidth: 43.5e9, ExecTime: 6060e-6, NVLink: 360e9, Clock: 1755e6, Reasons: 0x4, Temp: 64, Mem: 78,
		Power: 690, Tensor: 0.41, DRAM: 0.46, SM: 0.86, Traffic: 9.6e9, Fabric: "ib",
	}
	for i := range hosts {
		s.Hosts = append(s.Hosts, fmt.Sprintf(format, i+1))
	}
	for k := range gpus {
		s.NICs = append(s.NICs, fmt.Sprintf("mlx5_%d", k))
	}
	s.Storage, s.StorageRate = []string{fmt.Sprintf("mlx5_%d", gpus)}, 3.125e9
	return s
}

// Q8 is a RoCE cluster of 8 hosts under two top-of-rack switches with one
// communicator of all 64 GPUs.
func Q8() Shape {
	s := Rails("roce-%02d", 8, 8)
	s.Job, s.World, s.Fabric, s.Traffic = "5110", true, "roce", 1.4e10
	s.Leaf = func(i, _ int) string { return "leaf-" + string(rune('a'+i/4)) }
	s.Rack = nil
	s.Storage = nil
	s.Bandwidth, s.ExecTime, s.NVLink, s.Clock = 290e9, 14700e-6, 365e9, 1740e6
	return s
}

// E8 is a cluster of 8 hosts with 32 EFA devices each.
func E8() Shape {
	s := Q8()
	s.Job, s.Fabric, s.Rate, s.Traffic, s.Leaf = "9003", "efa", 1.25e10, 1.9e9, nil
	s.Hosts, s.NICs, s.Model = nil, nil, ""
	for i := range 8 {
		s.Hosts = append(s.Hosts, fmt.Sprintf("efa-%02d", i+1))
	}
	for k := range 32 {
		s.NICs = append(s.NICs, fmt.Sprintf("rdmap%ds0", 90+k))
	}
	s.Bandwidth, s.ExecTime = 180e9, 23700e-6
	return s
}

// V4 is four NVLink domains of 18 hosts with 4 GPUs each.
func V4() Shape {
	s := Rails("nvl-%s", 0, 4)
	s.Job = "7001"
	for d := range 4 {
		for i := range 18 {
			s.Hosts = append(s.Hosts, fmt.Sprintf("nvl-%c-%02d", 'a'+d, i+1))
		}
	}
	s.Domain = func(i int) string { return "nvl-" + string(rune('a'+i/18)) }
	s.Rack = nil
	return s
}

// A4 is four hosts with 8 A100 on one switch.
func A4() Shape {
	s := Rails("a4-%02d", 4, 8)
	s.Job, s.Rate, s.Bandwidth, s.NVLink, s.Clock, s.Reasons = "3102", 2.5e10, 82e9, 230e9, 1410e6, 0
	s.Leaf = func(int, int) string { return "leaf-1" }
	s.World = true
	return s
}

// GPU is the entity of GPU k of a host.
func GPU(host string, k int) signals.Entity {
	return signals.Entity{Kind: signals.KindGPU, Host: host, Device: fmt.Sprintf("GPU%d", k)}
}

// NIC is the entity of a NIC port.
func NIC(host, device string) signals.Entity {
	return signals.Entity{Kind: signals.KindNIC, Host: host, Device: device, Port: "1"}
}

// Host is the entity of a host.
func Host(host string) signals.Entity { return signals.Entity{Kind: signals.KindHost, Host: host} }
