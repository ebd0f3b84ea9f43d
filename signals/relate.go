package signals

import (
	"strings"

	"github.com/collwatch/collwatch/promapi"
)

// silent says that the series of a join have no rows of their own: what they
// say is published by relations and ages.
func (j Join) silent() bool {
	switch j {
	case JoinFile, JoinHeartbeat, JoinProcess, JoinJobNode, JoinNodeState, JoinPodNode, JoinPodJob, JoinNodeLabels:
		return true
	}
	return false
}

// record is what one series of a relation says. It holds as long as the
// series is there.
type record struct {
	join       Join
	dialect    int
	pair       int32
	lastT      int64
	lastV      float64
	a, b, c, d string
	labels     promapi.Labels // of a node's labels only
	cables     []Entity       // that these labels name
	alive      bool
}

// join reads one series of a relation. What it means is worked out once; each
// tick only notes that it is still there.
func (r *Reader) join(st *series, c *compiled, a *answer, ref promapi.Ref, samples []promapi.Sample) {
	n := len(samples)
	for n > 0 && samples[n-1].T > a.to {
		n--
	}
	if n == 0 {
		return
	}
	last := samples[n-1]
	switch c.Join {
	case JoinFile:
		if st.rec == -1 {
			ls := a.src.in.Labels(ref)
			if st.rec = r.dumps.fileOf(r.targetOf(ls), ls.Get("file")); st.rec < 0 {
				st.rec = -2
			}
		}
		for _, s := range samples[:n] {
			if st.rec >= 0 && s.T > st.lastT {
				r.dumps.sample(st.rec, s.T, s.V)
			}
		}
		return
	case JoinUp:
		if st.rec < 0 {
			st.rec = r.targetOf(a.src.in.Labels(ref))
		}
		if st.rec >= 0 {
			r.targets.sample(st.rec, last.T, last.V, a.src.name)
		}
		return
	case JoinBoot:
		if st.epoch != r.ident.epoch {
			r.bind(st, a.src.in.Labels(ref))
		}
		if st.host >= 0 {
			r.boot[st.host] = int64(last.V * 1000)
		}
		return
	}
	if st.rec < 0 {
		st.rec, st.record = r.jobs.record(r.recordOf(st, c, a.src.in.Labels(ref))), true
	}
	rec := &r.jobs.records[st.rec]
	rec.lastT, rec.lastV = last.T, last.V
}

// recordOf reads what a series of a relation says.
func (r *Reader) recordOf(st *series, c *compiled, ls promapi.Labels) record {
	if st.epoch != r.ident.epoch {
		r.bind(st, ls)
	}
	col := &c.columns
	rec := record{join: c.Join, dialect: c.dialect, pair: st.pair}
	host := func() string { return firstOf(ls, col.host) }
	switch c.Join {
	case JoinUname:
		rec.a, rec.b = clean(targetLabel(ls, instanceLabel)), clean(ls.Get("nodename"))
	case JoinJobNode:
		rec.a, rec.b = jobID(firstOf(ls, col.job)), host()
	case JoinJobInfo:
		rec.a, rec.b, rec.c, rec.d = jobID(firstOf(ls, col.job)), clean(ls.Get("job_name")), clean(ls.Get("user_name")), clean(ls.Get("slurm_partition"))
	case JoinPodNode:
		rec.a, rec.b, rec.c, rec.d = clean(firstOf(ls, col.pod)), host(), clean(firstOf(ls, col.namespace)), clean(ls.Get("pod_ip"))
		r.ident.learnHost(ls.Get("host_ip"), rec.b)
	case JoinPodJob:
		rec.a, rec.b, rec.c = clean(firstOf(ls, col.pod)), jobID(firstOf(ls, podJobLabels())), clean(firstOf(ls, col.namespace))
	case JoinNodeState:
		rec.a, rec.b = host(), nodeState(ls)
	case JoinNodeLabels:
		rec.a, rec.labels, rec.cables = host(), ls, cablesOf(ls)
	case JoinGPUJob:
		e, _ := r.entityOf(c, ls)
		rec.a, rec.b, rec.c, rec.d = host(), e.Device, clean(firstOf(ls, col.namespace)), clean(firstOf(ls, col.pod))
		if job := jobID(firstOf(ls, col.job)); job != "" {
			rec.c, rec.d = "\x00", job
		}
		if rec.d == "" {
			rec.a = ""
		}
	case JoinHeartbeat:
		rec.a, rec.b, rec.c = host(), canonicalUUID(firstOf(ls, col.uuid)), jobID(firstOf(ls, col.job))
	case JoinProcess:
		if n := ls.Get("local_rank"); digitsOnly(n) {
			r.ident.learnLocal(canonicalUUID(firstOf(ls, col.uuid)), r.ident.hostOf(host()), gpuDevice(n))
		}
	}
	if c.Join == JoinNetdev {
		r.learnNetdev(c, ls)
	}
	return rec
}

