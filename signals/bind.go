package signals

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/collwatch/collwatch/promapi"
)

// pick finds the rule of a label set. It depends on labels alone and is done
// once.
func (r *Reader) pick(st *series, fam string, ls promapi.Labels) {
	i, ok := r.book.match(fam, ls, r.allowed)
	if !ok {
		st.rule = ignored
		return
	}
	st.rule = i
}

// allowed applies the overrides of single signals.
func (r *Reader) allowed(c *compiled) bool {
	name := r.book.dialects[c.dialect].Name
	if slices.Contains(r.opts.Disabled, name) {
		return false
	}
	list, ok := r.opts.Dialects[c.Signal]
	return !ok || slices.Contains(list, name)
}

// bind finds what a label set is about. It is repeated whenever a relation
// changed so that the answer may be another one.
func (r *Reader) bind(st *series, ls promapi.Labels) {
	c := &r.book.rules[st.rule]
	st.epoch = r.ident.epoch
	wasSlot, wasOwner := st.slot, st.owner
	st.slot, st.owner, st.host, st.dump = -1, -1, -1, -1
	e, ok := r.entityOf(c, ls)
	if st.pair < 0 {
		st.pair = r.pairOf(c, ls, e.Host)
	}
	if !ok {
		return
	}
	if strings.HasSuffix(c.Signal.String(), "bus_bandwidth") && e.Op == "AllToAll" {
		r.stats.note(c, noteAllToAll)
		return
	}
	if c.Kind == KindComm && len(c.columns.size) > 0 {
		var b float64
		e.Size, b = sizeClass(firstOf(ls, c.columns.size))
		st.bytes = float32(b)
	}
	if e.Host != "" && (c.Kind == KindHost || c.Kind == KindNIC || c.Kind == KindGPU) {
		st.host = r.hostIndex(e.Host)
	}
	if (e.Kind == KindComm || e.Kind == KindRank) && !c.Join.silent() {
		st.owner = r.ownerOf(e.Job, e.Host, e.Device)
	}
	if c.Dumped {
		st.dump = r.dumps.indexOf(r.targetOf(ls), e, ordinal{gpuDevice(firstOf(ls, c.columns.device)), r.namedJob(c, ls)})
	}
	if c.Repair != NoRepair {
		st.aux = int64(r.repairOf(c, st.pair))
	}
	if c.Join.silent() {
		return
	}
	e.Job = jobOfEntity(c, e)
	id := r.entities.Intern(e)
	st.slot = r.slotOf(c, id)
	if wasSlot >= 0 && wasSlot != st.slot {
		r.ungroup(&r.slots[wasSlot])
	}
	if wasOwner >= 0 && wasOwner != st.owner {
		r.owners[wasOwner].gone = true
		r.jobs.ownersAt = -1
	}
	if st.owner >= 0 {
		r.owners[st.owner].gone = false
	}
}

// jobOfEntity keeps the job out of the identity of hardware: a GPU is the same
// whoever uses it.
func jobOfEntity(c *compiled, e Entity) string {
	switch c.Kind {
	case KindComm, KindRank, KindJob:
		return e.Job
	}
	if c.custom != nil {
		return e.Job
	}
	return ""
}

// entityOf reads an entity from labels. ok is false if it has no place.
func (r *Reader) entityOf(c *compiled, ls promapi.Labels) (Entity, bool) {
	col := &c.columns
	e := Entity{Kind: c.Kind, Detail: clean(strings.ToLower(c.detail(ls)))}
	if c.Signal == JobState || c.Signal == HealthEvent || c.Signal == TargetUp || c.Signal == HostKernel || c.Signal == NICModel || c.Signal == NICPath {
		e.Detail = clean(c.detail(ls))
	}
	if c.custom != nil {
		e.Detail = c.custom.detail(ls)
	}
	rawHost := hostLabel(ls, col.host)
	e.Host = r.ident.hostOf(rawHost)
	e.Peer = clean(firstOf(ls, col.peer))
	if len(col.job) > 0 {
		e.Job = jobID(firstOf(ls, col.job))
	}
	switch c.Kind {
	case KindGPU:
		return e, r.gpuEntity(c, &e, ls)
	case KindNIC:
		return e, r.nicEntity(c, &e, ls)
	case KindSwitchPort:
		e.Host, e.Device, e.Port = "", clean(firstOf(ls, col.device)), clean(firstOf(ls, col.port))
		return e, e.Device != ""
	case KindHost:
		if len(col.device) > 0 {
			e.Device = clean(firstOf(ls, col.device))
		}
		return e, e.Host != ""
	case KindJob:
		return e, e.Job != ""
	default:
		return e, r.commEntity(c, &e, ls, rawHost)
	}
}

// hostLabel is the first of names that ls has, but for the name of the target's
// own pod where another label names a node: an exporter in a pod that nobody
// told its node (NODE_NAME) calls itself by its pod.
func hostLabel(ls promapi.Labels, names []string) string {
	raw := firstOf(ls, names)
	if raw == "" || raw != ls.Get("pod") && raw != ls.Get("kubernetes_pod_name") {
		return raw
	}
	for _, n := range names {
		if v := ls.Get(n); v != "" && v != raw && n != instanceLabel {
			return v
		}
	}
	return raw
}

