package signals_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// wide answers every family with its share of a large cluster: two samples per
// series, moving on with each tick.
type wide struct {
	in    *promapi.Interner
	refs  map[string][]promapi.Ref // by a metric that the query must contain
	files map[promapi.Ref]bool
	empty bool
}

func newWide(tb testing.TB, series int) *wide {
	tb.Helper()
	w := &wide{in: promapi.NewInterner(), refs: map[string][]promapi.Ref{}, files: map[promapi.Ref]bool{}}
	add := func(family string, kv ...string) promapi.Ref {
		var ls promapi.Labels
		for i := 0; i < len(kv); i += 2 {
			ls = append(ls, promapi.Label{Name: kv[i], Value: kv[i+1]})
		}
		ref := w.in.Intern(ls)
		w.refs[family] = append(w.refs[family], ref)
		return ref
	}
	dcgm := []string{"SM_CLOCK", "MEM_CLOCK", "GPU_TEMP", "MEMORY_TEMP", "POWER_USAGE", "GPU_UTIL", "PCIE_REPLAY_COUNTER", "XID_ERRORS", "FB_USED"}
	ib := []string{
		"state_id", "rate_bytes_per_second", "port_data_transmitted_bytes_total", "port_data_received_bytes_total", "symbol_error_total",
		"link_downed_total", "port_transmit_wait_total", "port_errors_received_total",
	}
	n := 0
	for h := 0; n < series; h++ {
		host := fmt.Sprintf("gpu-%04d", h)
		node := []string{"instance", host + ":9100", "job", "node"}
		add("host", append([]string{"__name__", "up"}, node...)...)
		for g := range 8 {
			gpu := strconv.Itoa(g)
			uuid := fmt.Sprintf("%08x-0000-0000-0000-%012x", h, g)
			f := add("host", append([]string{"__name__", "node_textfile_mtime_seconds", "file", "nccl_inspector_metrics_GPU-" + uuid + ".prom"}, node...)...)
			w.files[f] = true
			for _, m := range dcgm {
				add("dcgm", "__name__", "DCGM_FI_DEV_"+m, "gpu", gpu, "UUID", "GPU-"+uuid, "Hostname", host, "instance", host+":9400", "job", "dcgm")
			}
			for _, m := range ib {
				add("infiniband", append([]string{"__name__", "node_infiniband_" + m, "device", "mlx5_" + gpu, "port", "1"}, node...)...)
			}
			for _, m := range []string{"nccl_collective_exec_time_microseconds", "nccl_bus_bandwidth_gbs"} {
				for _, op := range []string{"AllReduce", "AllGather", "ReduceScatter"} {
					add("inspector", append([]string{
						"__name__", m, "version", "v5.1", "slurm_job_id", strconv.Itoa(h / 16), "node", host, "gpu", "GPU" + gpu,
						"comm_name", "unknown", "n_nodes", "16", "nranks", "16", "collective", op, "message_size", "134-135MB", "algo_proto", "RING_SIMPLE",
					}, node...)...)
				}
			}
			n += 1 + len(dcgm) + len(ib) + 6
		}
		n++
	}
	return w
}

func (w *wide) Interner() *promapi.Interner { return w.in }

func (w *wide) Instant(_ context.Context, expr string, at time.Time, dst *promapi.Result) error {
	dst.Reset()
	if w.empty {
		return nil
	}
	for family, metric := range map[string]string{
		"host": "node_uname_info", "dcgm": "DCGM_FI_DEV_SM_CLOCK", "infiniband": "node_infiniband_info", "inspector": `coll_sn=""`,
	} {
		if !contains(expr, metric) {
			continue
		}
		t := at.UnixMilli()
		for i, ref := range w.refs[family] {
			dst.Begin(ref)
			for k := int64(1); k >= 0; k-- {
				v := float64(t/1000-15*k) + float64(i%7)
				if w.files[ref] {
					v = float64(t/1000 - 15*k - 5)
				}
				if i == 0 {
					v = 1
				}
				dst.Add(t-15000*k, v)
			}
		}
	}
	return nil
}

func (w *wide) Range(context.Context, string, promapi.Window, *promapi.Result) error { return nil }
func (w *wide) LabelValues(context.Context, string, []string, promapi.Window) ([]string, error) {
	return nil, nil
}

func contains(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return true
		}
	}
	return false
}

// BenchmarkRead is the steady state of one tick over 100,000 series, without
// what the querier costs.
func BenchmarkRead(b *testing.B) {
	const series = 100_000
	w := newWide(b, series)
	r, err := signals.NewReader(signals.Options{}, map[string]promapi.Querier{"p": w})
	require.NoError(b, err)
	at := time.Unix(1767600000, 0)
	for range 4 {
		at = at.Add(15 * time.Second)
		r.Read(b.Context(), at)
	}
	var res promapi.Result
	b.ReportAllocs()
	b.ResetTimer()
	var fake time.Duration
	for b.Loop() {
		at = at.Add(15 * time.Second)
		r.Read(b.Context(), at)
		b.StopTimer()
		begin := time.Now()
		for _, expr := range []string{"node_uname_info", "DCGM_FI_DEV_SM_CLOCK", "node_infiniband_info", `coll_sn=""`} {
			_ = w.Instant(b.Context(), expr, at, &res)
		}
		fake += time.Since(begin)
		b.StartTimer()
	}
	own := b.Elapsed() - fake
	b.ReportMetric(float64(own.Nanoseconds())/float64(b.N)/series, "ns/series")
}
