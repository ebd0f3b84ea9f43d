package signals

import (
	"strconv"
	"strings"

	"github.com/collwatch/collwatch/promapi"
)

// memberKey is a rank of a communicator.
type memberKey struct {
	comm string
	rank int32 // plus one; 0 for the communicator itself, whose place has a job only
}

// memberPlace is where that rank runs.
type memberPlace struct{ job, host, device string }

// processEntity names a process whose GPU nobody tells, as far as labels go.
// Nothing is guessed: a local rank tells no GPU, and a rank in a communicator
// tells no rank in the job.
func (r *Reader) processEntity(c *compiled, e *Entity, ls promapi.Labels) {
	switch {
	case c.fromRAS():
		if !r.ident.wantMembers {
			r.ident.wantMembers = true
			r.ident.epoch++
		}
		if e.Rank > 0 && isCommID(e.Comm) {
			r.ident.memberOf(e)
		}
	case len(c.columns.process) == 0:
		return
	default:
		for _, label := range c.columns.process {
			v := ls.Get(label)
			if !digitsOnly(v) || len(v) > 10 {
				continue
			}
			e.Device = procPrefix + v
			if strings.HasSuffix(label, "rank") {
				e.Device = rankPrefix + v
			}
			return
		}
	}
	if e.Device == "" && e.Rank > 0 && e.Comm != "" {
		e.Device = memberPrefix + strconv.Itoa(int(e.Rank)-1)
	}
}

// fromRAS says that a series is RAS's, which knows communicators and ranks in
// them and nothing of jobs.
func (c *compiled) fromRAS() bool { return c.Signal == RASCount || c.Signal == RASMissing }

// learnMember notes which process is a rank of a communicator.
func (r *Reader) learnMember(c *compiled, e *Entity) {
	d := r.ident
	if !d.wantMembers || c.Kind != KindComm || e.Rank == 0 || e.Host == "" || !isCommID(e.Comm) || e.IsMember() {
		return
	}
	k, place := memberKey{e.Comm, e.Rank}, memberPlace{e.Job, e.Host, e.Device}
	if d.members[k] == place {
		return
	}
	if len(d.members) >= maxTable {
		clear(d.members) // what still exists is bound again and learned anew
	}
	d.members[k] = place
	d.members[memberKey{e.Comm, 0}] = memberPlace{job: e.Job}
	d.epoch++
}

// memberOf fills in what is known of a rank of a communicator.
func (d *identity) memberOf(e *Entity) {
	if at, ok := d.members[memberKey{e.Comm, e.Rank}]; ok {
		e.Job, e.Host, e.Device = at.job, at.host, at.device
		return
	}
	if e.Job == "" {
		e.Job = d.members[memberKey{e.Comm, 0}].job
	}
}
