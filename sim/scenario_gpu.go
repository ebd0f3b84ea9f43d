package sim

import "time"

func gpuScenarios() []Scenario {
	return []Scenario{
		{ID: "S13", Title: "one GPU throttles thermally", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildS13, Levels: []float64{1, 0.6}},
	}
}

// Throttle lowers the clock of a GPU to a share by heat.
func Throttle(host, gpu int, share, start, end float64) Fault {
	return Fault{
		Name: "gpu_throttle", Start: start, End: end, Ramp: 120,
		Apply: func(c *Cluster, level, _ float64) {
			g := c.GPU(host, gpu)
			g.HeatC, g.MemHeatC = lerp(0, 24, level), lerp(0, 19, level)
			g.Clock = lerp(1, share, level)
			if level > 0.3 {
				g.Reasons = 0x60
			}
		},
	}
}

func buildS13(b *Build) {
	h, g := b.Host("a", 3), b.GPU("a", 2)
	b.C.Inject(Throttle(h, g, b.loss(0.667), b.Onset, 0))
	b.expect("gpu_throttle", "thermal", "warning", 180*time.Second, b.gpuOf(h, g))
	b.T.MustNot = []string{"nic_degraded", "leaf_degraded", "rail_degraded", "thermal_group"}
}
