package exporter

import (
	"fmt"
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// compat serves NVIDIA Inspector's own names and labels (its Prometheus mode of NCCL 2.30), so that dashboards made for
// it go on working. They are means over a window and have all the weaknesses of such; collwatch itself does not need them.
type compat struct {
	window  int64 // ns
	last    map[string]compatTotals
	shown   []compatSample
	at      int64
	exec    *family
	busBW   *family
	p2pExec *family
	p2pBW   *family
}

type compatTotals struct{ completed, busyNs, kbytes uint64 }

type compatSample struct {
	labels []*dto.LabelPair
	p2p    bool
	bw, us float64
}

// compatWindow is the Inspector's shortest dump interval in this mode.
const compatWindow = 30e9

func newCompat() *compat {
	gauge := func(name, help string) *family { return &family{name, help, dto.MetricType_GAUGE} }
	return &compat{
		window:  compatWindow,
		last:    map[string]compatTotals{},
		busBW:   gauge("nccl_bus_bandwidth_gbs", "Mean bus bandwidth of collectives in the last window, GB/s (compatible with NVIDIA Inspector)."),
		exec:    gauge("nccl_collective_exec_time_microseconds", "Mean execution time of collectives in the last window (compatible with NVIDIA Inspector)."),
		p2pBW:   gauge("nccl_p2p_bus_bandwidth_gbs", "Mean bandwidth of P2P operations in the last window, GB/s (compatible with NVIDIA Inspector)."),
		p2pExec: gauge("nccl_p2p_exec_time_microseconds", "Mean execution time of P2P operations in the last window (compatible with NVIDIA Inspector)."),
	}
}

// build makes new means once a window and serves the last ones in between, as the Inspector's files do. What completed
// nothing in the window is left out.
func (c *compat) build(seen []Observation, node string, now int64, out *families) {
	if c.at == 0 || now-c.at >= c.window {
		c.renew(seen, node)
		c.at = now
	}
	for _, s := range c.shown {
		bw, exec := c.busBW, c.exec
		if s.p2p {
			bw, exec = c.p2pBW, c.p2pExec
		}
		out.gauge(bw, s.labels, s.bw)
		out.gauge(exec, s.labels, s.us)
	}
}

func (c *compat) renew(seen []Observation, node string) {
	totals, labels, p2p := map[string]compatTotals{}, map[string][]*dto.LabelPair{}, map[string]bool{}
	var order []string
	for i := range seen {
		o := &seen[i]
		for j := range o.Comms {
			for k := range o.Comms[j].Keys {
				key := &o.Comms[j].Keys[k]
				// By default the Inspector shows what the GPU has timed, and nothing below 8192 bytes.
				if key.CPU || key.Completed == 0 || key.SizeExp < 13 || key.SizeExp == overflowSizeClass {
					continue
				}
				l, isP2P := compatLabels(o, &o.Comms[j], key, node)
				id := identity(l)
				if labels[id] == nil {
					labels[id], p2p[id] = l, isP2P
					order = append(order, id)
				}
				t := totals[id]
				t.completed += key.Completed
				t.busyNs += key.BusyNs
				t.kbytes += key.BandwidthKBSum
				totals[id] = t
			}
		}
	}
	c.shown = c.shown[:0]
	for _, id := range order {
		t, before := totals[id], c.last[id]
		if t.completed <= before.completed || t.busyNs < before.busyNs {
			continue
		}
		n := float64(t.completed - before.completed)
		c.shown = append(c.shown, compatSample{
			labels: labels[id], p2p: p2p[id],
			bw: float64(t.kbytes-before.kbytes) * 1e-6 / n, us: float64(t.busyNs-before.busyNs) * 1e-3 / n,
		})
	}
	c.last = totals
}

func compatLabels(o *Observation, c *Comm, k *Key, node string) ([]*dto.LabelPair, bool) {
	job, name, gpu := o.JobID, c.Name, "GPU0"
	if job == "" {
		job = "unknown"
	}
	if name == "" {
		name = "unknown"
	}
	if o.LocalRank >= 0 {
		gpu = "GPU" + strconv.FormatInt(o.LocalRank, 10)
	}
	nodes := strconv.FormatUint(uint64(max(c.NNodes, 1)), 10)
	common := []string{
		"version", fmt.Sprintf("v%d.collwatch", o.ABI), "slurm_job_id", job, "node", node, "gpu", gpu, "comm_name", name,
		"n_nodes", nodes, "nranks", strconv.FormatUint(uint64(c.NRanks), 10), "message_size", compatSize(k.SizeExp),
	}
	if k.Algo == "" {
		return with(nil, append(common, "p2p_operation", k.Op)...), true
	}
	return with(nil, append(common, "collective", k.Op, "algo_proto", k.Algo+"_"+k.Proto)...), false
}

// compatSize writes a class in the Inspector's way, as a bucket of 1024-based units.
func compatSize(exp int) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	unit := min((exp-1)/10, len(units)-1)
	return fmt.Sprintf("%d-%d%s", 1<<(exp-1-10*unit), 1<<(exp-10*unit), units[unit])
}
