package signals

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Some dialects know a process by its pid and nothing else. Launchers number
// local ranks in the order of the GPUs they were given, so the order by rank is
// that of the GPUs; but of which ones? A job that was given half a host begins
// at any of them, and to call its first process GPU0 gives it the clocks and
// errors of somebody else's GPU. So the order is used only where the GPUs of the
// job are known: its labels tell them, or it has as many processes as the host
// has GPUs. Elsewhere a process keeps its pid for a name.

// pidPlace is the processes of a job on a host.
type pidPlace struct{ job, host string }

// processes finds the GPUs of processes that are known by pid only. It says
// whether any process is without.
func (t *groupTable) processes(r *Reader) (open bool) {
	pids := map[pidPlace]map[string]bool{}
	jobsOn := map[string]map[string]bool{}
	each := func(f func(at pidPlace, c *comm, row memberRow)) {
		for _, k := range t.order {
			for _, row := range t.comms[k].rows {
				if strings.HasPrefix(row.member.Device, pidPrefix) {
					f(pidPlace{k.job, row.member.Host}, t.comms[k], row)
				}
			}
		}
	}
	each(func(at pidPlace, _ *comm, row memberRow) {
		if pids[at] == nil {
			pids[at] = map[string]bool{}
		}
		pids[at][row.member.Device] = true
		if jobsOn[at.host] == nil {
			jobsOn[at.host] = map[string]bool{}
		}
		if !r.over(at.job) {
			jobsOn[at.host][at.job] = true
		}
	})
	if len(pids) == 0 {
		return false
	}
	ranks := map[*comm]map[pidPlace]map[int32]string{}
	each(func(at pidPlace, c *comm, row memberRow) {
		if ranks[c] == nil {
			ranks[c] = map[pidPlace]map[int32]string{}
		}
		if ranks[c][at] == nil {
			ranks[c][at] = map[int32]string{}
		}
		ranks[c][at][row.rank] = row.member.Device
	})
	onHost := r.gpusByHost()
	for _, k := range t.order { // in one order, or two communicators would take turns
		for at, byRank := range ranks[t.comms[k]] {
			if len(byRank) != len(pids[at]) {
				continue
			}
			gpus := r.jobs.gpusOf(at.host, at.job)
			if len(gpus) != len(byRank) {
				gpus = onHost[at.host]
			}
			if len(gpus) == 0 && len(jobsOn[at.host]) < 2 {
				gpus = firstN(len(byRank)) // nothing else speaks of GPUs: a name to tell them apart
			}
			if len(gpus) != len(byRank) {
				continue
			}
			for i, rank := range slices.Sorted(maps.Keys(byRank)) {
				r.ident.learnIndex(at.host, at.job, byRank[rank], "GPU"+strconv.Itoa(gpus[i]))
			}
		}
	}
	return true
}

// gpusByHost lists the driver's indices of the GPUs of each host that any
// exporter of GPUs tells, sorted.
func (r *Reader) gpusByHost() map[string][]int {
	out := map[string][]int{}
	for i := range r.slots {
		s := &r.slots[i]
		if s.signal != GPUUtil && s.signal != GPUSMClock && s.signal != GPUPower {
			continue
		}
		if e := r.entities.Of(s.entity); e.Kind == KindGPU && e.Detail == "" && isIndex(e.Device) {
			if n := indexOfGPU(e.Device); !slices.Contains(out[e.Host], n) {
				out[e.Host] = append(out[e.Host], n)
			}
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// firstN returns 0 to n-1.
func firstN(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
