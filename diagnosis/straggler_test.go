package diagnosis

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/internal/optrace"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/signals"
)

// pipeline is detectors and diagnosis as the engine runs them.
type pipeline struct {
	bank *detectors.Bank
	diag *Diagnoser
	// first is when a class first named each suspect ("" for nobody), in
	// ticks; last is the newest result.
	first map[string]int
	last  *Result
	ticks int
}

func newPipeline(interval time.Duration) *pipeline {
	return &pipeline{
		bank: detectors.NewBank(detectors.Options{Interval: interval}), diag: New(Options{Interval: interval}), first: map[string]int{},
	}
}

func (p *pipeline) observe(s *signals.Snapshot) {
	p.ticks++
	p.last = p.diag.Diagnose(s, p.bank.Observe(s), nil)
	p.bank.Freeze(p.last.Suspect)
	for _, v := range p.last.Verdicts {
		names := []string{""}
		if len(v.Suspects) > 0 {
			names = names[:0]
		}
		for _, s := range v.Suspects {
			names = append(names, strings.TrimSuffix(s.Node+"/"+s.Device, "/"))
		}
		for _, n := range names {
			key := strings.TrimSpace(string(v.Class) + " " + n)
			if _, ok := p.first[key]; !ok {
				p.first[key] = p.ticks
			}
		}
	}
}

func (p *pipeline) run(c *snaptest.Cluster, d time.Duration) *pipeline {
	for range int(d / c.Interval) {
		p.observe(c.Next())
	}
	return p
}

// verdict returns the verdict of a class at the last tick.
func (p *pipeline) verdict(t *testing.T, class Class) Verdict {
	t.Helper()
	for _, v := range p.last.Verdicts {
		if v.Class == class {
			return v
		}
	}
	require.Failf(t, "no verdict", "want %s, got %v", class, p.first)
	return Verdict{}
}

func recorded(t *testing.T, name string, p optrace.Play) *pipeline {
	t.Helper()
	tr, err := optrace.Load(testdata.Path(t, "straggler", name))
	require.NoError(t, err)
	out := newPipeline(15 * time.Second)
	tr.Play(p, func(s *signals.Snapshot) bool { out.observe(s); return true })
	return out
}

func TestSlowedWorkerOfARecordedJob(t *testing.T) {
	for _, ranks := range []bool{false, true} {
		p := recorded(t, "AR", optrace.Play{RankMap: ranks})
		require.Len(t, p.first, 1, "%v", p.first)
		require.LessOrEqual(t, p.first["straggler_compute gpu-a01/GPU0"], 210/15)
		v := p.verdict(t, StragglerCompute)
		require.Equal(t, "gpu_contention", v.Reason)
		require.Equal(t, 1, v.TieSet)
		require.Contains(t, text(v), "contention on the GPU: ReduceScatter of DP Group 0, which includes gpu-a01/GPU0")
		require.Contains(t, text(v), "cannot be told")
	}
}

func text(v Verdict) string {
	var b strings.Builder
	for _, e := range v.Evidence {
		b.WriteString(e.Text + "\n")
	}
	return b.String()
}

func TestHeavyStageOfARecordedJob(t *testing.T) {
	for _, ranks := range []bool{false, true} {
		p := recorded(t, "ST", optrace.Play{RankMap: ranks, For: 32 * time.Minute})
		require.Len(t, p.first, 1, "%v", p.first)
		require.LessOrEqual(t, p.first["role_imbalance"], 600/15)
		v := p.verdict(t, RoleImbalance)
		require.Equal(t, Recorded, v.Severity)
		require.Empty(t, v.Suspects)
		require.Contains(t, text(v), "in all 2 replicas alike")
	}
}

// late makes the waits of a cluster those of a job in which some GPUs arrive
// late: their own time stays, that of all others grows by wait.
func late(c *snaptest.Cluster, wait float64, who func(signals.Entity) bool) {
	c.SetAll(signals.CollExecTime, c.Shape.ExecTime+wait, func(e signals.Entity) bool { return e.NNodes > 1 && !who(e) })
}

func onHost(h string) func(signals.Entity) bool {
	return func(e signals.Entity) bool { return e.Host == h }
}

// TestLatenessBesideAnotherFault holds that a late host is named although
// something else is sick on another host, if that cannot be the reason: it
// carries nothing, or the job has lived with it for long.
func TestLatenessBesideAnotherFault(t *testing.T) {
	sick := snaptest.NIC("gpu-007", "mlx5_3")
	for name, before := range map[string]time.Duration{"a port that carries nothing": 0, "an old fault": 15 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(snaptest.R16(), 1)
			if before == 0 {
				for _, id := range []signals.ID{signals.NICTx, signals.NICRx} {
					c.SetAll(id, 1e3, func(e signals.Entity) bool { return e.Device == "mlx5_3" })
				}
			}
			p := newPipeline(c.Interval).run(c, 30*time.Minute)
			require.Empty(t, p.first)
			c.Set(signals.NICRate, 1.25e10, sick)
			p.run(c, before)
			late(c, 8.7e-3, onHost("gpu-013"))
			p.run(c, 10*time.Minute)
			require.Contains(t, p.first, "nic_degraded gpu-007/mlx5_3")
			require.Contains(t, p.first, "straggler_compute gpu-013")
		})
	}
}

