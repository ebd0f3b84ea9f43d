package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// next ends the job of a cluster and starts another on the same hosts, which
// communicates at the given part of the speed.
func next(c *snaptest.Cluster, speed float64) {
	c.End(c.Shape.Job)
	c.Shape.ExecTime /= speed
	c.Shape.Bandwidth *= speed
	c.AddJob("48290", c.Shape.Hosts, c.Shape.GPUs)
}

// active sets what the GPUs of a cluster do, each as a share of the time.
func active(c *snaptest.Cluster, sm, dram, tensor float64) {
	c.SetAll(signals.GPUSMActive, sm, nil)
	c.SetAll(signals.GPUDRAMActive, dram, nil)
	c.SetAll(signals.GPUTensorActive, tensor, nil)
}

// busier runs another job, which communicates slower, with other activity.
func busier(c *snaptest.Cluster, p *pipeline, sm, dram, tensor float64) {
	next(c, 24/43.5)
	active(c, sm, dram, tensor)
	p.run(c, 20*time.Minute)
}

func TestComputationAndCommunicationCompete(t *testing.T) {
	c, p := trained(t, 11)
	busier(c, p, 0.95, 0.74, 0.43)
	v := p.verdict(t, ComputeCommContention)
	require.Equal(t, "memory_bandwidth", v.Reason)
	require.Equal(t, Warning, v.Severity)
	require.Empty(t, v.Suspects)
	require.Contains(t, text(v), "in job 48213 of the same shape")
}

func TestASlowNetworkIsNoContention(t *testing.T) {
	c, p := trained(t, 12)
	next(c, 24/43.5)
	c.SetAll(signals.GPUDRAMActive, 0.28, nil)
	c.SetAll(signals.GPUTensorActive, 0.24, nil)
	p.run(c, 20*time.Minute)
	require.NotContains(t, p.first, string(ComputeCommContention))
}

// turning reports of each job that its late ranks change.
type turning struct{}

func (turning) Name() string { return "turning" }

func (turning) Observe(t *detectors.Tick, r *detectors.Report) {
	for _, j := range t.Jobs {
		r.Findings = append(r.Findings, detectors.Finding{
			Detector: "late", Pattern: detectors.RotatingLate, Signal: signals.CollExecTime, Job: j.ID,
			Entity: signals.Entity{Kind: signals.KindJob, Job: j.ID, Op: "AllReduce"}, Value: 0.3, Peers: 4, Windows: 40, Since: t.Time,
		})
	}
}

// Where one and then another is late, all wait within a window, and that is no
// contention.
func TestLatenessThatTurnsIsNoContention(t *testing.T) {
	c := snaptest.New(snaptest.R16(), 11)
	p := newPipeline(c.Interval)
	p.bank = detectors.NewBank(detectors.Options{Interval: c.Interval, Extra: []detectors.Detector{turning{}}})
	p.run(c, 20*time.Minute)
	busier(c, p, 0.95, 0.74, 0.43)
	require.Contains(t, p.first, string(RotatingStraggler))
	require.NotContains(t, p.first, string(ComputeCommContention))
}

// A job that was watched from a start or a pause on does more later: all of its
// activity rises, though not in proportion.
func TestMoreWorkIsNoContention(t *testing.T) {
	for name, before := range map[string][3]float64{"as usual": {0.7, 0.35, 0.4}, "a start": {0.137, 0.133, 0.112}} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(snaptest.R16(), 11)
			active(c, before[0], before[1], before[2])
			p := newPipeline(c.Interval).run(c, 20*time.Minute)
			busier(c, p, 0.95, 0.74, 2.5*before[2])
			require.NotContains(t, p.first, string(ComputeCommContention))
		})
	}
}
