package sim

import (
	"slices"
	"time"
)

// mixedScenarios have two things at once: the truth asks for one and allows the
// other.
func mixedScenarios() []Scenario {
	return []Scenario{
		{ID: "M01", Title: "a slow NIC here, a hot GPU there", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildM01},
		{ID: "M02", Title: "bit errors while the exporter of another host is down", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildM02},
		{ID: "M03", Title: "one of two jobs hangs", After: 15 * time.Minute, Shape: R16, Hosts: 16, Prepare: twoJobs, Build: buildM03},
		{ID: "M04", Title: "a starved host while pauses rotate", After: 20 * time.Minute, Shape: R16, Hosts: 16, Build: buildM04},
		{ID: "M05", Title: "a slow NIC in a job that writes checkpoints", After: 40 * time.Minute, Shape: R16, Hosts: 16, Build: buildM05},
	}
}

func twoJobs(_ *Build, o *Options) {
	n := len(o.Shape.Hosts)
	a, c := TensorData("48213", n/2, o.Shape.GPUs), TensorData("48214", n-n/2, o.Shape.GPUs)
	a.Hosts, c.Hosts = span(0, n/2), span(n/2, n)
	o.Jobs = []JobSpec{a, c}
}

// other is a host that is not h.
func (b *Build) other(h, def int) int {
	o := b.Host("other", def)
	if o == h {
		o = (o + 1) % len(b.C.Hosts)
	}
	return o
}

func buildM01(b *Build) {
	h, n := b.Host("a", 6), b.NIC("a", 3)
	o, g := b.other(h, 3), b.GPU("b", 2)
	b.C.Inject(Downtrain(h, n, 0.25, b.Onset, 0))
	b.C.Inject(Throttle(o, g, 0.667, b.Onset+240, 0))
	b.expect("nic_degraded", "rate_downtrained", "critical", 120*time.Second, b.nicOf(h, n))
	b.T.Allowed = []string{"gpu_throttle", "link_flap"}
	b.T.MayName = []Component{b.gpuOf(o, g)}
}

func buildM02(b *Build) {
	h, n := b.Host("a", 10), b.NIC("a", 5)
	o := b.other(h, 3)
	b.C.Inject(BitErrors(h, n, 0.8, b.Onset, 0))
	b.C.Inject(Fault{Name: "exporter_down", Start: b.Onset + 60, End: b.Onset + 660, Apply: func(c *Cluster, _, _ float64) { c.Host(o).NodeDown = true }})
	b.expect("nic_degraded", "bit_errors", "critical", 240*time.Second, b.nicOf(h, n))
	b.T.Allowed = []string{"telemetry_gap", "link_flap"}
	b.T.MayName = []Component{b.node(o)}
}

func buildM03(b *Build) {
	h, g := b.Host("a", 11), b.GPU("a", 1)
	b.C.Inject(ExitRank(h, g, false, b.Onset))
	b.expect("collective_stall", "rank_exited", "critical", 180*time.Second, b.gpuOf(h, g))
	b.T.Job = b.C.Hosts[h].job0(b.C)
	b.T.MustNot = []string{"gpu_fault"}
}

// job0 is the id of the first job of the cluster that has the host.
func (h *Host) job0(c *Cluster) string {
	for _, j := range c.Jobs {
		if slices.Contains(j.hosts, h) {
			return j.Spec.ID
		}
	}
	return ""
}

func buildM04(b *Build) {
	j := b.C.Jobs[0]
	for t := b.Onset / 2; t < b.Onset+1200; t += 40 + 40*b.rng.Float64() {
		r := b.rng.IntN(len(j.ranks))
		b.C.at(b.C.start+int64(t*1000), orderFault, func() { j.shift[r] += 1.2 })
	}
	buildS15(b)
	b.T.Allowed = []string{"rotating_straggler"}
	b.T.Within = 360 * time.Second
}

func buildM05(b *Build) {
	b.C.Jobs[0].SetCheckpoint(Checkpoint{First: 900, Every: 900, For: 60, Jitter: 30})
	b.C.Inject(Fault{Name: "checkpoint", Apply: checkpointSigns(0)})
	buildS01(b)
}