func TestStarvedHost(t *testing.T) {
	c := snaptest.New(snaptest.R16(), 1)
	p := newPipeline(c.Interval).run(c, 30*time.Minute)
	require.Empty(t, p.first)
	late(c, 8.7e-3, onHost("gpu-013"))
	c.Set(signals.HostCPUPressure, 0.55, snaptest.Host("gpu-013"))
	at := p.ticks
	p.run(c, 10*time.Minute)
	v := p.verdict(t, StragglerCompute)
	require.Equal(t, "host_cpu", v.Reason)
	require.Equal(t, High, v.Confidence)
	require.Equal(t, []Suspect{{Kind: "node", Node: "gpu-013", Score: 1}}, v.Suspects)
	require.Len(t, p.first, 1, "%v", p.first)
	require.LessOrEqual(t, p.first["straggler_compute gpu-013"]-at, 240/15)
}

func TestLateHostWithoutAnyFact(t *testing.T) {
	c := snaptest.New(snaptest.R16(), 2)
	p := newPipeline(c.Interval).run(c, 30*time.Minute)
	late(c, 8.7e-3, onHost("gpu-005"))
	p.run(c, 10*time.Minute)
	v := p.verdict(t, StragglerCompute)
	require.Equal(t, "unexplained", v.Reason)
	require.Equal(t, []Suspect{{Kind: "node", Node: "gpu-005", Score: 1}}, v.Suspects)
	require.Len(t, p.first, 1, "%v", p.first)
}

// Of the GPUs of a late host in one group one is the latest; the others are late
// as well, and it is the host that they have in common.
func TestLatestGPUOfALateHostIsNotNamed(t *testing.T) {
	for name, wait := range map[string]map[string]float64{
		"all GPUs of the host": {"": 5e-3, "GPU3": 0},
		"two of them":          {"": 12e-3, "GPU3": 0, "GPU5": 4e-3},
	} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(snaptest.Q8(), 6)
			p := newPipeline(c.Interval).run(c, 30*time.Minute)
			c.SetAll(signals.CollExecTime, c.Shape.ExecTime+12e-3, nil)
			for _, e := range c.Series(signals.CollExecTime) {
				more, own := wait[e.Device]
				if e.Host == "roce-03" {
					if !own {
						more = wait[""]
					}
					c.Set(signals.CollExecTime, c.Shape.ExecTime+more, e)
				}
			}
			p.run(c, 15*time.Minute)
			require.NotContains(t, p.first, "straggler_compute roce-03/GPU3")
			v := p.verdict(t, StragglerCompute)
			if name == "two of them" {
				require.Empty(t, v.Suspects)
				require.Len(t, v.Candidates, 2)
				require.Equal(t, 2, v.TieSet)
				return
			}
			require.Equal(t, []Suspect{{Kind: "node", Node: "roce-03", Score: 1}}, v.Suspects)
		})
	}
}

// A GPU that slows its tensor-parallel group makes its whole host late; only
// the time inside the host tells which GPU it is.
func TestLateGPUBehindItsTensorGroup(t *testing.T) {
	c := snaptest.New(snaptest.R16(), 3)
	p := newPipeline(c.Interval).run(c, 30*time.Minute)
	late(c, 5.5e-3, onHost("gpu-004"))
	c.SetAll(signals.CollExecTime, 1900e-6, func(e signals.Entity) bool {
		return e.NNodes == 1 && e.Host == "gpu-004" && e.Device != "GPU2"
	})
	p.run(c, 15*time.Minute)
	v := p.verdict(t, StragglerCompute)
	require.Equal(t, []Suspect{{Kind: "gpu", Node: "gpu-004", Device: "GPU2", Score: 1}}, v.Suspects)
	require.Len(t, p.first, 1, "%v", p.first)
}

func TestHostsThatAreBuiltToBeLateAreNotNamed(t *testing.T) {
	last := map[string]bool{"gpu-013": true, "gpu-014": true, "gpu-015": true, "gpu-016": true}
	for name, who := range map[string]func(signals.Entity) bool{
		"the last stage on four hosts": func(e signals.Entity) bool { return last[e.Host] },
		"the last stage on one host":   onHost("gpu-016"),
	} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(snaptest.R16(), 4)
			late(c, 4e-3, who)
			require.Empty(t, newPipeline(c.Interval).run(c, time.Hour).first)
		})
	}
}

// A tenth of the step is little against the transfer that follows it. Where the
// host is under pressure that its peers do not have, it is enough to be named;
// without, it is not, and pressure on another host changes nothing.
func TestHostThatIsALittleLate(t *testing.T) {
	for name, tt := range map[string]struct {
		pressed string
		named   bool
	}{
		"under pressure":         {"gpu-013", true},
		"without any fact":       {"", false},
		"another under pressure": {"gpu-004", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(snaptest.R16(), 8)
			p := newPipeline(c.Interval).run(c, 30*time.Minute)
			late(c, 1.6e-3, onHost("gpu-013"))
			if tt.pressed != "" {
				c.Set(signals.HostCPUPressure, 0.55, snaptest.Host(tt.pressed))
			}
			at := p.ticks
			p.run(c, 15*time.Minute)
			if !tt.named {
				require.Empty(t, p.first)
				return
			}
			v := p.verdict(t, StragglerCompute)
			require.Equal(t, "host_cpu", v.Reason)
			require.Equal(t, []Suspect{{Kind: "node", Node: "gpu-013", Score: 1}}, v.Suspects)
			require.Len(t, p.first, 1, "%v", p.first)
			require.LessOrEqual(t, p.first["straggler_compute gpu-013"]-at, 300/15)
			require.WithinDuration(t, c.Now.Add(-15*time.Minute), v.StartedAt, 2*time.Minute)
			late(c, 0, onHost("gpu-013"))
			p.run(c, 5*time.Minute)
			require.Empty(t, p.last.Verdicts)
		})
	}
}
