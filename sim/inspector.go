package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// file is what the profiler wrote for one GPU at its last dump. It is rewritten
// only when something completed in the window: in a hang it freezes.
type file struct {
	rows  []row
	keys  map[rowKey]int
	mtime float64 // Unix seconds, 0: no file
	mref  ref
	name  string
}

type rowKey struct {
	job, comm int
	nodes     int32
	send      bool
}

// row is one key of a dump: a bandwidth and a time.
type row struct {
	labels   []string
	p2p      bool
	bw, sec  float64
	present  bool
	refs     [3]ref
	bytes    float64
	algoBW   float64
	sequence int64
}

func (f *file) unlink() {
	f.mtime = 0
	for i := range f.rows {
		f.rows[i].present = false
	}
}

// dump is what the profilers of a host's processes do at the end of a window.
func (h *Host) dump() {
	j := h.job
	if j == nil || j.phase == jobInit || j.phase == jobWaiting || j.phase == jobOver {
		return
	}
	if j.hosts[0] == h {
		j.windows++
	}
	first := 0
	for i := range j.hosts {
		if j.hosts[i] == h {
			first = i * h.c.shape.GPUs
		}
	}
	for gi := range h.GPUs {
		g := h.GPUs[gi]
		if g.Lost {
			continue
		}
		h.files[gi].rewrite(h, j, first+gi, g)
	}
}

func (f *file) rewrite(h *Host, j *Job, r int, g *GPU) {
	written := false
	for ci, cs := range j.comms {
		for side := range 2 {
			w := &cs.acc[r]
			if side == 1 {
				if cs.send == nil {
					break
				}
				w = &cs.send[r]
			}
			if w.n < 1 {
				continue
			}
			if !written {
				written = true
				for i := range f.rows {
					f.rows[i].present = false
				}
			}
			f.set(h, j, ci, r, side == 1, w)
			*w = window{}
		}
	}
	if written {
		f.mtime = float64(h.c.now) / 1000
		f.name = "/var/lib/node_exporter/textfile/nccl_inspector_metrics_" + g.UUID + ".prom"
	}
}

func (f *file) set(h *Host, j *Job, ci, r int, send bool, w *window) {
	cs := j.comms[ci]
	g := cs.of[r]
	key := rowKey{job: j.index(), comm: ci, nodes: cs.nodes[g], send: send}
	if f.keys == nil {
		f.keys = map[rowKey]int{}
	}
	i, ok := f.keys[key]
	if h.c.opt.Dialect.Inspector == "G1" && ok {
		// The sequence number and the time are labels there: every dump is a
		// new series.
		for k := range f.rows[i].refs {
			h.node.drop(&f.rows[i].refs[k])
		}
		f.rows[i].labels = rowLabels(h, j, cs, r, send)
	}
	if !ok {
		i = f.row(rowLabels(h, j, cs, r, send), cs.pipe != nil)
		f.keys[key] = i
	}
	o := &f.rows[i]
	o.present = true
	o.sec = w.time / w.n * factor(h.rng, h.c.opt.Noise.WindowCV)
	o.bw = math.Exp(w.logBW/w.n) / 1e9 * factor(h.rng, h.c.opt.Noise.WindowCV)
	o.algoBW = o.bw / (cs.busSize / float64(cs.spec.Size))
	if cs.spec.Op == "AllToAll" {
		o.bw = 0
	}
	o.bytes, o.sequence = float64(cs.spec.Size), cs.seq[g]
}

// row is the place of a row that no key has: one that has the same labels, if the
// sizes of a job have changed and not those of this row, else a new one. Two rows
// of one series would be two values at one time.
func (f *file) row(labels []string, p2p bool) int {
	used := map[int]bool{}
	for _, i := range f.keys {
		used[i] = true
	}
	for i := range f.rows {
		if !used[i] && slices.Equal(f.rows[i].labels, labels) {
			return i
		}
	}
	f.rows = append(f.rows, row{labels: labels, p2p: p2p})
	return len(f.rows) - 1
}

func (j *Job) index() int {
	for i, o := range j.c.Jobs {
		if o == j {
			return i
		}
	}
	return -1
}

// bucket is the size label of the mainline profiler: floored to one unit.
func bucket(size int64) string {
	units := []string{"B", "KB", "MB", "GB"}
	u := 0
	for size >= 1024 && u < 3 {
		size /= 1024
		u++
	}
	if u == 0 {
		return "0B"
	}
	return fmt.Sprintf("%d-%d%s", size, size+1, units[u])
}

