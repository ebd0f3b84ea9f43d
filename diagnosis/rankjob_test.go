package diagnosis_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// rankJob is a job as the collwatch exporter alone shows it: counters, what is
// in flight, and processes.
type rankJob struct {
	c     *snaptest.Cluster
	id    string
	ranks []signals.Entity // KindRank, or KindGPU where the GPUs are known
	comms map[string][]int
}

// newRankJob adds a job of perHost ranks on each host, with one communicator of
// all of them.
func newRankJob(c *snaptest.Cluster, id string, hosts []string, perHost int, gpus bool) *rankJob {
	j := &rankJob{c: c, id: id, comms: map[string][]int{}}
	job := &signals.Job{ID: id, Hosts: hosts, FirstSeen: c.Now}
	for i := range len(hosts) * perHost {
		e := signals.Entity{Kind: signals.KindRank, Job: id, Host: hosts[i/perHost], Device: fmt.Sprintf("rank%d", i)}
		if gpus {
			e = snaptest.GPU(hosts[i/perHost], i%perHost)
			job.GPUs = append(job.GPUs, e)
		} else {
			job.Ranks = append(job.Ranks, e)
		}
		j.ranks = append(j.ranks, e)
		c.Set(signals.ProcessUp, 1, j.process(i, 100+i))
		c.Set(signals.ProcessStopped, 0, j.process(i, 100+i))
	}
	c.Jobs = append(c.Jobs, job)
	j.comm(id+"0c0ffee", j.all()...)
	return j
}

func (j *rankJob) all() []int {
	out := make([]int, len(j.ranks))
	for i := range out {
		out[i] = i
	}
	return out
}

func (j *rankJob) process(i, pid int) signals.Entity {
	r := j.ranks[i]
	return signals.Entity{Kind: signals.KindRank, Job: j.id, Host: r.Host, Device: r.Device, Detail: fmt.Sprint(pid)}
}

// world is the communicator of all ranks.
func (j *rankJob) world() string { return j.id + "0c0ffee" }

// comm adds a communicator that does all-reduces all the time.
func (j *rankJob) comm(id string, members ...int) {
	j.comms[id] = members
	for _, i := range members {
		for _, state := range []string{"queued", "running", "partial"} {
			j.c.Set(signals.CollInflight, 0, j.seat(i, id, "", state))
		}
		j.at(i, id, "AllReduce", 7, 7)
		j.c.Set(signals.CollOps, 10, j.seat(i, id, "AllReduce", ""))
	}
}

// seat is an entity of rank i in a communicator.
func (j *rankJob) seat(i int, comm, op, detail string) signals.Entity {
	r := j.ranks[i]
	return signals.Entity{
		Kind: signals.KindComm, Job: j.id, Host: r.Host, Device: r.Device, Comm: comm, Op: op, Detail: detail,
		NRanks: int32(len(j.comms[comm])), Rank: int32(slices.Index(j.comms[comm], i)) + 1,
	}
}

// at says how far a rank is.
func (j *rankJob) at(i int, comm, op string, enqueued, completed float64) {
	j.c.Set(signals.CollSequence, enqueued, j.seat(i, comm, op, "enqueued"))
	j.c.Set(signals.CollSequence, completed, j.seat(i, comm, op, "completed"))
}

// halt stops all counters of the job.
func (j *rankJob) halt() {
	for comm, members := range j.comms {
		for _, i := range members {
			j.c.Set(signals.CollOps, 0, j.seat(i, comm, "AllReduce", ""))
		}
	}
}

// stuck makes ranks hang in an all-reduce, in the given state.
func (j *rankJob) stuck(comm, state string, ranks ...int) {
	j.halt()
	for _, i := range ranks {
		j.at(i, comm, "AllReduce", 8, 7)
		j.c.Set(signals.CollInflight, 1, j.seat(i, comm, "", state))
		j.c.Set(signals.CollInflightAge, 30, j.seat(i, comm, "AllReduce", state))
	}
}

// waiting makes a rank hang in a Send or Recv with a peer.
func (j *rankJob) waiting(comm, op string, i, peer int) {
	j.halt()
	j.c.Set(signals.CollInflight, 1, j.seat(i, comm, "", "running"))
	j.c.Set(signals.CollInflightAge, 30, j.seat(i, comm, op, "running"))
	j.c.Set(signals.CollInflightPeer, float64(slices.Index(j.comms[comm], peer)), j.seat(i, comm, op, "running"))
}

// stop makes a signal stop ranks, kill kills them.
func (j *rankJob) stop(ranks ...int) {
	for _, i := range ranks {
		j.c.Set(signals.ProcessStopped, 1, j.process(i, 100+i))
	}
}

func (j *rankJob) kill(ranks ...int) {
	for _, i := range ranks {
		j.c.Set(signals.ProcessUp, 0, j.process(i, 100+i))
		j.c.Gone(signals.ProcessStopped, j.process(i, 100+i))
	}
}

// leave makes ranks end in good order: what they are in flight with is closed.
func (j *rankJob) leave(ranks ...int) {
	for _, i := range ranks {
		j.c.Gone(signals.ProcessUp, j.process(i, 100+i))
		j.c.Gone(signals.ProcessStopped, j.process(i, 100+i))
		for comm, members := range j.comms {
			if slices.Contains(members, i) {
				for _, state := range []string{"queued", "running", "partial"} {
					j.c.Gone(signals.CollInflight, j.seat(i, comm, "", state))
				}
			}
		}
	}
}

// unseen takes the exporter's processes and operations in flight away: DCGM alone
// tells what the ranks do.
func (j *rankJob) unseen() {
	for i := range j.ranks {
		j.c.Gone(signals.ProcessUp, j.process(i, 100+i))
		j.c.Gone(signals.ProcessStopped, j.process(i, 100+i))
		for _, state := range []string{"queued", "running", "partial"} {
			j.c.Gone(signals.CollInflight, j.seat(i, j.world(), "", state))
		}
	}
}

// but lists all ranks except some.
func (j *rankJob) but(except ...int) []int {
	return slices.DeleteFunc(j.all(), func(i int) bool { return slices.Contains(except, i) })
}

// plain is a cluster without anything, for jobs of the exporter alone.
func plain() *rig {
	c := snaptest.New(snaptest.Shape{}, 1)
	return newRig(c)
}

const healthy = 10 * time.Minute
