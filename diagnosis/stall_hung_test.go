package diagnosis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// TestHungBeforeSlowClocksKnow: counted operations that stand, and a fact beyond
// doubt, are told while the samples of the GPUs still show what was before.
func TestHungBeforeSlowClocksKnow(t *testing.T) {
	const lag = 75 * time.Second
	for name, tc := range map[string]struct {
		fault func(j *rankJob)
		want  string // told within lag, "" if nothing may be
	}{
		"a rank is killed":  {func(j *rankJob) { j.stuck(j.world(), "running", j.but(1)...); j.kill(1) }, "collective_stall rank_exited critical high gpu:a1/GPU1"},
		"a rank is stopped": {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...); j.stop(6) }, "collective_stall rank_behind critical high gpu:a2/GPU2"},
		"a GPU with a hardware Xid": {func(j *rankJob) {
			j.stuck(j.world(), "running", j.but(3)...)
			j.c.Set(signals.GPUXid, 79, j.ranks[3])
		}, "collective_stall gpu_fault critical high gpu:a1/GPU3"},
		"a rank that is behind may only be slow": {func(j *rankJob) { j.stuck(j.world(), "running", j.but(2)...) }, ""},
		"all are in it":                          {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...) }, ""},
		"one left in good order":                 {func(j *rankJob) { j.stuck(j.world(), "running", j.but(1)...); j.leave(1) }, ""},
		"a rank is killed and nobody waits":      {func(j *rankJob) { j.halt(); j.kill(1) }, ""},
		"an application's Xid":                   {func(j *rankJob) { j.stuck(j.world(), "running", j.but(3)...); j.c.Set(signals.GPUXid, 31, j.ranks[3]) }, ""},
		"all are killed":                         {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...); j.kill(j.all()...) }, ""},
		"only one host has the collwatch exporter": {func(j *rankJob) {
			for i := 4; i < 8; i++ {
				j.c.Gone(signals.ProcessUp, j.process(i, 100+i))
				j.c.Gone(signals.ProcessStopped, j.process(i, 100+i))
			}
			j.c.Jobs[0].GPUs = append(j.c.Jobs[0].GPUs, signals.Entity{Kind: signals.KindGPU, Host: "a3", Device: "GPU0"})
			j.stuck(j.world(), "running", j.but(1)...)
			j.kill(1)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := plain()
			j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, true)
			r.Set(signals.GPUTensorActive, 0.5, j.ranks...)
			r.Set(signals.GPUXid, 0, j.ranks...)
			r.run(healthy)
			require.Empty(t, r.told)
			tc.fault(j)
			r.run(lag)
			want := []string(nil)
			if tc.want != "" {
				want = []string{tc.want}
			}
			require.Equal(t, want, r.told)

			// The same faults, and GPUs that work on without counting: no stall.
			r.run(10 * time.Minute)
			require.Empty(t, stalls(r), "GPUs that go on working are no stall")
		})
	}
}

// stalls are the verdicts about a job that stands.
func stalls(r *rig) []string {
	var out []string
	for i := range r.last.Verdicts {
		if v := &r.last.Verdicts[i]; v.Class == "collective_stall" {
			out = append(out, describe(v))
		}
	}
	return out
}

// TestHungThenStalled: as slower clocks stand too the verdict stays, and is one.
func TestHungThenStalled(t *testing.T) {
	r := plain()
	j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, true)
	r.Set(signals.GPUTensorActive, 0.5, j.ranks...)
	r.run(healthy)
	j.stuck(j.world(), "running", j.but(1)...)
	j.kill(1)
	r.run(time.Minute)
	r.Set(signals.GPUTensorActive, 0, j.ranks...)
	began := time.Time{}
	for range 40 {
		r.run(r.Interval)
		require.Equal(t, []string{"collective_stall rank_exited critical high gpu:a1/GPU1"}, r.verdicts())
		if began.IsZero() {
			began = r.last.Verdicts[0].StartedAt
		}
		require.Equal(t, began, r.last.Verdicts[0].StartedAt)
	}
}