func rowLabels(h *Host, j *Job, cs *commState, r int, send bool) []string {
	g := cs.of[r]
	size := len(cs.groups[g])
	gpu := "GPU" + strconv.Itoa(j.ranks[r].gpu.Index)
	node := h.c.opt.Dialect.node(h.Name)
	jobID := j.Spec.ID
	op := cs.spec.Op
	if cs.pipe != nil && send {
		op = "Send"
	}
	id := fmt.Sprintf("0x%012x", uint64(0x7f3a00000000)+uint64(j.index())<<24+uint64(cs.spec.Group)<<16+uint64(g))
	switch h.c.opt.Dialect.Inspector {
	case "G1":
		return []string{
			"comm_id", id, "hostname", node, "rank", strconv.Itoa(r), "slurm_job", "llm", "slurm_job_id", jobID, "pid", strconv.Itoa(20000 + r),
			"n_ranks", strconv.Itoa(size), "n_nodes", strconv.Itoa(int(cs.nodes[g])), "collective", op, "coll_sn", strconv.FormatInt(cs.seq[g], 10),
			"coll_timing_source", "kernel_gpu", "timestamp", strconv.FormatInt(h.c.now*1000, 10), "gpu_device_id", gpu,
			"message_size", fmt.Sprintf("%.2fMB", float64(cs.spec.Size)/mib),
		}
	case "G3":
		return []string{
			"slurm_job_id", jobID, "slurm_step_id", "0", "hostname", node, "hostname_pid", fmt.Sprintf("%s-%d", node, 20000+r),
			"n_nodes", strconv.Itoa(int(cs.nodes[g])), "nranks", strconv.Itoa(size), "collective", op, "rank", strconv.Itoa(r),
			"message_size_bytes", strconv.FormatInt(cs.spec.Size, 10), "comm_id", id,
		}
	}
	name := cs.spec.Name
	if j.Spec.CommName != "" {
		name = j.Spec.CommName
	}
	if name == "" {
		name = "unknown"
	} else if cs.pipe != nil || name == "DP Group" {
		name = fmt.Sprintf("%s %d", name, g)
	}
	version := j.Spec.Version
	if version == "" {
		version = "v5.1"
	}
	kind := "collective"
	if cs.pipe != nil {
		kind = "p2p_operation"
	}
	l := []string{
		"version", version, "slurm_job_id", jobID, "node", node, "gpu", gpu, "comm_name", name,
		"n_nodes", strconv.Itoa(int(cs.nodes[g])), "nranks", strconv.Itoa(size), kind, op, "message_size", bucket(cs.spec.Size),
	}
	if cs.pipe == nil {
		l = append(l, "algo_proto", cs.spec.Algo)
	} else {
		l = append(l, "algo_proto", "unknown_unknown")
	}
	return l
}

// emitFiles is the textfile collector: it serves the last content for as long
// as the file is there.
func (h *Host) emitFiles(t *target) {
	g3 := h.c.opt.Dialect.Inspector == "G3"
	for i := range h.files {
		f := &h.files[i]
		if f.mtime == 0 || g3 {
			continue
		}
		t.put(&f.mref, f.mtime, "node_textfile_mtime_seconds", "file", f.name)
		f.emit(t)
	}
}

func (f *file) emit(t *target) {
	for i := range f.rows {
		o := &f.rows[i]
		if !o.present {
			continue
		}
		if o.p2p {
			t.put(&o.refs[0], o.bw, "nccl_p2p_bus_bandwidth_gbs", o.labels...)
			t.put(&o.refs[1], math.Round(o.sec*1e6), "nccl_p2p_exec_time_microseconds", o.labels...)
			continue
		}
		t.put(&o.refs[0], o.bw, "nccl_bus_bandwidth_gbs", o.labels...)
		t.put(&o.refs[1], math.Round(o.sec*1e6), "nccl_collective_exec_time_microseconds", o.labels...)
		if t.c.opt.Dialect.Inspector == "G1" {
			t.put(&o.refs[2], o.algoBW, "nccl_algorithm_bandwidth_gbs", o.labels...)
		}
	}
}

// emitG3 is a collector that turns the logs of all hosts into metrics and goes
// on serving the last value of each series for a few minutes.
func (c *Cluster) emitG3(t *target, now int64) {
	for _, h := range c.Hosts {
		for i := range h.files {
			f := &h.files[i]
			if f.mtime == 0 || float64(now)/1000-f.mtime > 300 {
				continue
			}
			for k := range f.rows {
				o := &f.rows[k]
				if !o.present || o.p2p {
					continue
				}
				t.put(&o.refs[0], o.bw, "nccl_bus_bandwidth_gbs", o.labels...)
				t.put(&o.refs[1], math.Round(o.sec*1e6), "nccl_collective_exec_time_microseconds", o.labels...)
				t.put(&o.refs[2], float64(o.sequence), "nccl_collective_sequence_number", o.labels...)
			}
		}
	}
}
