package sim

import "time"

func efficiencyScenarios() []Scenario {
	return []Scenario{
		{ID: "I01", Title: "many small messages", After: 10 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { prepareI01(o, 4000) }, Build: func(b *Build) { b.wasteful("small_messages") }},
		{ID: "I01-a", Title: "many small messages that cost little", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { prepareI01(o, 300) }},
		{ID: "I02", Title: "one rail of eight since the start", After: 10 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { prepareI02(o, 45, 1) }, Build: func(b *Build) { b.wasteful("single_rail") }},
		{ID: "I02-a", Title: "far below the links, and nothing to compare with", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { prepareI02(o, 170, 0) }},
		{ID: "I03", Title: "an algorithm that its peers do without", After: 35 * time.Minute, Shape: A4, Hosts: 4, Prepare: func(b *Build, o *Options) { prepareI03(b, o, 38) }, Build: buildI03},
		{ID: "I03-a", Title: "another algorithm, nearly as fast", After: 35 * time.Minute, Shape: A4, Hosts: 4, Prepare: func(b *Build, o *Options) { prepareI03(b, o, 66) }},
	}
}

// wasteful is the truth of a job that was never faster: nobody is to blame.
func (b *Build) wasteful(reason string) {
	b.expect("inefficient_collective", reason, "info", 0)
	b.T.Onset = b.C.Start()
	b.T.MustNot = []string{"nic_degraded", "straggler_compute", "host_path_degraded", "node_suspect"}
}

// prepareI01 reduces gradients in pieces of 1 MiB, as with a tiny bucket.
func prepareI01(o *Options, pieces int) {
	s := TensorData("48213", len(o.Shape.Hosts), 8)
	small := &Comm{Group: GroupDP, Op: "AllReduce", Size: mib, Ops: pieces, Algo: "RING_LL128", Bandwidth: 4}
	if pieces >= 1000 {
		s.Phases[len(s.Phases)-1] = Phase{Comm: small}
	} else {
		s.Phases = append(s.Phases, Phase{Comm: small})
	}
	o.Jobs, o.Dialect.Plugin = []JobSpec{s}, true
}

// prepareI02 is a job over all ranks with a bus bandwidth in GB/s, through nics
// NICs of each host; 0 is all.
func prepareI02(o *Options, bandwidth float64, nics int) {
	s := Sharded("48213", len(o.Shape.Hosts), 8, bandwidth, 0.4*bandwidth*1e9/float64(max(1, 8-7*nics)), 6)
	s.NICs = nics
	o.Jobs, o.Dialect.Plugin = []JobSpec{s}, true
}

func prepareI03(b *Build, o *Options, bandwidth float64) {
	prepareS09(b, o)
	s := &o.Jobs[len(o.Jobs)-1]
	for i := range s.Phases {
		if c := s.Phases[i].Comm; c != nil && !c.NVLink {
			c.Algo, c.Bandwidth = "TREE_SIMPLE", bandwidth
		}
	}
	o.Dialect.Plugin = true
}

func buildI03(b *Build) {
	b.wasteful("algorithm")
	b.T.Job, b.T.Onset = "3102", b.C.Start().Add(time.Duration(b.Onset)*time.Second)
}
