package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestStallOverARestart: to a daemon that begins long after a job stopped, it
// looks like one that never began. What was kept says better.
func TestStallOverARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		fault  func(j *rankJob)
		plugin bool
		want   string
	}{
		"one is behind, by its counters": {func(j *rankJob) { j.stuck(j.world(), "running", j.but(3)...) }, true, "collective_stall rank_behind critical high gpu:a1/GPU3"},
		"one is killed":                  {func(j *rankJob) { j.stuck(j.world(), "running", j.but(1)...); j.kill(1) }, true, "collective_stall rank_exited critical high gpu:a1/GPU1"},
		"all are in it":                  {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...) }, false, "collective_stall all_alike critical unknown"},
		"one idles": {func(j *rankJob) {
			j.stuck(j.world(), "running", j.all()...)
			j.c.Set(signals.GPUUtil, 0, j.ranks[6])
		}, false, "collective_stall rank_behind critical medium gpu:a2/GPU2"},
		"one freed its memory": {func(j *rankJob) {
			j.stuck(j.world(), "running", j.all()...)
			j.c.Set(signals.GPUMemUsed, 1e6, j.ranks[2])
		}, false, "collective_stall rank_exited critical high gpu:a1/GPU2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := plain()
			j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, true)
			if !tc.plugin {
				j.unseen()
			}
			j.trains()
			r.run(healthy)
			tc.fault(j)
			r.Set(signals.GPUTensorActive, 0, j.ranks...)
			r.Set(signals.GPUPower, 150, j.ranks...)
			r.run(time.Hour)
			require.Equal(t, []string{tc.want}, r.told)

			again := r.restarted(t)
			again.run(time.Hour)
			require.Equal(t, []string{tc.want}, again.told)

			// And once more, before anything new is learned.
			again = again.restarted(t).restarted(t)
			again.run(10 * time.Minute)
			require.Equal(t, []string{tc.want}, again.told)

			j.goesOn()
			again.run(5 * time.Minute)
			require.Empty(t, again.verdicts(), "it went on")
		})
	}
}

// TestJobThatWentOnOverARestart: what was kept of a stop says nothing of a job
// that has gone on since.
func TestJobThatWentOnOverARestart(t *testing.T) {
	r := plain()
	j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, true)
	j.trains()
	r.run(healthy)
	j.stuck(j.world(), "running", j.but(3)...)
	r.Set(signals.GPUTensorActive, 0, j.ranks...)
	r.Set(signals.GPUPower, 150, j.ranks...)
	r.run(10 * time.Minute)
	again := r.restarted(t)
	j.goesOn()
	again.run(time.Hour)
	require.Empty(t, again.told)
}

// trains is what DCGM shows of a job at work.
func (j *rankJob) trains() {
	j.c.Set(signals.GPUMemUsed, 6e10, j.ranks...)
	j.c.Set(signals.GPUTensorActive, 0.5, j.ranks...)
	j.c.Set(signals.GPUPower, 600, j.ranks...)
	j.c.Set(signals.GPUUtil, 1, j.ranks...)
}

// goesOn ends a stop.
func (j *rankJob) goesOn() {
	j.trains()
	for comm, members := range j.comms {
		for _, i := range members {
			j.c.Set(signals.CollOps, 10, j.seat(i, comm, "AllReduce", ""))
		}
	}
}

// restarted is the rig with another process of the daemon.
func (r *rig) restarted(t *testing.T) *rig {
	t.Helper()
	kept, err := r.bank.Save()
	require.NoError(t, err)
	again := newRig(r.Cluster)
	require.NoError(t, again.bank.Restore(kept))
	return again
}

// TestWhatWasSoSinceEverIsSoAfterARestart: what seems to begin with the history
// that is read did not begin then, though the job is known to be older.
func TestWhatWasSoSinceEverIsSoAfterARestart(t *testing.T) {
	gpu := snaptest.GPU("gpu-004", 2)
	r := newRig(snaptest.New(snaptest.R16(), 11))
	r.Without(signals.GPUClockReasons)
	r.Set(signals.GPUSMClock, 1590e6, gpu)
	r.Set(signals.GPUTemp, 86, gpu)
	r.run(time.Hour)
	require.Empty(t, r.told)
	again := r.restarted(t)
	again.run(time.Hour)
	require.Empty(t, again.told)
}

// TestStallOverAGapOfSamples: values that are missing for a while do not make
// the state of a member a new one, so its name stays.
func TestStallOverAGapOfSamples(t *testing.T) {
	r := plain()
	j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, true)
	j.unseen()
	j.trains()
	r.run(healthy)
	j.halt()
	r.Set(signals.GPUTensorActive, 0, j.ranks...)
	r.Set(signals.GPUPower, 150, j.ranks...)
	r.Set(signals.GPUUtil, 0, j.ranks[6])
	r.run(10 * time.Minute)
	want := []string{"collective_stall rank_behind critical medium gpu:a2/GPU2"}
	require.Equal(t, want, r.told)
	r.Gone(signals.GPUUtil, j.ranks...)
	r.run(5 * time.Minute)
	r.Set(signals.GPUUtil, 1, j.ranks...)
	r.Set(signals.GPUUtil, 0, j.ranks[6])
	r.run(10 * time.Minute)
	require.Equal(t, want, r.verdicts())
}
