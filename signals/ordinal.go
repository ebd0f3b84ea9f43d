package signals

import (
	"slices"
	"strconv"
	"strings"

	"github.com/collwatch/collwatch/promapi"
)

// The Inspector calls a GPU by its ordinal inside the process. That is the
// driver's index as long as the process sees all GPUs in order; a job that was
// given half a node starts at GPU0 all the same, and in a container with one
// GPU every rank is GPU0. Read as an index, such an ordinal names the GPU of
// somebody else, and takes the clocks and errors of that GPU for its own.
//
// The UUIDs in the names of the files that are being written, or the jobs that
// dcgm-exporter tells, say which GPUs a job has on a host. Where they are as
// many as the ordinals the two are matched in order, as CUDA numbers what it is
// allowed to see. Where that cannot be, the ordinal becomes a name of its own
// that is no GPU of the driver's.

// ordinal is a device as the series of a process name it, and the job that
// these name or that their pod belongs to, "" if neither.
type ordinal struct{ raw, job string }

// namedJob returns the job of such a series.
func (r *Reader) namedJob(c *compiled, ls promapi.Labels) string {
	if job := jobID(firstOf(ls, c.columns.job)); job != "" {
		return job
	}
	return r.jobs.ofPod(firstOf(ls, c.columns.host))
}

// ordinalName is the device of an ordinal that stands for no known GPU.
func ordinalName(raw string) string { return "CUDA" + strings.TrimPrefix(raw, "GPU") }

// ordinals looks for ordinals that are no indices. It runs on what was written
// in this tick: in a hang nothing is, and what was learned before stays. It
// returns the epoch of the identities, which rises with what is learned.
func (r *Reader) ordinals() uint32 {
	here := map[int32][]*dumpGroup{}
	for i := range r.dumps.groups {
		g := &r.dumps.groups[i]
		if g.seenTick == r.tick && g.first != 0 && isIndex(g.ordinal.raw) {
			here[g.target] = append(here[g.target], g)
		}
	}
	for target, groups := range here {
		if !slices.ContainsFunc(groups, func(g *dumpGroup) bool { return len(g.moves) > 0 }) {
			continue
		}
		for host, jobs := range byHostAndJob(groups) {
			r.ordinalsOf(target, host, jobs)
		}
	}
	return r.ident.epoch
}

// ordinalSet is the ordinals of one job on one host.
type ordinalSet struct {
	job         string
	index       []int
	first, last int64 // scrapes of the first write and of the newest
}

func byHostAndJob(groups []*dumpGroup) map[string][]*ordinalSet {
	out := map[string][]*ordinalSet{}
	for _, g := range groups {
		var set *ordinalSet
		for _, s := range out[g.host] {
			if s.job == g.ordinal.job {
				set = s
			}
		}
		if set == nil {
			set = &ordinalSet{job: g.ordinal.job, first: g.first}
			out[g.host] = append(out[g.host], set)
		}
		if n := indexOfGPU(g.ordinal.raw); !slices.Contains(set.index, n) {
			set.index = append(set.index, n)
		}
		set.first, set.last = max(set.first, g.first), max(set.last, g.last.t)
	}
	return out
}

func (r *Reader) ordinalsOf(target int32, host string, jobs []*ordinalSet) {
	live := jobs[:0]
	for _, j := range jobs {
		slices.Sort(j.index)
		if r.now-j.last <= r.dumpsAreOld() {
			live = append(live, j)
		}
	}
	written, known := r.writtenGPUs(target, host)
	for _, j := range live {
		mine := r.jobs.gpusOf(host, j.job)
		switch {
		case len(mine) == len(j.index):
			r.matchOrdinals(host, j, mine)
		case len(live) == 1 && known && len(written) == len(j.index):
			r.matchOrdinals(host, j, written)
		case sharesOrdinal(j, live), len(live) == 1 && len(written) > len(j.index) && r.now-j.first > r.dumpsAreOld():
			for _, n := range j.index {
				raw := "GPU" + strconv.Itoa(n)
				r.ident.learnIndex(host, j.job, raw, ordinalName(raw))
			}
		}
	}
}

// dumpsAreOld is the age, in ms, beyond which a file is not being written any
// more: three windows.
func (r *Reader) dumpsAreOld() int64 { return 3 * r.dumps.period }

func (r *Reader) matchOrdinals(host string, j *ordinalSet, gpus []int) {
	for i, n := range j.index {
		if raw, is := "GPU"+strconv.Itoa(n), "GPU"+strconv.Itoa(gpus[i]); raw != is || r.ident.hasIndex(host, j.job, raw) {
			r.ident.learnIndex(host, j.job, raw, is)
		}
	}
}

// sharesOrdinal says whether another job uses an ordinal of j at the same time:
// both wrote after the other had begun. What a killed job left behind does not.
func sharesOrdinal(j *ordinalSet, all []*ordinalSet) bool {
	return slices.ContainsFunc(all, func(o *ordinalSet) bool {
		return o != j && min(o.last, j.last) > max(o.first, j.first) &&
			slices.ContainsFunc(o.index, func(n int) bool { return slices.Contains(j.index, n) })
	})
}

// writtenGPUs are the driver's indices of the GPUs of host whose files are
// being written, sorted; known is false if one of them has an UUID that nothing
// places. A file that the newest scrape did not show any more is of a process
// that has ended, however young it was: to count it would make the GPUs of those
// that remain look like somebody else's.
func (r *Reader) writtenGPUs(target int32, host string) (index []int, known bool) {
	known = true
	scrape := int64(0)
	for _, f := range r.dumps.of[target] {
		scrape = max(scrape, r.dumps.files[f].seenT)
	}
	for _, f := range r.dumps.of[target] {
		file := &r.dumps.files[f]
		if file.seenT < scrape || r.now-file.mtime > r.dumpsAreOld() {
			continue
		}
		at, ok := r.ident.gpu[file.uuid]
		if ok = ok && at[0] == host && isIndex(at[1]); !ok {
			known = false
			index = append(index, -1)
			continue
		}
		index = append(index, indexOfGPU(at[1]))
	}
	slices.Sort(index)
	return index, known
}

// gpusOf are the driver's indices of the GPUs that a job has on a host, as told
// by the labels of GPUs, sorted.
func (t *jobTable) gpusOf(host, job string) []int {
	var out []int
	for _, device := range t.gpusOn[host] {
		if isIndex(device) && t.gpuJobs[[2]string{host, device}][job] {
			out = append(out, indexOfGPU(device))
		}
	}
	slices.Sort(out)
	return out
}

func isIndex(device string) bool {
	n, ok := strings.CutPrefix(device, "GPU")
	return ok && n != "" && len(n) <= 4 && digitsOnly(n)
}

func indexOfGPU(device string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(device, "GPU"))
	if err != nil {
		return -1
	}
	return n
}
