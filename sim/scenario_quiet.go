package sim

import (
	"math"
	"time"
)

func quietScenarios() []Scenario {
	hour := 60 * time.Minute
	return []Scenario{
		{ID: "N00", Title: "nothing at all", After: hour, Shape: R16, Hosts: 16},
		{ID: "N00-q", Title: "nothing at all, RoCE", After: hour, Shape: Q8, Hosts: 8},
		{ID: "N00-v", Title: "nothing at all, NVLink domains", After: hour, Shape: V4, Hosts: 18},
		{ID: "N00-e", Title: "nothing at all, EFA", After: hour, Shape: E8, Hosts: 8},
		{ID: "N00-r", Title: "nothing but rough noise", After: hour, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { o.Noise = Rough() }},
		{ID: "N01", Title: "checkpoints", After: 65 * time.Minute, Shape: R16, Hosts: 16, Build: buildN01},
		{ID: "N01-a", Title: "a checkpoint that does not end", After: 45 * time.Minute, Shape: R16, Hosts: 16, Build: func(b *Build) { buildN01a(b, false) }},
		{ID: "N01-b", Title: "an idle pause without the signs of a checkpoint", After: 25 * time.Minute, Shape: R16, Hosts: 16, Build: func(b *Build) { buildN01a(b, true) }},
		{ID: "N02", Title: "start, first step, compile", After: 40 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(b *Build, o *Options) { prepareN02(b, o, 660) }},
		{ID: "N02-a", Title: "a start that does not end", After: 60 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(b *Build, o *Options) { prepareN02(b, o, 1e6) }, Build: buildN02a},
		{ID: "N03", Title: "kill, requeue on the same hosts", After: 30 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(b *Build, o *Options) { prepareN03(b, o, 0) }},
		{ID: "N03-a", Title: "kill, requeue on other hosts: stale files stay", After: 30 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(b *Build, o *Options) { prepareN03(b, o, 4) }},
		{ID: "N04", Title: "telemetry gaps", After: 40 * time.Minute, Shape: R16, Hosts: 16, Build: buildN04},
		{ID: "N05-a", Title: "a sentinel in the power series", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildN05a},
		{ID: "N05-b", Title: "an old error code that sticks", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildN05b},
		{ID: "N05-c", Title: "a saturated counter", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildN05c},
		{ID: "N05-d", Title: "NIC counters reset without a reboot", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildN05d},
		{ID: "N05-f", Title: "ratios exported as percent", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: func(_ *Build, o *Options) { o.Dialect.Percent = true }},
		{ID: "N05-g", Title: "all-to-all shows a bandwidth of 0", After: 20 * time.Minute, Shape: R16, Hosts: 16, Prepare: prepareN05g},
		{ID: "N05-h", Title: "two jobs listed on one GPU", After: 15 * time.Minute, Shape: R16, Hosts: 16, Build: buildN05h},
		{ID: "N06", Title: "the mix of message sizes changes", After: 30 * time.Minute, Shape: R16, Hosts: 16, Prepare: prepareN06, Build: buildN06},
		{ID: "N07", Title: "rotating pauses", After: hour, Shape: R16, Hosts: 16, Build: buildN07},
		{ID: "N07-a", Title: "another host is slow every five minutes", After: hour, Shape: R16, Hosts: 16, Build: buildN07a},
		{ID: "N07-b", Title: "now one and now another has a long sequence", After: hour, Shape: R16, Hosts: 16, Prepare: prepareN07b, Build: buildN07b},
		{ID: "N08", Title: "a pipeline with a heavy last stage", After: hour, Shape: R16, Hosts: 16, Prepare: prepareN08, Build: buildN08},
		{ID: "N08-a", Title: "three-host jobs that are slower by nature", After: 90 * time.Minute, Shape: A4, Hosts: 9, Prepare: prepareN08a},
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
				d.Tx = 0.9 * d.Rate
			}
		}
	}
}

