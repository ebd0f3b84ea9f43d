package signals

import (
	"slices"
	"strings"
	"time"
)

// jobTable knows which jobs run where. Relations of a scheduler come first,
// labels of the collectives and of GPUs fill in.
type jobTable struct {
	list    []*jobState
	idx     map[string]int32
	known   map[string]time.Time
	records []record

	newest            map[int]int64                 // per dialect: newest sample of its relations
	placed            map[string]map[string]bool    // job -> hosts, from relations that hold
	managed           map[string]bool               // hosts that a scheduler ever placed a job on
	podJob            map[[2]string]string          // namespace and pod -> job
	byPod             map[string]string             // pod as a host name -> job, "" if several
	spaces            map[string]string             // job -> namespace that has its plain name
	gpuJobs           map[[2]string]map[string]bool // host and device -> jobs
	gpusOn            map[string][]string           // host -> devices in gpuJobs
	onHost            map[string][]string           // host -> placed jobs
	asked             map[[3]string]string
	dirty             bool
	ownersAt, slotsAt int
	entitiesAt        uint32
	built, builtAt    uint32 // times the tables were rebuilt, and as of the last list of devices
	out               []*Job
}

// jobState is a Job and what its end is judged by.
type jobState struct {
	Job
	everPlaced bool
	placedBy   int // dialect of the relation that placed it
	revived    bool
	endedAt    int64
}

func newJobTable(known []JobMark) *jobTable {
	t := &jobTable{
		idx: map[string]int32{}, known: map[string]time.Time{}, newest: map[int]int64{}, placed: map[string]map[string]bool{},
		managed: map[string]bool{}, podJob: map[[2]string]string{}, byPod: map[string]string{}, spaces: map[string]string{}, gpuJobs: map[[2]string]map[string]bool{}, gpusOn: map[string][]string{}, onHost: map[string][]string{},
		asked: map[[3]string]string{},
	}
	for _, k := range known {
		t.known[k.ID] = k.FirstSeen
	}
	return t
}

// index returns the number of a job, making it known; -1 for no job.
func (t *jobTable) index(id string) int32 {
	if id == "" {
		return -1
	}
	if i, ok := t.idx[id]; ok {
		return i
	}
	i := int32(len(t.list))
	t.list = append(t.list, &jobState{Job: Job{ID: id, FirstSeen: t.known[id]}})
	t.idx[id] = i
	t.dirty = true
	return i
}

func (t *jobTable) record(rec record) int32 {
	t.records = append(t.records, rec)
	t.dirty = true
	return int32(len(t.records) - 1)
}

// goneAfter is how long a row of a relation may be missing while others of the
// same exporter come in, before it is over: a late scrape is no end of a job.
const (
	goneAfter  = 45 * 1000
	emptyAfter = 30 * 1000
)

// relate works out which relations hold.
func (t *jobTable) relate(r *Reader) {
	for i := range t.records {
		rec := &t.records[i]
		t.newest[rec.dialect] = max(t.newest[rec.dialect], rec.lastT)
	}
	// An exporter that answers again and again without any row says that
	// nothing runs.
	for i := range r.pairs {
		p := &r.pairs[i]
		if _, ok := t.newest[p.dialect]; ok && p.target >= 0 {
			if up := r.targets.list[p.target].upT; up-emptyAfter > t.newest[p.dialect] {
				t.newest[p.dialect] = up - emptyAfter
			}
		}
	}
	gone := max(int64(goneAfter), 3*r.opts.Scrape.Milliseconds()/2)
	for i := range t.records {
		rec := &t.records[i]
		newest := t.newest[rec.dialect]
		if rec.join == JoinGPUJob && rec.pair >= 0 {
			newest = r.pairs[rec.pair].lastT // each exporter speaks for its host
		}
		if alive := rec.lastT > 0 && newest-rec.lastT < gone; alive != rec.alive {
			rec.alive, t.dirty = alive, true
		}
	}
	if t.dirty {
		t.rebuild(r)
	}
}

// rebuild derives the tables from the relations that hold.
func (t *jobTable) rebuild(r *Reader) {
	t.dirty = false
	t.built++
	clear(t.placed)
	clear(t.podJob)
	clear(t.byPod)
	clear(t.gpuJobs)
	clear(t.gpusOn)
	clear(t.onHost)
	t.placeJobs(r, t.nameHosts(r))
	for job, hosts := range t.placed {
		for h := range hosts {
			t.onHost[h] = append(t.onHost[h], job)
		}
	}
	for k, was := range t.asked {
		if is := t.joinedNow(k[0], k[1], k[2]); is != was {
			t.asked[k] = is
			r.ident.epoch++
		}
	}
}

// nameHosts learns the names that hosts and pods go by, and which job a pod is
// of. It returns the node of each pod, by namespace and name.
func (t *jobTable) nameHosts(r *Reader) (podNode map[[2]string]string) {
	podNode = map[[2]string]string{}
	names := map[string]map[string]bool{}
	for i := range t.records {
		rec := &t.records[i]
		if !rec.alive {
			continue
		}
		switch rec.join {
		case JoinPodNode:
			podNode[[2]string{rec.c, rec.a}] = rec.b
			claim(r.ident, names, rec.a, rec.b)
			if rec.d != "" {
				claim(r.ident, names, rec.d, rec.b)
			}
		case JoinUname:
			claim(r.ident, names, rec.a, rec.b)
		case JoinPodJob:
			if job := t.spacedJob(rec.c, rec.b); job != "" {
				t.podJob[[2]string{rec.c, rec.a}] = job
				name := CanonicalHost(rec.a)
				if was, ok := t.byPod[name]; ok && was != job {
					t.byPod[name] = ""
				} else {
					t.byPod[name] = job
				}
			}
		}
	}
	for name, hosts := range names {
		if len(hosts) > 1 {
			r.ident.ambiguousHost(name)
			continue
		}
		for h := range hosts {
			r.ident.learnHost(name, h)
		}
	}
	return podNode
}