// learnNetdev reads which NIC a network device or PCI address belongs to.
func (r *Reader) learnNetdev(c *compiled, ls promapi.Labels) {
	host := r.ident.hostOf(firstOf(ls, c.columns.host))
	dev := clean(firstOf(ls, c.columns.device))
	if netdev := clean(ls.Get("netdev")); netdev != "" {
		r.ident.learnNIC(host, netdev, dev)
		r.ident.learnNIC(host, clean(ls.Get("pci_addr")), dev)
		return
	}
	if nic, ok := r.ident.nic[[2]string{host, clean(ls.Get("bus_info"))}]; ok {
		r.ident.learnNIC(host, dev, nic)
	}
}

// nodeState reads the state of a node as Slurm's exporter labels it, "" if it
// may run jobs.
func nodeState(ls promapi.Labels) string {
	yes := func(name string) bool { return strings.EqualFold(ls.Get(name), "true") || ls.Get(name) == "1" }
	base := strings.ToLower(ls.Get("state_base"))
	switch {
	case yes("state_is_maintenance") || yes("state_is_maint") || strings.Contains(base, "maint"):
		return "maintenance"
	case yes("state_is_drain") || strings.Contains(base, "drain"):
		return "drained"
	case yes("state_is_fail") || base == "down" || base == "error" || base == "fail":
		return "down"
	case yes("is_unavailable"):
		return "unavailable"
	}
	return ""
}

// relations publishes what the relations say as rows.
func (r *Reader) relations() {
	for _, j := range r.jobs.list {
		if j.Placed && !j.Ended {
			for _, h := range j.Hosts {
				r.plain(JobOnNode, j.placedBy, Entity{Kind: KindJob, Job: j.ID, Host: h}, r.now, 1)
			}
		}
	}
	for i := range r.jobs.records {
		rec := &r.jobs.records[i]
		if !rec.alive {
			continue
		}
		switch rec.join {
		case JoinNodeState:
			if rec.b != "" && rec.lastV != 0 {
				r.plain(NodeState, rec.dialect, Entity{Kind: KindHost, Host: r.ident.hostOf(rec.a), Detail: rec.b}, rec.lastT, 1)
			}
		case JoinNodeLabels:
			for _, p := range r.parentLabels {
				if v := rec.labels.Get(p[0]); v != "" {
					r.plain(HostParent, rec.dialect, Entity{Kind: KindHost, Host: r.ident.hostOf(rec.a), Detail: p[1], Peer: clean(v)}, rec.lastT, 1)
				}
			}
			for _, e := range rec.cables {
				e.Host = r.ident.hostOf(rec.a)
				r.plain(HostParent, rec.dialect, e, rec.lastT, 1)
			}
		}
	}
}

// cablesOf are the other ends of a node's cables, as its labels have them.
func cablesOf(ls promapi.Labels) []Entity {
	var out []Entity
	for _, l := range ls {
		if iface, detail, ok := neighbourLabel(l.Name); ok && l.Value != "" {
			port := ls.Get(strings.TrimSuffix(l.Name, "_device") + "_port_id")
			out = append(out, Entity{Kind: KindHost, Device: clean(iface), Port: clean(port), Detail: detail, Peer: clean(l.Value)})
		}
	}
	return out
}

// kubeLabel is the name that kube-state-metrics gives a node's label.
func kubeLabel(key string) string {
	return "label_" + strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, key)
}

// firstDialect returns the first dialect that offers a signal.
func (b *rulebook) firstDialect(id ID) int {
	for i := range b.rules {
		if b.rules[i].Signal == id {
			return b.rules[i].dialect
		}
	}
	return 0
}

// plain adds a row that comes from no single series, in the dialect of what it
// was worked out from.
func (r *Reader) plain(id ID, dialect int, e Entity, t int64, v float64) {
	if e.Host == "" && e.Job == "" {
		return
	}
	r.plainRule(r.plainRuleOf(id, dialect, e.Kind), e, t, v)
}

func (r *Reader) plainRuleOf(id ID, dialect int, kind Kind) *compiled {
	c := &r.plainRules[id]
	c.Signal, c.dialect, c.Kind = id, dialect, kind
	return c
}