func buildN01(b *Build) {
	b.C.Jobs[0].SetCheckpoint(Checkpoint{First: b.Onset, Every: 1800, For: 150, Jitter: 60})
	b.C.Inject(Fault{Name: "checkpoint", Apply: checkpointSigns(0)})
}

func buildN01a(b *Build, bare bool) {
	b.C.Jobs[0].SetCheckpoint(Checkpoint{First: b.Onset, Every: 1e6, For: 1e6, Bare: bare})
	b.C.Inject(Fault{Name: "checkpoint", Apply: checkpointSigns(0)})
	if bare {
		b.expect("collective_stall", "all_alike", "critical", 300*time.Second)
		return
	}
	b.expect("collective_stall", "storage_suspected", "", 1200*time.Second)
}

func prepareN02(b *Build, o *Options, seconds float64) {
	s := TensorData("48300", len(o.Shape.Hosts), 8)
	s.StartAt, s.InitFor = b.Onset, seconds
	o.Jobs = []JobSpec{s}
}

func buildN02a(b *Build) { b.expect("init_stall", "slow_init", "", 50*time.Minute) }

func prepareN03(b *Build, o *Options, unused int) {
	first := o.Shape.Jobs[0]
	first.EndAt, first.Kill = b.Onset, true
	hosts := len(o.Shape.Hosts) - unused
	second := TensorData("48301", hosts, 8)
	second.Hosts = span(0, hosts)
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

func (b *Build) once(do func(c *Cluster)) {
	b.C.Inject(Fault{Start: b.Onset, At: []Action{{0, do}}})
}

func buildN05a(b *Build) {
	h, g := b.Host("a", 5), b.GPU("a", 2)
	b.once(func(c *Cluster) { c.Hosts[h].GPUs[g].glitch = map[int]float64{fPower: math.MaxInt64} })
}

func buildN05b(b *Build) { b.C.Hosts[b.Host("a", 5)].GPUs[b.GPU("a", 2)].Xid = 31 }

func buildN05c(b *Build) {
	h, n := b.Host("a", 5), b.NIC("a", 2)
	b.C.Inject(Fault{Name: "saturated", Apply: func(c *Cluster, _, _ float64) {
		x := c.NIC(h, n)
		x.counts[cXmitWait], x.Rates[cXmitWait] = math.MaxUint32, 0
	}})
}

func buildN05d(b *Build) {
	h := b.Host("a", 5)
	b.once(func(c *Cluster) { c.Hosts[h].resetCounters() })
}

func prepareN05g(_ *Build, o *Options) {
	hosts := len(o.Shape.Hosts)
	s := TensorData("48213", hosts, 8)
	s.Layout.EP = hosts
	s.Phases = append(s.Phases, Phase{Comm: &Comm{Group: GroupEP, Op: "AllToAll", Size: 8 * mib, Ops: 40, Algo: "RING_SIMPLE", Bandwidth: 40}})
	o.Jobs = []JobSpec{s}
}

func buildN05h(b *Build) { b.C.Hosts[b.Host("a", 5)].mapped = []string{"48213", "48200"} }

func prepareN06(_ *Build, o *Options) {
	s := o.Shape.Jobs[0]
	small := &Comm{Group: GroupDP, Op: "AllReduce", Size: 8*mib + 300_000, Ops: 60, Algo: "RING_SIMPLE", Bandwidth: 12}
	s.Phases = append(s.Phases, Phase{Comm: small})
	o.Jobs = []JobSpec{s}
}

func buildN06(b *Build) {
	b.once(func(c *Cluster) {
		j := c.Jobs[0]
		for _, cs := range j.comms {
			switch {
			case cs.spec.Group == GroupDP && cs.spec.Size > 100*mib:
				cs.spec.Size, cs.spec.Ops, cs.spec.Bandwidth = 201*mib+400_000, 98, 45
			case cs.spec.Group == GroupDP:
				cs.spec.Ops *= 2
			default:
				continue
			}
			cs.busSize = float64(cs.spec.Size) * busFactor(cs.spec.Op, len(cs.groups[0]))
			cs.base = cs.busSize / (cs.spec.Bandwidth * 1e9)
		}
		j.relabel()
	})
}

func buildN07(b *Build) {
	j := b.C.Jobs[0]
	rng := stream(b.P.Seed, "pauses")
	t := b.Onset / 2
	for t < b.Onset+3600 {
		t += 20 + 34*rng.Float64()
		r := rng.IntN(len(j.ranks))
		b.C.at(b.C.start+int64(t*1000), orderFault, func() { j.shift[r] += 1.4 })
	}
	b.T.Allowed = []string{"rotating_straggler"}
}

func buildN07a(b *Build) {
	order := stream(b.P.Seed, "rotation").Perm(len(b.C.Hosts))
	for i := range 18 {
		h := order[i%len(order)]
		start := b.Onset/2 + float64(i)*300
		b.C.Inject(Fault{Name: "experts", Start: start, End: start + 300, Apply: func(c *Cluster, _, _ float64) { c.Host(h).Slow = 1.15 }})
	}
	b.T.Allowed = []string{"rotating_straggler"}
}

// prepareN07b has steps of 20 s.
func prepareN07b(_ *Build, o *Options) {
	s := TensorData("48213", len(o.Shape.Hosts), 8)
	s.Phases[0].Compute = 18
	s.Phases[len(s.Phases)-1].Comm.Ops = 60
	o.Jobs = []JobSpec{s}
}

// buildN07b gives one rank in most steps a sequence that takes seconds more.
func buildN07b(b *Build) {
	j := b.C.Jobs[0]
	rng := stream(b.P.Seed, "sequences")
	for t := 0.0; t < b.Onset+3600; t += 15 + 20*rng.Float64() {
		r, extra := rng.IntN(len(j.ranks)), 3+4*rng.Float64()
		b.C.at(b.C.start+int64(t*1000), orderFault, func() { j.shift[r] += extra })
	}
	b.T.Allowed = []string{"rotating_straggler"}
}

// Staged is a pipeline job with a heavy last stage.
func Staged(id string, hosts, gpus, stages int, heavy float64) JobSpec {
	return JobSpec{
		ID: id, Layout: Layout{TP: gpus, DP: hosts / stages, PP: stages}, NICPerStep: 9.6e9 * 4,
		Phases: []Phase{
			{Comm: &Comm{Group: GroupTP, Op: "AllReduce", Size: 128 * mib, Ops: 1240, Algo: "NVLS_SIMPLE", Bandwidth: 360, NVLink: true}},
			{Pipe: &Pipe{Micro: 16, Size: 24 * mib, Latency: 0.0012, Heavy: heavy, Compute: 2.0}},
			{Comm: &Comm{Group: GroupDP, Name: "DP Group", Op: "AllReduce", Size: 141_033_472, Ops: 120, Algo: "RING_SIMPLE", Bandwidth: 41}},
		},
	}
}

func prepareN08(_ *Build, o *Options) {
	o.Jobs = []JobSpec{Staged("48213", len(o.Shape.Hosts), 8, 4, 1.25)}
}

func buildN08(b *Build) {
	b.C.Inject(Fault{Name: "asymmetry", Apply: func(c *Cluster, _, _ float64) {
		c.Host(0).CPU, c.Host(0).Load = 0.03, 60
		for i := range c.Hosts {
			c.GPU(i, 0).HeatC = 3
		}
	}})
	b.T.Allowed = []string{"role_imbalance"}
}

func prepareN08a(b *Build, o *Options) {
	two, three, four := Small("3301", []int{0, 1}, 40), Small("3302", []int{2, 3, 4}, 20), Small("3303", []int{5, 6, 7, 8}, 40)
	again := Small("3304", []int{2, 3, 4}, 20)
	three.EndAt = b.Onset
	again.StartAt, again.InitFor = b.Onset+120, 60
	o.Jobs = []JobSpec{two, three, four, again}
	b.T.Allowed = []string{"inefficient_collective"}
}