// placeJobs notes who runs where, on hosts whose names are known by now.
func (t *jobTable) placeJobs(r *Reader, podNode map[[2]string]string) {
	for i := range t.records {
		rec := &t.records[i]
		if !rec.alive {
			continue
		}
		switch rec.join {
		case JoinJobNode:
			t.place(rec.dialect, rec.a, r.ident.hostOf(rec.b))
		case JoinPodJob:
			if node, ok := podNode[[2]string{rec.c, rec.a}]; ok && rec.b != "" {
				t.place(rec.dialect, t.spacedJob(rec.c, rec.b), r.ident.hostOf(node))
			}
		case JoinJobInfo:
			if i, ok := t.idx[rec.a]; ok {
				j := t.list[i]
				j.Name, j.User, j.Partition = rec.b, rec.c, rec.d
			}
		case JoinGPUJob:
			t.gpu(rec, r.ident.hostOf(rec.a))
		}
	}
}

// spacedJob is the id of the job that a namespace calls name. Two namespaces
// may use one name: it belongs to the first one seen, and the jobs of others
// carry their namespace.
func (t *jobTable) spacedJob(namespace, name string) string {
	if name == "" {
		return ""
	}
	owner, ok := t.spaces[name]
	if !ok && len(t.spaces) < maxTable {
		owner, t.spaces[name] = namespace, namespace
	}
	if owner == namespace {
		return name
	}
	return namespace + "/" + name
}

// claim notes that a name is said to mean a host.
func claim(ident *identity, names map[string]map[string]bool, name, host string) {
	name, host = ident.canonical(name), ident.canonical(host)
	if name == "" || host == "" {
		return
	}
	if names[name] == nil {
		names[name] = map[string]bool{}
	}
	names[name][host] = true
}

func (t *jobTable) place(dialect int, job, host string) {
	if job == "" || host == "" {
		return
	}
	if t.placed[job] == nil {
		t.placed[job] = map[string]bool{}
	}
	t.placed[job][host] = true
	t.managed[host] = true
	j := t.list[t.index(job)]
	j.everPlaced, j.placedBy = true, dialect
}

// gpu notes the job of a GPU, told by hpc_job or by the workload's pod.
func (t *jobTable) gpu(rec *record, host string) {
	if host == "" {
		return
	}
	jobs := []string{t.podJob[[2]string{rec.c, rec.d}]}
	if rec.c == "\x00" {
		jobs = strings.Split(rec.d, ",")
	}
	for _, job := range jobs {
		if job = jobID(strings.TrimSpace(job)); job == "" {
			continue
		}
		k := [2]string{host, rec.b}
		if t.gpuJobs[k] == nil {
			t.gpuJobs[k] = map[string]bool{}
			t.gpusOn[host] = append(t.gpusOn[host], rec.b)
		}
		t.gpuJobs[k][job] = true
		t.index(job)
	}
}

// joined returns the job of series that do not name one: the job of their pod,
// of their GPU, or the only one on their host.
func (t *jobTable) joined(host, device, raw string) string {
	k := [3]string{host, device, CanonicalHost(raw)}
	job := t.joinedNow(k[0], k[1], k[2])
	if len(t.asked) < maxTable {
		t.asked[k] = job
	}
	return job
}

// ofPod returns the job of a pod that calls itself by raw, "" if unknown.
func (t *jobTable) ofPod(raw string) string { return t.byPod[CanonicalHost(raw)] }

func (t *jobTable) joinedNow(host, device, pod string) string {
	if job := t.byPod[pod]; job != "" {
		return job
	}
	if jobs := t.gpuJobs[[2]string{host, device}]; len(jobs) == 1 {
		for j := range jobs {
			return j
		}
	}
	if jobs := t.onHost[host]; len(jobs) == 1 {
		return jobs[0]
	}
	return ""
}

// publish lists the jobs of this tick.
func (t *jobTable) publish(r *Reader) {
	t.fill(r)
	t.out = t.out[:0]
	for _, j := range t.list {
		if len(j.Hosts) == 0 && len(j.GPUs) == 0 {
			continue
		}
		if r.now-j.LastSeen.UnixMilli() < forgetJob.Milliseconds() {
			t.out = append(t.out, &j.Job)
		}
	}
	slices.SortFunc(t.out, func(a, b *Job) int { return strings.Compare(a.ID, b.ID) })
	r.snap.Jobs = t.out
}

// forgetJob is how long a job is listed after its last sign of life.
const forgetJob = 6 * time.Hour

// Marks returns what has to be kept of the jobs over a restart.
func (r *Reader) Marks() []JobMark {
	out := make([]JobMark, 0, len(r.jobs.out))
	for _, j := range r.jobs.out {
		out = append(out, JobMark{ID: j.ID, FirstSeen: j.FirstSeen})
	}
	return out
}
