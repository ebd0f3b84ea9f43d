package diagnosis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestStallByRanks: what the plugin's counters and the exporter's processes say
// of a job that stands, with nothing else to look at.
func TestStallByRanks(t *testing.T) {
	hosts := []string{"a1", "a2"}
	const behind = "collective_stall rank_behind critical high "
	for name, tc := range map[string]struct {
		fault func(j *rankJob)
		want  string // of the rank named, "" if nothing is told at all
		after time.Duration
	}{
		"one never began": {func(j *rankJob) { j.stuck(j.world(), "running", j.but(2)...); j.stuck(j.world(), "queued", 2) }, behind + "{2}", 0},
		"one writes a checkpoint for all": {func(j *rankJob) {
			j.stuck(j.world(), "running", j.but(0)...)
			j.c.Set(signals.HostIOPressure, 0.4, snaptest.Host("a1"))
		}, "", 14 * time.Minute},
		"one did not even enqueue":       {func(j *rankJob) { j.stuck(j.world(), "running", j.but(5)...) }, behind + "{5}", 0},
		"one is stopped in the middle":   {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...); j.stop(6) }, behind + "{6}", 0},
		"a whole host is stopped":        {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...); j.stop(4, 5, 6, 7) }, behind + "node:a2", 0},
		"one is killed":                  {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...); j.kill(1) }, "collective_stall rank_exited critical high {1}", 0},
		"one left in good order":         {func(j *rankJob) { j.stuck(j.world(), "running", j.but(1)...); j.leave(1) }, "collective_stall rank_exited critical medium {1}", 0},
		"all are in it":                  {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...) }, "collective_stall all_alike critical unknown", 5 * time.Minute},
		"all are stopped":                {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...); j.stop(j.all()...) }, "", 30 * time.Minute},
		"all are killed":                 {func(j *rankJob) { j.stuck(j.world(), "running", j.all()...); j.kill(j.all()...) }, "", 30 * time.Minute},
		"all left":                       {func(j *rankJob) { j.halt(); j.leave(j.all()...) }, "", 30 * time.Minute},
		"all write a checkpoint":         {func(j *rankJob) { j.halt() }, "", 14 * time.Minute},
		"a checkpoint that does not end": {func(j *rankJob) { j.halt() }, "collective_stall all_alike critical unknown", 20 * time.Minute},
		"the root is further on": {func(j *rankJob) {
			j.stuck(j.world(), "running", j.but(2, 3)...)
			j.stuck(j.world(), "queued", 2)
			j.comm("5e5e5e5e", 2, 3)
			j.stuck("5e5e5e5e", "running", 2)
		}, behind + "{3}", 0},
		"who waits in a receive is a victim": {func(j *rankJob) {
			j.comm("5e5e5e5e", 2, 3)
			j.stuck(j.world(), "running", j.but(2, 3)...)
			j.stuck(j.world(), "queued", 2)
			j.waiting("5e5e5e5e", "Recv", 2, 3)
		}, behind + "{3}", 0},
		"both ends are in the transfer": {func(j *rankJob) {
			j.comm("5e5e5e5e", 2, 3)
			j.stuck(j.world(), "running", j.but(2, 3)...)
			j.waiting("5e5e5e5e", "Recv", 2, 3)
			j.waiting("5e5e5e5e", "Send", 3, 2)
		}, "collective_stall all_alike critical unknown", 5 * time.Minute},
		"rows that contradict each other": {func(j *rankJob) {
			j.stuck(j.world(), "running", j.but(2)...)
			j.c.Set(signals.CollInflight, 1, j.seat(2, j.world(), "", "running"))
		}, "collective_stall all_alike critical unknown", 5 * time.Minute},
		"light mode tells nothing": {func(j *rankJob) {
			j.stuck(j.world(), "running", j.but(2)...)
			for _, state := range []string{"queued", "running", "partial"} {
				j.c.Gone(signals.CollInflight, j.seat(2, j.world(), "", state))
			}
			j.c.Gone(signals.CollSequence, j.seat(2, j.world(), "AllReduce", "completed"))
		}, "collective_stall all_alike critical unknown", 5 * time.Minute},
		"a restart while the dead are still shown": {func(j *rankJob) {
			j.stuck(j.world(), "running", j.but(2)...)
			for i := range j.ranks {
				j.kill(i)
				j.c.Set(signals.ProcessUp, 1, j.process(i, 900+i))
			}
		}, "collective_stall all_alike critical unknown", 5 * time.Minute},
		"a death long before": {func(j *rankJob) { j.kill(1) }, "", 10 * time.Minute},
	} {
		for what, gpus := range map[string]bool{"ranks": false, "GPUs": true} {
			t.Run(name+" by "+what, func(t *testing.T) {
				r := plain()
				j := newRankJob(r.Cluster, "7001", hosts, 4, gpus)
				other := newRankJob(r.Cluster, "7002", hosts, 4, false) // shares both hosts
				r.run(healthy)
				require.Empty(t, r.told)
				tc.fault(j)
				if tc.after == 0 {
					tc.after = 4 * time.Minute
				}
				r.run(tc.after)
				want := []string(nil)
				if tc.want != "" {
					want = []string{j.named(tc.want)}
				}
				require.Equal(t, want, r.verdicts())
				require.Equal(t, want, r.told, "on the way")
				other.halt()
			})
		}
	}
}

