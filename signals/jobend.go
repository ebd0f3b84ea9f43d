package signals

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// A job is over when the scheduler's relation that placed it is gone, or when
// all its GPUs are free. Its series may go on for days: SIGKILL leaves the
// Inspector's files, and the textfile collector serves them.

const (
	// freeMemory is what a GPU without a process may have in use; drivers
	// count some hundred MiB of their own.
	freeMemory = 2 << 30
	freeUtil   = 0.01
	// reviveAfter is how long after its end new values of a job must still
	// come to prove that it runs: the last ones arrive late.
	reviveAfter = 90 * 1000
	// valueAge is how old a value may be to say what is so now.
	valueAge = 2 * 60 * 1000
	// silentFor is how long a job that only labels know may be silent, with
	// idle GPUs, before it is over.
	silentFor = 10 * 60 * 1000
)

// judge decides for each job whether it is over.
func (t *jobTable) judge(r *Reader) {
	for _, j := range t.list {
		switch {
		case len(t.placed[j.ID]) > 0:
			j.Ended, j.revived, j.endedAt = false, false, 0
		case j.revived:
		case j.everPlaced || t.managesHostsOf(j, r.now):
			t.end(j, r.now)
		case t.free(r, j):
			t.end(j, r.now)
		}
	}
}

func (t *jobTable) end(j *jobState, now int64) {
	if !j.Ended {
		j.Ended, j.endedAt = true, now
	}
}

// managesHostsOf says that the scheduler knows the job's hosts, so that its
// silence about the job means something. A job that still has news is none of
// that scheduler's, whatever it calls its own jobs.
func (t *jobTable) managesHostsOf(j *jobState, now int64) bool {
	if len(j.Hosts) == 0 || now-j.LastSeen.UnixMilli() < reviveAfter {
		return false
	}
	for _, h := range j.Hosts {
		if !t.managed[h] {
			return false
		}
	}
	return true
}

// free says that all GPUs of a job are known to hold no process.
func (t *jobTable) free(r *Reader, j *jobState) bool {
	if len(j.GPUs) == 0 {
		return false
	}
	for _, g := range j.GPUs {
		util, mem := r.last(GPUUtil, g), r.last(GPUMemUsed, g)
		switch {
		case math.IsNaN(util) || util > freeUtil:
			return false
		case math.IsNaN(mem):
			if r.now-j.LastSeen.UnixMilli() < silentFor {
				return false
			}
		case mem > freeMemory:
			return false
		}
	}
	return true
}

// last returns the newest value of a signal if it is recent, else NaN.
func (r *Reader) last(id ID, e Entity) float64 {
	eid, ok := r.entities.Find(e)
	if !ok {
		return math.NaN()
	}
	i, ok := r.findSlot(id, eid)
	if !ok || r.now-r.slots[i].lastT > valueAge {
		return math.NaN()
	}
	return r.slots[i].lastV
}

// sawFrozen notes a value of a job that is over. New window means long after
// the end prove that the job lives.
func (t *jobTable) sawFrozen(i int32, at int64, dumped bool) {
	j := t.list[i]
	if dumped && j.endedAt != 0 && at > j.endedAt+reviveAfter {
		j.Ended, j.revived, j.endedAt = false, true, 0
	}
}

// fill updates hosts, GPUs and times of all jobs.
func (t *jobTable) fill(r *Reader) {
	for i := range r.owners {
		o := &r.owners[i]
		if o.job < 0 || o.lastT == 0 || o.gone {
			continue
		}
		j := t.list[o.job]
		j.seen(time.UnixMilli(o.lastT))
	}
	for id, hosts := range t.placed {
		j := t.list[t.index(id)]
		j.seen(time.UnixMilli(r.now))
		j.Placed = true
		if !sameHosts(j.Hosts, hosts) {
			j.Hosts = j.Hosts[:0:0]
			for h := range hosts {
				j.Hosts = append(j.Hosts, h)
			}
			slices.Sort(j.Hosts)
		}
	}
	for _, jobs := range t.gpuJobs {
		for id := range jobs {
			t.list[t.index(id)].seen(time.UnixMilli(r.now))
		}
	}
	if t.ownersAt == len(r.owners) && t.entitiesAt == r.ident.epoch && t.builtAt == t.built && t.slotsAt == len(r.slots) {
		return
	}
	t.ownersAt, t.entitiesAt, t.builtAt, t.slotsAt = len(r.owners), r.ident.epoch, t.built, len(r.slots)
	t.devices(r)
}

