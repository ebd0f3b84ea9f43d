package detectors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// wasted are the findings of efficiency.
func wasted(r *detectors.Report) []detectors.Finding {
	var out []detectors.Finding
	for _, f := range r.Findings {
		if f.Pattern == detectors.BelowPossible {
			out = append(out, f)
		}
	}
	return out
}

// slowShape is a cluster whose only job was never faster than a fifth of its
// links.
func slowShape() snaptest.Shape {
	s := snaptest.Rails("gpu-%03d", 8, 8)
	s.Bandwidth /= 4
	s.ExecTime *= 4
	return s
}

func TestEfficiencyMeasuresAgainstTheLinks(t *testing.T) {
	c := snaptest.New(slowShape(), 5)
	b := detectors.NewBank(detectors.Options{})
	require.Empty(t, wasted(run(c, b, 5*time.Minute)), "too early")
	fs := wasted(run(c, b, 25*time.Minute))
	require.Len(t, fs, 1)
	f := fs[0]
	require.Equal(t, detectors.CodeBelowLinks, f.Code)
	require.InEpsilon(t, 43.5e9/4, f.Value, 0.1)
	require.InEpsilon(t, 5e10, f.Expected, 0.01)
	require.InEpsilon(t, 9.6/10.9, f.Share, 0.15, "all bytes of the NICs belong to the only kind across hosts")

	// The same job, slower since a while ago: that is a degradation.
	c.SlowGroups(0.6, func(g *signals.Group) bool { return g.NNodes > 1 })
	require.Empty(t, wasted(run(c, b, 20*time.Minute)))
}

func TestEfficiencySeesASingleRail(t *testing.T) {
	s := snaptest.Q8()
	s.Bandwidth, s.ExecTime = 45e9, s.ExecTime*290/45
	c := snaptest.New(s, 6)
	for _, e := range c.Series(signals.NICTx) {
		if e.Device != "mlx5_2" {
			c.Set(signals.NICTx, 2e4, e)
		}
	}
	fs := wasted(run(c, detectors.NewBank(detectors.Options{}), 30*time.Minute))
	require.Len(t, fs, 1)
	require.Equal(t, detectors.CodeSingleRail, fs[0].Code)
	require.Equal(t, "mlx5_2", fs[0].Entity.Detail)
	require.Equal(t, 8, fs[0].Peers)
}

func TestEfficiencyComparesJobsOfAShape(t *testing.T) {
	c := snaptest.New(snaptest.Rails("gpu-%03d", 8, 8), 7)
	b := detectors.NewBank(detectors.Options{})
	require.Empty(t, wasted(run(c, b, 25*time.Minute)), "a fast job")
	c.End(c.Shape.Job)
	c.Shape.Bandwidth *= 0.5
	c.Shape.ExecTime /= 0.5
	c.AddJob("48290", c.Shape.Hosts, c.Shape.GPUs)
	fs := wasted(run(c, b, 40*time.Minute))
	require.Len(t, fs, 1)
	require.Equal(t, detectors.CodeBelowBest, fs[0].Code)
	require.InEpsilon(t, 0.5, fs[0].Value/fs[0].Expected, 0.1)
}

// TestEfficiencyKnowsSlowerCards: hosts of one name may have cards of two
// generations, and a job is not slow for having the older ones.
func TestEfficiencyKnowsSlowerCards(t *testing.T) {
	c := snaptest.New(snaptest.Rails("gpu-%03d", 8, 8), 7)
	b := detectors.NewBank(detectors.Options{})
	require.Empty(t, wasted(run(c, b, 25*time.Minute)))
	c.End(c.Shape.Job)
	c.SetAll(signals.NICRate, 2.5e10, nil)
	c.Shape.Bandwidth *= 0.5
	c.Shape.ExecTime /= 0.5
	c.AddJob("48290", c.Shape.Hosts, c.Shape.GPUs)
	require.Empty(t, wasted(run(c, b, 40*time.Minute)))
}

func TestEfficiencyIsSilentWithoutAShare(t *testing.T) {
	s := slowShape()
	s.Traffic /= 6
	c := snaptest.New(s, 8)
	require.Empty(t, wasted(run(c, detectors.NewBank(detectors.Options{}), 30*time.Minute)), "15 % of the time")
	c = snaptest.New(slowShape(), 9)
	c.Without(signals.NICTx)
	require.Empty(t, wasted(run(c, detectors.NewBank(detectors.Options{}), 30*time.Minute)), "nobody knows what it costs")
}
