package signals

import (
	"maps"
	"slices"
)

// On Kubernetes the Inspector calls every job "unknown", and where no labels of
// pods are exported nothing else names it either. Its communicators still tell
// which hosts belong together: hosts that share one whose members are all seen
// run one job. Such a job is called after its first host. Where two jobs of
// one shape cannot be told apart nothing is whole, and no job is made up.

// unnamedPrefix begins the ids of jobs that nothing names.
const unnamedPrefix = "unnamed-"

// unnamedJobs gives series without a job the one their communicator tells.
type unnamedJobs struct {
	of    map[unnamedKey]string
	asked map[unnamedKey]bool
}

// unnamedKey is a host's part in a communicator.
type unnamedKey struct {
	host string
	comm commKey
}

func newUnnamedJobs() *unnamedJobs {
	return &unnamedJobs{of: map[unnamedKey]string{}, asked: map[unnamedKey]bool{}}
}

// jobOf returns the job of a member of a communicator that nothing names, ""
// while it is not known.
func (u *unnamedJobs) jobOf(e Entity) string {
	k := unnamedKey{e.Host, commKeyOf(e)}
	k.comm.job = ""
	if len(u.asked) < maxTable {
		u.asked[k] = true
	}
	return u.of[k]
}

// learn looks for jobs in the groups that have none.
func (u *unnamedJobs) learn(t *groupTable, jobs *jobTable, ident *identity) {
	parent := map[string]string{}
	var root func(string) string
	root = func(h string) string {
		if p, ok := parent[h]; ok && p != h {
			parent[h] = root(p)
			return parent[h]
		}
		return h
	}
	open := map[string]bool{} // hosts in a communicator over several that is not understood
	for _, g := range t.list {
		if g.Job != "" || len(g.Members) == 0 {
			continue
		}
		first := g.Members[0].Host
		for _, m := range g.Members {
			switch {
			case jobs.managed[m.Host]: // a scheduler should have told
				open[m.Host] = true
			case g.Whole:
				parent[root(m.Host)] = root(first)
			case g.NNodes > 1:
				open[m.Host] = true
			}
		}
	}
	jobHosts := map[string][]string{}
	for h := range parent {
		jobHosts[root(h)] = append(jobHosts[root(h)], h)
	}
	for _, hosts := range jobHosts {
		if len(hosts) > 1 || !open[hosts[0]] {
			u.name(t, hosts, jobs, ident)
		}
	}
}

// name gives the communicators that stay within hosts a job, the one that some
// of them have already or else a new one.
func (u *unnamedJobs) name(t *groupTable, hosts []string, jobs *jobTable, ident *identity) {
	slices.Sort(hosts)
	if slices.ContainsFunc(hosts, func(h string) bool { return jobs.managed[h] }) {
		return
	}
	within := map[string]bool{}
	for _, h := range hosts {
		within[h] = true
	}
	job := unnamedPrefix + hosts[0]
	for _, k := range slices.SortedFunc(maps.Keys(u.of), compareUnnamed) {
		if within[k.host] {
			job = u.of[k]
			break
		}
	}
	for k, c := range t.comms {
		if k.job != "" || !c.inside(within) {
			continue
		}
		for m := range c.members {
			at := unnamedKey{m.Host, k}
			if u.of[at] == "" && within[m.Host] && len(u.of) < maxTable {
				u.of[at] = job
				if u.asked[at] {
					ident.epoch++
				}
			}
		}
	}
}

// inside says that a communicator has members on the hosts, and that one
// communicator of several hosts has no members elsewhere. Those within a host
// share a key with those of all other jobs.
func (c *comm) inside(hosts map[string]bool) bool {
	some, all := false, true
	for m := range c.members {
		some, all = some || hosts[m.Host], all && hosts[m.Host]
	}
	return all || some && c.nnodes == 1
}

func compareUnnamed(a, b unnamedKey) int {
	if a.host != b.host {
		if a.host < b.host {
			return -1
		}
		return 1
	}
	return compareComms(a.comm, b.comm)
}
