package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

func TestThrottle(t *testing.T) {
	gpu := snaptest.GPU("gpu-004", 2)
	hot := func(r *rig) {
		r.Set(signals.GPUSMClock, 1170e6, gpu)
		r.Set(signals.GPUClockReasons, 0x60, gpu)
		r.Set(signals.GPUTemp, 88, gpu)
		r.Set(signals.GPUMemTemp, 97, gpu)
		r.Set(signals.GPUPower, 455, gpu)
	}
	rack := func(r *rig) {
		in := func(e signals.Entity) bool { return e.Host >= "gpu-009" && e.Host <= "gpu-012" }
		r.SetAll(signals.GPUSMClock, 1500e6, in)
		r.SetAll(signals.GPUTemp, 84, in)
		r.SetAll(signals.GPUClockReasons, 0x24, in)
	}
	const want = "gpu_throttle thermal warning high gpu:gpu-004/GPU2"
	runAll(t, []scenario{
		{name: "one GPU is hot", fault: hot, after: 3 * time.Minute, want: []string{want}},
		{
			name: "without the reasons field", fault: hot, after: 3 * time.Minute, want: []string{want},
			setup: func(r *rig) { r.Without(signals.GPUClockReasons) },
		},
		{
			name: "a little hot, without the reasons field", after: 3 * time.Minute,
			setup: func(r *rig) { r.Without(signals.GPUClockReasons) },
			fault: func(r *rig) { r.Set(signals.GPUSMClock, 1590e6, gpu); r.Set(signals.GPUTemp, 86, gpu) },
			want:  []string{"gpu_throttle thermal warning medium gpu:gpu-004/GPU2"},
		},
		{
			name: "the same since ever: another model in a warm place", after: 3 * time.Minute,
			setup: func(r *rig) {
				r.Without(signals.GPUClockReasons)
				r.Set(signals.GPUSMClock, 1590e6, gpu)
				r.Set(signals.GPUTemp, 86, gpu)
			},
			fault: func(*rig) {},
		},
		{
			name: "five percent below, and says why", after: 3 * time.Minute,
			fault: func(r *rig) { r.Set(signals.GPUSMClock, 1665e6, gpu); r.Set(signals.GPUClockReasons, 0x64, gpu) },
			want:  []string{want},
		},
		{
			name: "five percent below, nothing said", after: 3 * time.Minute,
			fault: func(r *rig) { r.Set(signals.GPUSMClock, 1665e6, gpu); r.Set(signals.GPUTemp, 86, gpu) },
		},
		{
			name: "a power brake on a whole host", after: 3 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.GPUSMClock, 1200e6, isNIC("gpu-004", ""))
				r.SetAll(signals.GPUClockReasons, 0x84, isNIC("gpu-004", ""))
			},
			want: []string{"gpu_throttle power warning high node:gpu-004"},
		},
		{
			name: "locked clocks", after: 3 * time.Minute,
			fault: func(r *rig) { r.SetAll(signals.GPUSMClock, 1200e6, nil); r.SetAll(signals.GPUClockReasons, 0x2, nil) },
		},
		{
			name: "between two steps", after: 3 * time.Minute,
			fault: func(r *rig) { r.Set(signals.GPUSMClock, 345e6, gpu); r.Set(signals.GPUClockReasons, 0x1, gpu) },
		},
		{
			name: "a hot rack", fault: rack, after: 5 * time.Minute,
			want:  []string{"thermal_group rack warning high rack:r3"},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, 4, v.AffectedHosts) },
		},
		{
			name: "a hot group without rack data", fault: rack, after: 5 * time.Minute,
			setup: func(r *rig) { r.Without(signals.HostParent) },
			want:  []string{"thermal_group host_group warning medium node:gpu-009 node:gpu-010 node:gpu-011 node:gpu-012"},
		},
		{
			name: "a warm afternoon", after: 5 * time.Minute,
			fault: func(r *rig) { r.Scale(signals.GPUTemp, 1.03, nil); r.Scale(signals.GPUSMClock, 0.99, nil) },
		},
	})
}

