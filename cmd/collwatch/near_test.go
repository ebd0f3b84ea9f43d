package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/internal/report"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/sim"
)

// metered counts what a source is asked for.
type metered struct {
	promapi.Querier

	samples, nccl atomic.Int64
}

func (m *metered) Instant(ctx context.Context, expr string, t time.Time, dst *promapi.Result) error {
	err := m.Querier.Instant(ctx, expr, t, dst)
	m.samples.Add(int64(len(dst.Samples)))
	if strings.Contains(expr, "nccl_collective") {
		m.nccl.Add(int64(len(dst.Samples)))
	}
	return err
}

// shared is a cluster whose job 48213 shares the first of its two switches with
// another job, and nothing with the jobs elsewhere.
func shared(hosts int) sim.Shape {
	shape := sim.R16(hosts)
	shape.Fabric, shape.HostsPerLeaf, shape.HostsPerRack = sim.FabricToR, 4, 0
	shape.Jobs = nil
	place := func(id string, at ...int) {
		job := sim.TensorData(id, len(at), 8)
		job.Hosts = at
		shape.Jobs = append(shape.Jobs, job)
	}
	place("48213", 2, 3, 4, 5)
	place("48300", 0, 1, 8, 9)
	for h := 12; h+8 <= hosts; h += 8 {
		place("far-"+shape.Hosts[h], h, h+1, h+2, h+3, h+4, h+5, h+6, h+7)
	}
	return shape
}

// nearRig reads pages about job 48213.
type nearRig struct {
	t      testing.TB
	cfg    *config.Config
	past   *past
	meter  *metered
	span   span
	around *surroundings
}

func newNearRig(t testing.TB, hosts int, length time.Duration, faults ...sim.Fault) *nearRig {
	t.Helper()
	dialect := sim.Full()
	dialect.Switches = "infiniband" // they tell which port of which host is on which of them
	db := pastCluster(t, sim.Options{Seed: 7, Shape: shared(hosts), Dialect: dialect, Noise: sim.DefaultNoise()}, length, faults...)
	meter := &metered{Querier: db.Querier()}
	cfg := config.Default()
	rig := &nearRig{t: t, cfg: &cfg, meter: meter, past: &past{sources: map[string]promapi.Querier{"sim": meter}, close: func() {}}}
	rig.past.first, rig.past.last = db.TimeRange()
	rig.span = span{from: rig.past.first, to: rig.past.last, starts: true}
	opts, err := assembleOptions(rig.cfg)
	require.NoError(t, err)
	opts.signals.Interval = 50 * time.Minute // as for a job of weeks
	rig.around, err = survey(t.Context(), opts.signals, opts.topology, rig.past, "48213", rig.span)
	require.NoError(t, err)
	return rig
}

// page reads the page, and says how many samples of all and of collectives it took.
func (r *nearRig) page(left *leftOut) (page *report.Report, samples, nccl int64) {
	r.t.Helper()
	was, wasNCCL := r.meter.samples.Load(), r.meter.nccl.Load()
	page, err := readReport(r.t.Context(), r.cfg, r.past, "48213", r.span, left, newProgress(io.Discard))
	require.NoError(r.t, err)
	return page, r.meter.samples.Load() - was, r.meter.nccl.Load() - wasNCCL
}

// toldOn are the incidents of a page that name the job's surroundings, in short.
func toldOn(r *report.Report) (out []string) {
	for _, i := range r.Incidents {
		out = append(out, strings.Join([]string{i.From.Format(time.TimeOnly), i.Class, i.Severity, i.Confidence, i.Suspect, i.Summary}, " | "))
	}
	return out
}

func html(t *testing.T, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.WriteHTML(&b))
	return b.String()
}

// TestThePageNeedsItsSurroundingsOnly: a switch that the job shares with another one
// is told by the ports of both. The page is the same without the rest of the cluster,
// and another one without the neighbours.
func TestThePageNeedsItsSurroundingsOnly(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("simulates a hundred hosts")
	}
	rig := newNearRig(t, 100, time.Hour, sim.DeadLeaf(0, 2400, 600), sim.Downtrain(3, 5, 0.25, 1200, 2100))
	whole, all, allNCCL := rig.page(nil)
	left := rig.around.leave(rig.around.around("48213"), elsewhere, 1<<20)
	require.NotNil(t, left)
	near, some, someNCCL := rig.page(left)
	t.Log(toldOn(whole), toldOn(near), all, some, allNCCL, someNCCL)
	require.NotEmpty(t, toldOn(whole))
	require.Equal(t, toldOn(whole), toldOn(near))
	require.Equal(t, 100, near.HostsKnown)
	near.HostsRead, near.HostsKnown = 0, 0 // which the page says
	require.Equal(t, html(t, whole), html(t, near))
	require.Less(t, someNCCL, allNCCL/5)
	require.Less(t, some, all/2)

	require.Contains(t, strings.Join(toldOn(near), "\n"), "leaf_degraded | critical | high | switch leaf-a")
	alone, _, _ := rig.page(rig.around.leave(rig.around.of("48213"), 0, 1<<20))
	require.NotContains(t, strings.Join(toldOn(alone), "\n"), "leaf_degraded", "the neighbours were not needed: nothing is tested here")

	// A host that the job uses, and that was taken for far, is not left out in
	// silence: its relation to the job is always read.
	few := rig.around.of("48213")
	delete(few, "gpu-006")
	_, err := readReport(t.Context(), rig.cfg, rig.past, "48213", rig.span, rig.around.leave(few, elsewhere, 1<<20), newProgress(io.Discard))
	var stray *strayError
	require.ErrorAs(t, err, &stray)
	require.Equal(t, []string{"gpu-006"}, stray.hosts)

	require.Nil(t, rig.around.leave(nil, elsewhere, 1<<20), "nobody knows where the job runs")
	rig.around.unsure = true
	require.Nil(t, rig.around.leave(few, elsewhere, 1<<20), "nor whether it ran anywhere else")
	rig.around.unsure = false
	require.Nil(t, rig.around.leave(few, elsewhere, 200), "the list would be longer than a server takes")
	require.Nil(t, rig.around.leave(few, 80, 1<<20), "a few hosts are not worth it")
}

// BenchmarkLargeCluster is a page about a job of 4 hosts in a cluster of 256, over an
// hour: of the whole cluster, and of what the job has to do with. survey/op are the
// samples that it takes to find that out, whatever the length of the job.
func BenchmarkLargeCluster(b *testing.B) {
	rig := newNearRig(b, 256, time.Hour)
	surveyed := rig.meter.samples.Load()
	for name, left := range map[string]*leftOut{
		"whole": nil, "near": rig.around.leave(rig.around.around("48213"), elsewhere, 1<<20),
	} {
		b.Run(name, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				_, samples, nccl := rig.page(left)
				b.ReportMetric(float64(samples), "samples/op")
				b.ReportMetric(float64(nccl), "nccl-samples/op")
			}
			b.ReportMetric(float64(surveyed), "survey/op")
		})
	}
}
