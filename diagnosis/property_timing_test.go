package diagnosis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// place is where a fault of timing is put, and how the cluster looks.
type place struct {
	fault      string
	hosts      int
	host, rail int
	loss       float64
	seed       uint64
	// scale multiplies all times and rates of the job.
	scale float64
	// others is how many healthy hosts run a job of their own.
	others int
}

// timing runs a fault of timing and returns what stands at the end, without
// what is only recorded.
func timing(p place) []string {
	shape := snaptest.Rails("gpu-%03d", p.hosts, 8)
	shape.ExecTime *= p.scale
	shape.Bandwidth /= p.scale
	shape.NVLink /= p.scale
	shape.Traffic *= min(1, p.scale)
	mine := slices.Clone(shape.Hosts)
	all := snaptest.Rails("gpu-%03d", p.hosts+p.others, 8)
	shape.Hosts, shape.Job = all.Hosts, ""
	r := newRig(snaptest.New(shape, p.seed))
	r.AddJob("48213", mine, 8)
	if p.others > 0 {
		r.AddJob("48299", shape.Hosts[p.hosts:], 8)
	}
	r.run(26 * time.Minute)
	if len(r.told) > 0 {
		return append([]string{"before the fault"}, r.told...)
	}
	own := func(g *signals.Group) bool { return g.Job == "48213" && g.NNodes > 1 }
	switch p.fault {
	case "rail":
		k := string(rune('0' + p.rail))
		r.SlowGroups(1-p.loss, func(g *signals.Group) bool { return own(g) && g.Comm == "dp"+k })
	case "late":
		wait := shape.ExecTime * (0.6 + 2*p.loss)
		r.SetAll(signals.CollExecTime, shape.ExecTime+wait, func(e signals.Entity) bool {
			return e.NNodes > 1 && e.Job == "48213" && e.Host != mine[p.host]
		})
		r.Set(signals.HostCPUPressure, 0.5, snaptest.Host(mine[p.host]))
	}
	r.run(9 * time.Minute)
	return r.verdicts()
}

func drawPlace(t *rapid.T, faults ...string) place {
	p := place{
		fault: rapid.SampledFrom(faults).Draw(t, "fault"), hosts: rapid.IntRange(4, 10).Draw(t, "hosts"), rail: rapid.IntRange(0, 7).Draw(t, "rail"),
		loss: rapid.Float64Range(0.3, 0.7).Draw(t, "loss"), seed: rapid.Uint64Range(1, 1e6).Draw(t, "seed"), scale: 1,
	}
	p.host = rapid.IntRange(0, p.hosts-1).Draw(t, "host")
	return p
}

// whoAndWhat are class, reason and names of verdicts: severity and confidence
// may follow from numbers.
func whoAndWhat(lines []string) string {
	var out []string
	for _, l := range lines {
		f := strings.Fields(l)
		if len(f) > 3 {
			f = append(f[:2], f[4:]...)
		}
		out = append(out, strings.Join(f, " "))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// TestScaleOfAJobChangesNothing: a job whose operations all take f times as long
// is the same job.
func TestScaleOfAJobChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlace(t, "rail", "late")
		want := whoAndWhat(timing(p))
		if want == "" {
			t.Fatalf("%+v: not found", p)
		}
		p.scale = rapid.Float64Range(0.3, 6).Draw(t, "scale")
		if got := whoAndWhat(timing(p)); got != want {
			t.Fatalf("%+v: %s instead of %s", p, got, want)
		}
	})
}

// TestHealthyJobsChangeNothing: what other jobs do beside says nothing about the
// guilty.
func TestHealthyJobsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlace(t, "rail", "late")
		want := whoAndWhat(timing(p))
		p.others = rapid.IntRange(2, 6).Draw(t, "others")
		if got := whoAndWhat(timing(p)); got != want {
			t.Fatalf("%+v: %s instead of %s", p, got, want)
		}
	})
}

// TestQuietFabricStaysQuiet holds for any size, names, kind of fabric and noise.
func TestQuietFabricStaysQuiet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts, gpus := rapid.IntRange(2, 12).Draw(t, "hosts"), rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(t, "gpus")
		shape := snaptest.Rails(rapid.SampledFrom([]string{"gpu-%03d", "n%d", "rack1-node%d.dc", "ip-10-0-0-%d"}).Draw(t, "names"), hosts, gpus)
		shape.World = rapid.Bool().Draw(t, "world")
		shape.Fabric = rapid.SampledFrom([]string{"ib", "roce"}).Draw(t, "fabric")
		shape.ExecTime *= rapid.Float64Range(0.2, 8).Draw(t, "exec")
		shape.Bandwidth *= rapid.Float64Range(0.2, 1).Draw(t, "bandwidth")
		shape.Temp += rapid.Float64Range(-20, 20).Draw(t, "temp")
		shape.Clock *= rapid.Float64Range(0.6, 1.1).Draw(t, "clock")
		r := newRig(snaptest.New(shape, rapid.Uint64Range(1, 1e6).Draw(t, "seed")))
		noise := rapid.Float64Range(0.005, 0.06).Draw(t, "noise")
		for _, id := range []signals.ID{signals.CollExecTime, signals.CollBusBandwidth, signals.GPUPower, signals.NICTx, signals.NICRx, signals.GPUTensorActive} {
			r.Noise(id, noise, r.Series(id)...)
		}
		r.run(35 * time.Minute)
		for _, line := range r.told {
			// A single kind of operation far below its links may be said to be so.
			if !strings.HasPrefix(line, "inefficient_collective ") {
				t.Fatalf("told %v", r.told)
			}
		}
	})
}

// TestMissingSeriesNeverChangeTheName: less to see may silence a verdict or make
// it coarser, but blames nobody else.
func TestMissingSeriesNeverChangeTheName(t *testing.T) {
	optional := []signals.ID{
		signals.GPUTemp, signals.GPUSMClock, signals.GPUClockReasons, signals.HostCPUPressure, signals.HostLoad, signals.NICTransmitWait, signals.NICModel,
		signals.SwitchLink, signals.HostParent, signals.GPUTensorActive, signals.NICTx, signals.JobOnNode,
	}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlace(t, "late")
		missing := rapid.SliceOfNDistinct(rapid.SampledFrom(optional), 1, 5, rapid.ID[signals.ID]).Draw(t, "missing")
		shape := snaptest.Rails("gpu-%03d", p.hosts, 8)
		r := newRig(snaptest.New(shape, p.seed))
		r.Without(missing...)
		r.run(26 * time.Minute)
		r.SetAll(signals.CollExecTime, shape.ExecTime*(1.6+2*p.loss), func(e signals.Entity) bool { return e.NNodes > 1 && e.Host != shape.Hosts[p.host] })
		r.run(9 * time.Minute)
		for _, line := range r.told {
			f := strings.Fields(line)
			if f[0] != "straggler_compute" {
				t.Fatalf("without %v: %v", missing, r.told)
			}
			for _, name := range f[4:] {
				if !strings.Contains(name, shape.Hosts[p.host]) {
					t.Fatalf("without %v: %v names another than %s", missing, r.told, shape.Hosts[p.host])
				}
			}
		}
	})
}