func (j *jobState) seen(at time.Time) {
	if j.FirstSeen.IsZero() {
		j.FirstSeen = at
	}
	if at.After(j.LastSeen) {
		j.LastSeen = at
	}
}

func sameHosts(list []string, set map[string]bool) bool {
	if len(list) != len(set) {
		return false
	}
	for _, h := range list {
		if !set[h] {
			return false
		}
	}
	return true
}

// devices collects the GPUs of each job from the labels of collectives and of
// GPUs, and the hosts of jobs that no scheduler places.
func (t *jobTable) devices(r *Reader) {
	gpus, ranks := map[string]map[Entity]bool{}, map[string]map[Entity]bool{}
	hosts := map[string]map[string]bool{}
	add := func(job, host, device string) {
		if hosts[job] == nil {
			hosts[job], gpus[job], ranks[job] = map[string]bool{}, map[Entity]bool{}, map[Entity]bool{}
		}
		hosts[job][host] = true
		e := Entity{Kind: KindRank, Job: job, Host: host, Device: device}
		switch {
		case e.IsMember():
		case e.IsProcess():
			ranks[job][e] = true
		case device != "":
			gpus[job][Entity{Kind: KindGPU, Host: host, Device: device}] = true
		}
	}
	for i := range r.owners {
		if o := &r.owners[i]; o.job >= 0 && !o.gone {
			add(t.list[o.job].ID, o.host, o.device)
		}
	}
	for k, jobs := range t.gpuJobs {
		for job := range jobs {
			add(job, k[0], k[1])
		}
	}
	t.exclusive(r, gpus, ranks, add)
	for job, set := range gpus {
		j := t.list[t.index(job)]
		j.GPUs = j.GPUs[:0:0]
		for e := range set {
			if !j.Placed || t.placed[job] == nil || t.placed[job][e.Host] {
				j.GPUs = append(j.GPUs, e)
			}
		}
		slices.SortFunc(j.GPUs, compareEntities)
		j.Ranks = slices.SortedFunc(maps.Keys(ranks[job]), compareEntities)
		if !j.Placed && !sameHosts(j.Hosts, hosts[job]) {
			j.Hosts = j.Hosts[:0:0]
			for h := range hosts[job] {
				j.Hosts = append(j.Hosts, h)
			}
			slices.Sort(j.Hosts)
		}
	}
}

// exclusive gives a placed job all GPUs of the hosts that it has alone, where
// nothing else tells which it uses.
func (t *jobTable) exclusive(r *Reader, gpus, ranks map[string]map[Entity]bool, add func(job, host, device string)) {
	told := map[[2]string]bool{}
	for job, set := range gpus {
		for e := range set {
			told[[2]string{job, e.Host}] = true
		}
	}
	for job, set := range ranks {
		for e := range set {
			if strings.HasPrefix(e.Device, pidPrefix) {
				told[[2]string{job, e.Host}] = true // it has some of them, and which is not known
			}
		}
	}
	for i := range r.slots {
		s := &r.slots[i]
		if s.signal != GPUUtil && s.signal != GPUSMClock {
			continue
		}
		e := r.entities.Of(s.entity)
		jobs := t.onHost[e.Host]
		if e.Detail == "" && len(jobs) == 1 && !told[[2]string{jobs[0], e.Host}] {
			add(jobs[0], e.Host, e.Device)
		}
	}
}

// compareEntities orders by host and device, numbers by value.
func compareEntities(a, b Entity) int {
	if c := strings.Compare(a.Host, b.Host); c != 0 {
		return c
	}
	if c := len(a.Device) - len(b.Device); c != 0 {
		return c
	}
	if c := strings.Compare(a.Device, b.Device); c != 0 {
		return c
	}
	return int(a.Rank - b.Rank)
}
