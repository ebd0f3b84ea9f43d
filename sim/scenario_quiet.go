package sim

import "time"

func quietScenarios() []Scenario {
	return []Scenario{
		{ID: "N00", Title: "nothing at all", After: 60 * time.Minute, Shape: R16, Hosts: 16},
		{ID: "N01", Title: "checkpoints", After: 65 * time.Minute, Shape: R16, Hosts: 16, Build: buildN01},
		{ID: "N03", Title: "kill, requeue on the same hosts", After: 30 * time.Minute, Shape: R16, Hosts: 16, Prepare: prepareN03},
		{ID: "N04", Title: "telemetry gaps", After: 40 * time.Minute, Shape: R16, Hosts: 16, Build: buildN04},
	}
}

// checkpointSigns shows a checkpoint on hosts and storage cards while one is
// written.
func checkpointSigns(job int) func(c *Cluster, level, t float64) {
	return func(c *Cluster, _, _ float64) {
		j := c.Jobs[job]
		if j.phase != jobCheckpoint || j.checkpoint.Bare {
			return
		}
		for _, h := range j.hosts {
			c.Host(h.Index).IO = 0.4
			if d := c.Disk(h.Index); d != nil {
				d.Tx = 6e9 / 3.125e9 * d.Rate * 0.5
			}
		}
	}
}

func buildN01(b *Build) {
	b.C.Jobs[0].SetCheckpoint(Checkpoint{First: b.Onset, Every: 1800, For: 150, Jitter: 60})
	b.C.Inject(Fault{Name: "checkpoint", Apply: checkpointSigns(0)})
}

func prepareN03(b *Build, o *Options) {
	first := o.Shape.Jobs[0]
	first.EndAt, first.Kill = b.Onset, true
	second := TensorData("48301", len(o.Shape.Hosts), 8)
	second.StartAt, second.InitFor = b.Onset+300, 240
	o.Jobs = []JobSpec{first, second}
}

func buildN04(b *Build) {
	h := b.Host("a", 7)
	b.C.Inject(Fault{Name: "exporter_down", Start: b.Onset, End: b.Onset + 600, Apply: func(c *Cluster, _, _ float64) { c.Host(h).NodeDown = true }})
	b.C.Inject(Fault{Name: "zero_rows", Start: b.Onset + 660, End: b.Onset + 1140, Apply: func(c *Cluster, _, _ float64) { c.Host(h).DCGMEmpty = true }})
	gap := time.Duration(b.Onset+1260) * time.Second
	b.C.Gap(gap, gap+5*time.Minute)
	b.T.Allowed = []string{"telemetry_gap"}
	b.T.MayName = []Component{b.node(h)}
}