func (r *Reader) gpuEntity(c *compiled, e *Entity, ls promapi.Labels) bool {
	uuid := canonicalUUID(firstOf(ls, c.columns.uuid))
	index := firstOf(ls, c.columns.device)
	e.Port = clean(firstOf(ls, c.columns.port))
	if mig := ls.Get("GPU_I_ID"); mig != "" { // a slice of a GPU, not the GPU
		e.Detail = strings.Trim(e.Detail+" mig"+clean(mig), " ")
	}
	if index != "" {
		e.Device = gpuDevice(index)
		if c.dialectIs(r.book, "dcgm") {
			r.ident.learnGPU(uuid, e.Host, e.Device)
		}
		return e.Host != ""
	}
	if uuid == "" {
		return false
	}
	if host, device, ok := r.ident.gpuOf(uuid); ok {
		e.Host, e.Device = host, device
		return true
	}
	e.Device = "GPU-" + uuid
	return e.Host != ""
}

func (r *Reader) nicEntity(c *compiled, e *Entity, ls promapi.Labels) bool {
	dev := clean(firstOf(ls, c.columns.device))
	e.Port = clean(firstOf(ls, c.columns.port))
	if e.Port == "" {
		dev, e.Port = nicPort(dev)
	}
	if e.Port == "" {
		e.Port = "1"
	}
	e.Device = r.ident.nicOf(e.Host, dev)
	e.Op = clean(firstOf(ls, c.columns.op))
	return e.Host != "" && e.Device != ""
}

func (r *Reader) commEntity(c *compiled, e *Entity, ls promapi.Labels, rawHost string) bool {
	col := &c.columns
	e.Comm, e.Op, e.Algo = clean(firstOf(ls, col.comm)), canonicalOp(firstOf(ls, col.op)), clean(strings.ToLower(firstOf(ls, col.algo)))
	e.Version = clean(firstOf(ls, col.version))
	e.NRanks, e.NNodes = count32(firstOf(ls, col.nranks), 0), count32(firstOf(ls, col.nnodes), 0)
	e.Rank = count32(firstOf(ls, col.rank), 1)
	if uuid := canonicalUUID(firstOf(ls, col.uuid)); uuid != "" {
		if host, device, ok := r.ident.gpuOf(uuid); ok {
			e.Host, e.Device = host, device
		} else {
			e.Device = "GPU-" + uuid
		}
	} else if dev := firstOf(ls, col.device); dev != "" {
		e.Device = gpuDevice(strings.TrimPrefix(dev, rawHost+"-"))
		if digitsOnly(strings.TrimPrefix(dev, rawHost+"-")) && strings.HasPrefix(dev, rawHost+"-") {
			e.Device = pidPrefix + strings.TrimPrefix(dev, rawHost+"-")
		}
		e.Device = r.ident.indexOf(e.Host, r.namedJob(c, ls), e.Device)
	} else {
		r.processEntity(c, e, ls)
	}
	if e.Job == "" {
		if e.Job = r.jobs.joined(e.Host, e.Device, rawHost); e.Job == "" {
			e.Job = r.unnamed.jobOf(*e)
		}
	}
	r.learnMember(c, e)
	return e.Host != ""
}

func (c *compiled) dialectIs(b *rulebook, name string) bool {
	return b.dialects[c.dialect].Name == name
}

// jobID normalises the ways to say "no job".
func jobID(s string) string {
	switch strings.ToLower(s) {
	case "", "unknown", "none", "0", "null", "n/a":
		return ""
	}
	return clean(s)
}

// count32 reads a small number and adds plus, 0 for other text.
func count32(s string, plus int32) int32 {
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil || v < 0 || v > math.MaxInt32-1 {
		return 0
	}
	return int32(v) + plus
}

func (r *Reader) slotOf(c *compiled, id EntityID) int32 {
	if i, ok := r.findSlot(c.Signal, id); ok {
		return i
	}
	return r.addSlot(slot{entity: id, signal: c.Signal, better: 255})
}

func (r *Reader) ownerOf(job, host, device string) int32 {
	k := ownerKey{job, host, device}
	if i, ok := r.ownerIndex[k]; ok {
		return i
	}
	i := int32(len(r.owners))
	r.owners = append(r.owners, owner{job: r.jobs.index(job), host: host, device: device, best: 255})
	r.ownerIndex[k] = i
	return i
}

func (r *Reader) hostIndex(host string) int32 {
	if i, ok := r.hostIdx[host]; ok {
		return i
	}
	i := int32(len(r.boot))
	r.boot = append(r.boot, 0)
	r.hostIdx[host] = i
	return i
}

func (r *Reader) pairOf(c *compiled, ls promapi.Labels, host string) int32 {
	t := r.targetOf(ls)
	if t < 0 {
		return -1
	}
	k := pairKey{c.dialect, t}
	if i, ok := r.pairIndex[k]; ok {
		if r.pairs[i].host == "" {
			r.pairs[i].host = host
		}
		return i
	}
	i := int32(len(r.pairs))
	r.pairs = append(r.pairs, pair{dialect: c.dialect, target: t, host: host, steady: c.steady})
	r.pairIndex[k] = i
	return i
}

// targetOf returns the scrape target of a label set, -1 if its labels do not
// tell.
func (r *Reader) targetOf(ls promapi.Labels) int32 {
	inst := targetLabel(ls, instanceLabel)
	if inst == "" {
		return -1
	}
	return r.targets.indexOf(inst, targetLabel(ls, jobLabel))
}