func TestGPUFault(t *testing.T) {
	gpu := snaptest.GPU("gpu-012", 4)
	runAll(t, []scenario{
		{
			name: "off the bus", after: 4 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.GPUXid, 79, gpu)
				r.run(30 * time.Second)
				r.Gone(signals.None, gpu)
			},
			want: []string{"gpu_fault xid critical high gpu:gpu-012/GPU4"},
		},
		{
			name: "vanished without a word", after: 5 * time.Minute, fault: func(r *rig) { r.Gone(signals.None, gpu) },
			want: []string{"gpu_fault gpu_lost critical medium gpu:gpu-012/GPU4"},
		},
		{
			name: "the exporter restarts", after: 3 * time.Minute,
			fault: func(r *rig) {
				for k := range 8 {
					r.Gone(signals.None, snaptest.GPU("gpu-012", k))
				}
				r.run(time.Minute)
				for k := range 8 {
					r.Back(signals.None, snaptest.GPU("gpu-012", k))
				}
			},
		},
		{
			name: "an application's Xid", after: 3 * time.Minute, fault: func(r *rig) { r.Set(signals.GPUXid, 31, gpu) },
		},
		{
			name: "teardown on all GPUs", after: 3 * time.Minute, fault: func(r *rig) { r.SetAll(signals.GPUXid, 45, nil) },
		},
		{
			name: "spare rows used up", after: 2 * time.Minute, fault: func(r *rig) { r.Set(signals.GPURowRemapFailure, 1, gpu) },
			want: []string{"gpu_fault row_remap_failure critical high gpu:gpu-012/GPU4"},
		},
		{
			name: "an NVLink Xid on one GPU", after: 2 * time.Minute, fault: func(r *rig) { r.Set(signals.GPUXid, 74, gpu) },
			want: []string{"gpu_fault xid critical high gpu:gpu-012/GPU4"},
		},
		{
			name: "a code that was there before", after: 5 * time.Minute, setup: func(r *rig) { r.Set(signals.GPUXid, 79, gpu) }, fault: func(*rig) {},
		},
	})
}

func TestNVLink(t *testing.T) {
	link := snaptest.GPU("gpu-009", 5)
	link.Port, link.Detail = "14", "recovery"
	links := func(r *rig) {
		for _, h := range r.Shape.Hosts {
			for k := range 8 {
				for _, p := range []string{"3", "14"} {
					e := snaptest.GPU(h, k)
					e.Port, e.Detail = p, "recovery"
					r.Set(signals.NVLinkErrors, 0, e)
				}
			}
		}
	}
	slowInside := func(r *rig) {
		r.SlowGroups(0.94, func(g *signals.Group) bool { return g.Comm == "tp-gpu-009" })
	}
	runAll(t, []scenario{
		{
			name: "one link keeps recovering", setup: links, after: 10 * time.Minute,
			fault: func(r *rig) {
				for range 3 {
					r.Add(signals.NVLinkErrors, 1, link)
					r.run(7 * time.Minute)
				}
			},
			want:  []string{"nvlink_degraded recovery_counter warning high gpu:gpu-009/GPU5"},
			check: func(t *testing.T, v diagnosis.Verdict) { require.Equal(t, "14", v.Suspects[0].Port) },
		},
		{
			name: "without counters", fault: slowInside, after: 25 * time.Minute,
			want: []string{"nvlink_degraded bandwidth_only warning medium node:gpu-009"},
		},
		{
			// The mean goes on to tell of it when the GPU is well again.
			name: "a GPU of the host throttled for ten minutes", after: 40 * time.Minute,
			fault: func(r *rig) {
				gpu := snaptest.GPU("gpu-009", 5)
				clock, temp, reasons := r.Level(signals.GPUSMClock, gpu), r.Level(signals.GPUTemp, gpu), r.Level(signals.GPUClockReasons, gpu)
				slow := func(factor float64) {
					r.SlowGroups(factor, func(g *signals.Group) bool { return g.Comm == "tp-gpu-009" })
				}
				r.Set(signals.GPUSMClock, 1040e6, gpu)
				r.Set(signals.GPUTemp, 88, gpu)
				r.Set(signals.GPUClockReasons, 0x60, gpu)
				slow(0.7)
				r.run(10 * time.Minute)
				r.Set(signals.GPUSMClock, clock, gpu)
				r.Set(signals.GPUTemp, temp, gpu)
				r.Set(signals.GPUClockReasons, reasons, gpu)
				slow(1 / 0.7)
			},
			also: []string{"gpu_throttle thermal warning high gpu:gpu-009/GPU5"},
		},
		{
			name: "another algorithm on all hosts", after: 25 * time.Minute,
			fault: func(r *rig) { r.SlowGroups(0.9, func(g *signals.Group) bool { return g.NNodes == 1 }) },
		},
		{
			name: "a domain", shape: snaptest.V4, after: 2 * time.Minute,
			fault: func(r *rig) {
				r.SetAll(signals.GPUXid, 145, func(e signals.Entity) bool { return e.Host < "nvl-b" })
				r.Set(signals.GPUXid, 149, snaptest.GPU("nvl-a-03", 2))
			},
			want: []string{"nvlink_domain_fault xid_family critical high domain:nvl-a gpu:nvl-a-03/GPU2"},
		},
	})
}

