package sim

import (
	"math"
	"time"
)

// lifeScenarios are whole days in which everything happens that is normal.
func lifeScenarios() []Scenario {
	day := 24*time.Hour - 30*time.Minute
	return []Scenario{
		{ID: "L01", Title: "a day of training, rail-optimised", After: day, Shape: R16, Hosts: 17, Prepare: prepareLife, Build: buildLife},
		{ID: "L02", Title: "a day of training, RoCE with rough noise", After: day, Shape: Q8, Hosts: 9, Prepare: prepareLifeRough, Build: buildLife},
	}
}

// prepareLife runs three jobs in turn, with an end, a kill and new sizes, on all
// hosts but the last.
func prepareLife(b *Build, o *Options) {
	n := len(o.Shape.Hosts) - 1
	make3 := func(id string, hosts int) JobSpec {
		s := TensorData(id, hosts, o.Shape.GPUs)
		if o.Shape.Fabric == FabricToR {
			s = Sharded(id, hosts, o.Shape.GPUs, 290, 1.4e10, 6)
		}
		s.Hosts = span(0, hosts)
		return s
	}
	a, c, d := make3("50001", n), make3("50002", n-1), make3("50003", n)
	hour := 3600.0
	a.EndAt = 7*hour + 600*b.rng.Float64()
	c.StartAt, c.InitFor, c.EndAt, c.Kill = a.EndAt+200, 400, 15*hour+600*b.rng.Float64(), true
	d.StartAt, d.InitFor = c.EndAt+120, 700
	o.Jobs = []JobSpec{a, c, d}
}

func prepareLifeRough(b *Build, o *Options) {
	prepareLife(b, o)
	o.Noise = Rough()
}

func buildLife(b *Build) {
	c := b.C
	end := b.Onset + 23.5*3600
	for i, j := range c.Jobs {
		j.SetCheckpoint(Checkpoint{First: j.Spec.StartAt + 1800 + 600*float64(i), Every: 1500 + 900*b.rng.Float64(), For: 20 + 130*b.rng.Float64(), Jitter: 60})
		c.Inject(Fault{Name: "checkpoint", Apply: checkpointSigns(i)})
	}
	for t := 0.0; t < end; t += 120 * (0.2 + 1.6*b.rng.Float64()) {
		pick, pause := b.rng.Uint64(), 0.4+1.2*b.rng.Float64()
		c.at(c.start+int64(t*1000), orderFault, func() { // garbage collection somewhere
			for _, j := range c.Jobs {
				if j.phase == jobTraining {
					j.shift[pick%uint64(len(j.ranks))] += pause
				}
			}
		})
	}
	spare := len(c.Hosts) - 1
	c.Inject(Reboot(spare, 5*3600+3000*b.rng.Float64(), 200))
	c.Inject(RestartDCGM(b.rng.IntN(spare), 11*3600+3000*b.rng.Float64(), 60))
	// Symbol errors that trickle on a few healthy copper links, heat that
	// follows the hall's day, and one error code of days ago.
	c.Hosts[b.rng.IntN(spare)].GPUs[b.rng.IntN(c.shape.GPUs)].Xid = 31
	noisy := [3][2]int{}
	for i := range noisy {
		noisy[i] = [2]int{b.rng.IntN(spare), b.rng.IntN(len(c.shape.NICs))}
	}
	c.Inject(Fault{Name: "hall", Apply: func(c *Cluster, _, t float64) {
		for _, x := range noisy {
			c.NIC(x[0], x[1]).Rates[cSymbol] = 1.0 / 1800
		}
		warm := 3 * math.Sin(t/86400*2*math.Pi)
		for _, h := range c.Hosts {
			for i := range h.GPUs {
				g := c.GPU(h.Index, i)
				g.HeatC, g.MemHeatC = warm, warm
			}
		}
	}})
	b.T.Allowed = []string{"telemetry_gap", "node_restart", "rotating_straggler"}
	b.T.MayName = []Component{b.node(spare)}
	for _, h := range c.Hosts { // a gap may be told of any host whose scrapes failed
		b.T.MayName = append(b.T.MayName, b.node(h.Index))
	}
}
