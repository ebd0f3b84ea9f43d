package rules

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/collwatch/collwatch/signals"
)

// render turns the inputs of a test into raw series of the dialects that exist
// here, together with what every host has: its name, its job.
func (b *builder) render(inputs []input) []sample {
	var all []input
	seen := map[string]bool{}
	for _, i := range inputs {
		if !seen[i.host] {
			seen[i.host] = true
			all = append(all, b.background(i.host)...)
		}
	}
	all = append(all, inputs...)
	var out []sample
	index := map[string]int{}
	for _, i := range all {
		for _, s := range b.series(i) {
			key := s.String()
			if at, ok := index[key]; ok {
				out[at] = s
				continue
			}
			index[key] = len(out)
			out = append(out, s)
		}
	}
	return out
}

// background is what a host has whatever happens.
func (b *builder) background(host string) []input {
	name := raw("node_uname_info", host, flat(1))
	name.labels = map[string]string{"nodename": host}
	out := []input{name}
	if host == spareHost {
		return out
	}
	switch b.jobSource() {
	case "slurm":
		j := raw("slurm_node_job", host, flat(1))
		j.labels = map[string]string{"job_id": testJob, "node_name": host}
		return append(out, j)
	case "kube":
		p, l := raw("kube_pod_info", host, flat(1)), raw("kube_pod_labels", host, flat(1))
		p.labels = map[string]string{"namespace": "train", "pod": "worker-" + host, "node": host}
		l.labels = map[string]string{"namespace": "train", "pod": "worker-" + host, "label_training_kubeflow_org_job_name": testJob}
		return append(out, p, l)
	case "dcgm":
		return append(out, gpu(signals.GPUUtil, host, 0, flat(0.9)))
	case "inspector":
		return append(out, rank(host, flat(0.006)))
	case "collwatch":
		p := raw("collwatch_nccl_process_info", host, flat(1))
		p.labels = map[string]string{"node": host, "job_id": testJob, "gpu": "0"}
		return append(out, p)
	}
	return out
}

// jobSource is the first source of the job map.
func (b *builder) jobSource() string {
	switch {
	case b.metric("slurm_node_job"):
		return "slurm"
	case b.metric("kube_pod_info") && b.metric("kube_pod_labels"):
		return "kube"
	case b.metric("DCGM_FI_DEV_GPU_UTIL"):
		return "dcgm"
	case b.metric("nccl_collective_exec_time_microseconds"):
		return "inspector"
	case b.metric("collwatch_nccl_process_info"):
		return "collwatch"
	}
	return ""
}

// series are the raw series of an input, none if nobody offers it here.
func (b *builder) series(i input) []sample {
	if i.metric != "" {
		if !b.metric(i.metric) {
			return nil
		}
		ls := labelPairs(i.labels, "instance", i.host+":9100", "job", "node")
		return []sample{{metric: i.metric, labels: ls, values: notation(i.points, false, false, 1)}}
	}
	list := b.sources(i.rd)
	if len(list) == 0 {
		if i.rd.id == signals.CollExecTime && b.metric("collwatch_nccl_busy_seconds_total") {
			return b.ownTimes(i)
		}
		return nil
	}
	s := list[0]
	kind, cols := s.kind(), b.columns(s)
	ls := map[string]string{}
	put := func(column, v string) {
		if first, _, _ := strings.Cut(column, "|"); first != "" && first != "-" && v != "" {
			ls[first] = v
		}
	}
	maps.Copy(ls, i.labels)
	for _, w := range append(slices.Clone(s.d.Where), s.r.Where...) {
		if l, v, ok := strings.Cut(w, "="); ok {
			ls[l] = v
		}
	}
	put(cols.Host, i.host)
	if s.d.Exporter == "node" && strings.HasPrefix(cols.Host, "nodename") && b.uname {
		delete(ls, "nodename")
		ls["instance"], ls["job"] = i.host+":9100", "node"
	}
	switch kind {
	case signals.KindNIC:
		put(cols.Device, i.device)
		put(cols.Port, "1")
	case signals.KindGPU:
		put(cols.Device, strconv.Itoa(i.gpu))
		if s.d.Name == "dcgm" && b.jobSource() == "dcgm" {
			ls["hpc_job"] = testJob
		}
	case signals.KindComm, signals.KindRank:
		put(cols.Device, "GPU"+strconv.Itoa(i.gpu))
		for _, f := range [][2]string{
			{cols.Job, testJob}, {cols.Comm, "c0"}, {cols.Op, "AllReduce"}, {cols.Size, "134-135MB"}, {cols.NRanks, "6"}, {cols.NNodes, "6"}, {cols.Algo, "RING_SIMPLE"},
		} {
			put(f[0], f[1])
		}
	}
	counts := s.r.Type == signals.Counter || s.r.Type == signals.CountingGauge
	pts := i.points
	if s.r.Values != nil {
		pts = inverse(pts, s.r.Values)
	}
	return []sample{{metric: concrete(s.r), labels: labelPairs(ls), values: notation(pts, counts, i.rd.increase > 0, s.r.Scale)}}
}

// ownTimes are execution times as collwatch's exporter tells them: busy time by
// operations.
func (b *builder) ownTimes(i input) []sample {
	ls := labelPairs(nil, "node", i.host, "gpu", strconv.Itoa(i.gpu), "job_id", testJob, "comm", "c0", "op", "AllReduce", "size_class", "134217728",
		"nranks", "6", "n_nodes", "6", "algo", "RING", "proto", "SIMPLE", "timing", "kernel")
	const perSecond = 10
	busy := slices.Clone(i.points)
	ops := slices.Clone(i.points)
	for k := range busy {
		if busy[k].v != gone {
			busy[k].v *= perSecond
			ops[k].v = perSecond
		}
	}
	return []sample{
		{metric: "collwatch_nccl_busy_seconds_total", labels: ls, values: notation(busy, true, false, 1)},
		{metric: "collwatch_nccl_ops_completed_total", labels: ls, values: notation(ops, true, false, 1)},
	}
}

// concrete is a name that the pattern of a rule matches.
func concrete(r signals.Rule) string {
	if !r.Pattern {
		return r.Metric
	}
	return strings.NewReplacer("([0-7])", "3", "(?:link_)?", "", "(cable_flap|ber_check_fault)", "cable_flap").Replace(r.Metric)
}

// inverse finds the raw values of canonical ones.
func inverse(pts []step, values map[float64]float64) []step {
	out := slices.Clone(pts)
	for i := range out {
		for _, raw := range sortedFloats(values) {
			if values[raw] == out[i].v {
				out[i].v = raw
				break
			}
		}
	}
	return out
}

// labelPairs sorts labels by name; pairs are further ones that do not override.
func labelPairs(m map[string]string, pairs ...string) []string {
	all := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	maps.Copy(all, m)
	var names []string
	for k := range all {
		names = append(names, k)
	}
	slices.Sort(names)
	var out []string
	for _, n := range names {
		out = append(out, n, all[n])
	}
	return out
}