func TestPCIe(t *testing.T) {
	gpu := snaptest.GPU("gpu-013", 1)
	runAll(t, []scenario{
		{
			name: "half the lanes", after: 3 * time.Minute,
			fault: func(r *rig) {
				r.Set(signals.GPUPCIeWidth, 8, gpu)
				r.Set(signals.GPUPCIeReplays, 5.8, gpu)
				r.SlowGroups(0.55, rail("1"))
			},
			want: []string{"pcie_degraded width critical high gpu:gpu-013/GPU1"},
			also: []string{"pcie_degraded replays critical medium gpu:gpu-013/GPU1", "rail_degraded timing_only warning low"},
		},
		{
			name: "replays only", after: 4 * time.Minute, setup: func(r *rig) { r.Without(signals.GPUPCIeWidth) },
			fault: func(r *rig) { r.Set(signals.GPUPCIeReplays, 5.8, gpu); r.SlowGroups(0.55, rail("1")) },
			want:  []string{"pcie_degraded replays critical medium gpu:gpu-013/GPU1"}, also: []string{"rail_degraded timing_only warning low"},
		},
		{
			name: "an idle GPU at generation 1", after: 3 * time.Minute,
			fault: func(r *rig) { r.Set(signals.GPUPCIeGen, 1, gpu); r.Set(signals.GPUUtil, 0, gpu) },
		},
		{
			name: "hosts of an older generation", after: 10 * time.Minute, fault: func(*rig) {},
			setup: func(r *rig) {
				r.SetAll(signals.GPUPCIeGen, 4, func(e signals.Entity) bool { return e.Host > "gpu-012" })
				r.SetAll(signals.GPUPCIeWidth, 8, func(e signals.Entity) bool { return e.Host == "gpu-016" })
			},
		},
		{
			name: "one of an older generation loses lanes, another never had them", after: 3 * time.Minute,
			setup: func(r *rig) {
				r.SetAll(signals.GPUPCIeGen, 4, func(e signals.Entity) bool { return e.Host > "gpu-012" })
			},
			fault: func(r *rig) {
				r.Set(signals.GPUPCIeWidth, 8, snaptest.GPU("gpu-014", 3))
				r.Set(signals.GPUPCIeGen, 3, snaptest.GPU("gpu-015", 2))
			},
			want: []string{"pcie_degraded width critical high gpu:gpu-014/GPU3", "pcie_degraded generation critical high gpu:gpu-015/GPU2"},
		},
		{
			name: "empty values in a VM", after: 3 * time.Minute, fault: func(r *rig) { r.Set(signals.GPUPCIeWidth, 0, gpu) },
		},
	})
}