// TestFilesAlone: nothing tells a job that was killed from one that hangs, which
// is told, and names nobody.
func TestFilesAlone(t *testing.T) {
	r := plain()
	gpus := []signals.Entity{}
	for _, host := range []string{"a1", "a2"} {
		for i := range 4 {
			gpus = append(gpus, signals.Entity{Kind: signals.KindGPU, Host: host, Device: fmt.Sprintf("GPU%d", i)})
		}
	}
	r.Jobs = append(r.Jobs, &signals.Job{ID: "7001", Hosts: []string{"a1", "a2"}, GPUs: gpus, FirstSeen: r.Now})
	r.Set(signals.InspectorAge, 10, gpus...)
	r.run(healthy)
	require.Empty(t, r.told)
	for age := 10.0; age < 300; age += r.Interval.Seconds() {
		r.Set(signals.InspectorAge, age, gpus...)
		r.run(r.Interval)
	}
	require.Equal(t, []string{"collective_stall all_alike critical unknown"}, r.verdicts())
	require.Contains(t, r.last.Verdicts[0].Next, "see whether the job still runs")
	require.Equal(t, "squeue; kubectl get pods; nvidia-smi", r.last.Verdicts[0].Command)
}

// TestWhatHappensToAStandingJobIsNotItsCause: a watchdog ends ranks one by one,
// and people attach debuggers to a job that hangs. None of them is named.
func TestWhatHappensToAStandingJobIsNotItsCause(t *testing.T) {
	alike := []string{"collective_stall all_alike critical unknown"}
	for name, later := range map[string]func(j *rankJob){
		"a rank is killed":            func(j *rankJob) { j.kill(5) },
		"a rank leaves in good order": func(j *rankJob) { j.leave(5) },
		"a rank is stopped":           func(j *rankJob) { j.stop(5) },
		"ranks are killed in turn":    func(j *rankJob) { j.kill(5); j.kill(6) },
		"a rank frees its memory": func(j *rankJob) {
			j.c.Set(signals.GPUMemUsed, 1e6, j.ranks[5])
		},
		"a rank aborts its communicator": func(j *rankJob) {
			for _, state := range []string{"queued", "running", "partial"} {
				j.c.Gone(signals.CollInflight, j.seat(5, j.world(), "", state))
			}
			j.c.Gone(signals.CollInflightAge, j.seat(5, j.world(), "AllReduce", "running"))
		},
		"a rank gives its operation up": func(j *rankJob) {
			j.c.Set(signals.CollInflight, 0, j.seat(5, j.world(), "", "running"))
			j.c.Gone(signals.CollInflightAge, j.seat(5, j.world(), "AllReduce", "running"))
		},
		"a GPU is taken away": func(j *rankJob) {
			j.c.Gone(signals.GPUMemUsed, j.ranks[5])
			j.c.Gone(signals.GPUUtil, j.ranks[5])
			j.c.Gone(signals.GPUTensorActive, j.ranks[5])
		},
		"a rank idles": func(j *rankJob) { j.c.Set(signals.GPUUtil, 0, j.ranks[5]) },
	} {
		for _, after := range []time.Duration{4 * time.Minute, 10 * time.Minute} {
			t.Run(name+" after "+after.String(), func(t *testing.T) {
				r := plain()
				j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, true)
				r.Set(signals.GPUMemUsed, 6e10, j.ranks...)
				r.Set(signals.GPUTensorActive, 0.5, j.ranks...)
				r.Set(signals.GPUUtil, 1, j.ranks...)
				r.run(healthy)
				j.stuck(j.world(), "running", j.all()...)
				r.Set(signals.GPUTensorActive, 0, j.ranks...)
				r.run(after)
				require.Equal(t, alike, r.told)
				later(j)
				r.run(5 * time.Minute)
				told := slices.DeleteFunc(slices.Clone(r.told), func(line string) bool { return !strings.HasPrefix(line, "collective_stall") })
				require.Equal(t, alike, told)
			})
		}
	}
}

// TestRankThatEvaluatesForAll: a rank that computes is not stuck, whoever waits
// for it.
func TestRankThatEvaluatesForAll(t *testing.T) {
	for name, busy := range map[string]float64{"it computes": 0.5, "it does not": 0} {
		t.Run(name, func(t *testing.T) {
			r := plain()
			j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, true)
			r.Set(signals.GPUTensorActive, 0.5, j.ranks...)
			r.Set(signals.GPUUtil, 1, j.ranks...)
			r.run(healthy)
			j.stuck(j.world(), "running", j.but(0)...)
			r.Set(signals.GPUTensorActive, 0, j.ranks...)
			r.Set(signals.GPUTensorActive, busy, j.ranks[0])
			r.run(10 * time.Minute)
			want := []string{"collective_stall rank_behind critical high gpu:a1/GPU0"}
			if busy > 0 {
				require.Empty(t, r.told)
				r.run(8 * time.Minute)
				want = []string{"collective_stall all_alike critical unknown"}
			}
			require.Equal(t, want, r.told)
		})
	}
}
