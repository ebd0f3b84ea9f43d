package optrace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Layout is a job without a recording: replicas of stages, each worker
// computes for a while and then joins the reduce-scatter and the all-gather of
// its data-parallel group. There is no pipeline between the stages.
type Layout struct {
	Replicas, Stages int
	PerHost          int // workers of one host
	Step             time.Duration
	Transfer         time.Duration // of the reduce-scatter; half of it for the all-gather
	// CV is the coefficient of variation of the compute time per step and
	// worker, Phi its correlation from one step to the next.
	CV, Phi float64
	Steps   int
	Seed    uint64
	// Slow multiplies the compute time of a worker at a step; nil for none.
	Slow func(worker, step int) float64
}

// Synthetic makes a trace of a layout.
func Synthetic(l Layout) *Trace {
	rng := rand.New(rand.NewPCG(l.Seed, 5))
	t := &Trace{TensorSize: 1}
	for replica := range l.Replicas {
		for stage := range l.Stages {
			i := replica*l.Stages + stage
			t.Workers = append(t.Workers, Worker{
				Rank: i, Replica: replica, Stage: stage,
				Host: fmt.Sprintf("node-%03d", i/l.PerHost), GPU: fmt.Sprintf("GPU%d", i%l.PerHost),
				Data: fmt.Sprintf("DP Group %d", stage),
			})
		}
	}
	state := make([]float64, len(t.Workers))
	for step := range l.Steps {
		t.Steps = append(t.Steps, l.step(rng, t.Workers, state, step))
	}
	return t
}

func (l Layout) step(rng *rand.Rand, workers []Worker, state []float64, step int) Step {
	arrival := make([]time.Duration, len(workers))
	last := make([]time.Duration, l.Stages)
	for i, w := range workers {
		state[i] = l.Phi*state[i] + math.Sqrt(1-l.Phi*l.Phi)*rng.NormFloat64()
		x := max(0.2, 1+l.CV*state[i])
		if l.Slow != nil {
			x *= l.Slow(i, step)
		}
		arrival[i] = time.Duration(x * float64(l.Step))
		last[w.Stage] = max(last[w.Stage], arrival[i])
	}
	s := Step{}
	for i, w := range workers {
		end := last[w.Stage] + l.Transfer
		s.Ops = append(s.Ops, Op{Worker: i, Kind: "grads-reduce-scatter", End: end, Took: end - arrival[i]})
		s.Length = max(s.Length, end)
	}
	for i := range workers {
		s.Ops = append(s.Ops, Op{Worker: i, Kind: "params-all-gather", End: s.Length + l.Transfer/2, Took: l.Transfer / 2})
	}
	s.Length += l.Transfer / 2
	s.sort()
	return s
}