// named fills in what rank {n} is called.
func (j *rankJob) named(want string) string {
	for i, e := range j.ranks {
		kind := "rank:"
		if e.Kind == signals.KindGPU {
			kind = "gpu:"
		}
		want = strings.ReplaceAll(want, fmt.Sprintf("{%d}", i), kind+e.Host+"/"+e.Device)
	}
	return want
}

// TestMembersOfSeveralCommunicators: a process that is known only by its rank in
// each communicator may wait in one and be waited for in the other.
func TestMembersOfSeveralCommunicators(t *testing.T) {
	r := plain()
	j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, false)
	r.Gone(signals.None, j.ranks...)
	for i := range j.ranks {
		j.ranks[i].Device = "member" + string(rune('0'+i))
	}
	j.comm(j.world(), j.all()...)
	j.comm("5e5e5e5e", 2, 3)
	r.run(healthy)
	j.stuck(j.world(), "running", j.but(2, 3)...)
	j.stuck("5e5e5e5e", "running", 2)
	r.run(5 * time.Minute)
	require.Len(t, r.last.Verdicts, 1)
	require.Empty(t, r.last.Verdicts[0].Suspects)
	require.Equal(t, diagnosis.Unknown, r.last.Verdicts[0].Confidence)
}

// TestWitnessesOfAStall: waiting network steps and RAS are told and name nobody.
func TestWitnessesOfAStall(t *testing.T) {
	for name, suspect := range map[string]bool{"beside a suspect": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			r := plain()
			j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, false)
			r.run(healthy)
			j.stuck(j.world(), "running", j.all()...)
			for from, to := range map[int]int{5: 6, 7: 6, 0: 1} {
				e := j.seat(from, j.world(), "", "peer_wait")
				e.Peer = fmt.Sprint(to)
				r.Set(signals.ProxySteps, 3, e)
			}
			ras := j.seat(6, j.world(), "", "dead")
			ras.Kind = signals.KindRank
			r.Set(signals.RASMissing, 1, ras)
			if suspect {
				j.stop(6)
			}
			r.run(5 * time.Minute)
			require.Len(t, r.last.Verdicts, 1)
			v := r.last.Verdicts[0]
			require.Equal(t, suspect, len(v.Suspects) > 0, "RAS alone names nobody")
			text := ""
			for _, e := range v.Evidence {
				text += e.Text + "\n"
			}
			require.Contains(t, text, "a2/rank5 for a2/rank6 (peer wait, 3 steps)")
			require.Contains(t, text, "a2/rank7 for a2/rank6")
			require.Equal(t, !suspect, strings.Contains(text, "a1/rank0 for a1/rank1"))
			require.Contains(t, text, "RAS says of a2/rank6: dead")
		})
	}
}
