package exporter

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logLine is a record as NCCL 2.30's Inspector writes it.
func logLine(rank, seq int) string {
	return fmt.Sprintf(`{"header":{"id":"0xad56c683b0c4ef","rank":%d,"n_ranks":16,"nnodes":2},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1772585717263338,"hostname":"gpu-014","pid":48},"coll_perf":{"coll":"AllReduce","coll_algo":"RING","coll_proto":"SIMPLE","coll_sn":%d,"coll_msg_size_bytes":1048576,"coll_exec_time_us":2000,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":0.52,"coll_busbw_gbs":0.98}}`+"\n", rank, seq)
}

const p2pLine = `{"header":{"id":"0xad56c683b0c4ef","comm_name":"PP Group 0","rank":3,"n_ranks":16,"nnodes":2},"metadata":{"dump_timestamp_us":1772585717263338,"pid":48},"p2p_perf":{"p2p":"Send","p2p_sn":8,"p2p_peer":4,"p2p_msg_size_bytes":524288,"p2p_exec_time_us":50,"p2p_timing_source":"kernel_gpu","p2p_busbw_gbs":30.0}}` + "\n"

type logFolder struct {
	t    *testing.T
	dir  string
	logs *InspectorLogs
}

func newLogFolder(t *testing.T) *logFolder {
	t.Helper()
	dir := t.TempDir()
	return &logFolder{t, dir, NewInspectorLogs(dir, slog.New(slog.DiscardHandler))}
}

func (f *logFolder) append(name, text string) {
	f.t.Helper()
	require.NoError(f.t, os.MkdirAll(filepath.Dir(filepath.Join(f.dir, name)), 0o750))
	w, err := os.OpenFile(filepath.Join(f.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(f.t, err)
	_, err = w.WriteString(text)
	require.NoError(f.t, err)
	require.NoError(f.t, w.Close())
}

// view polls and returns what is served.
func (f *logFolder) view() view {
	f.t.Helper()
	f.logs.Poll()
	b := newBuilder(newMetrics(), DefaultLimits(), "gpu-014")
	f.logs.Collect(&Samples{b: b})
	b.totals()
	requireValid(f.t, b)
	return parseView(f.t, string(expose(f.t, b.out.list())))
}

func TestInspectorLogIsFollowed(t *testing.T) {
	f := newLogFolder(t)
	f.append("nccl-inspector-48213/gpu-014-pid48.log", logLine(3, 1))
	f.view() // what was there before is not counted
	f.append("nccl-inspector-48213/gpu-014-pid48.log", logLine(3, 2)+p2pLine+logLine(3, 3)[:100])
	v := f.view()
	labels := []string{"op=AllReduce", "rank=3", "comm=00ad56c683b0c4ef", "job_id=48213", "nranks=16", "algo=RING", "size_class=1048576"}
	require.InDelta(t, 1, v.get(t, "ops_completed_total", labels...), 0)
	require.InDelta(t, 0.002, v.get(t, "busy_seconds_total", append(labels, "timing=gpu")...), 1e-9)
	require.InDelta(t, 2, v.get(t, "last_completed_seq", "op=AllReduce", "rank=3"), 0)
	require.InDelta(t, 524288, v.get(t, "p2p_bytes_total", "peer=4", "direction=send"), 0)
	require.InDelta(t, 1772585717.263, v.get(t, "last_event_timestamp_seconds", "job_id=48213"), 0.001)
	for _, name := range []string{"ops_enqueued_total", "ops_started_total", "inflight_ops", "last_enqueued_seq", "process_up"} {
		_, n := v.sum(name)
		require.Zero(t, n, "%s cannot be known from this log", name)
	}
	f.append("nccl-inspector-48213/gpu-014-pid48.log", logLine(3, 3)[100:])
	require.InDelta(t, 2, f.view().get(t, "ops_completed_total", labels...), 0, "the half line was completed")
}

func TestInspectorLogRotationAndTruncation(t *testing.T) {
	f := newLogFolder(t)
	f.view()
	f.append("a.log", logLine(0, 1)+logLine(0, 2))
	require.InDelta(t, 2, f.view().get(t, "ops_completed_total"), 0)
	require.NoError(t, os.Rename(filepath.Join(f.dir, "a.log"), filepath.Join(f.dir, "a.log.1")))
	f.append("a.log", logLine(0, 3))
	require.InDelta(t, 3, f.view().get(t, "ops_completed_total"), 0, "rotated: counters go on")
	require.NoError(t, os.Truncate(filepath.Join(f.dir, "a.log"), 0))
	f.view()
	f.append("a.log", logLine(0, 4))
	require.InDelta(t, 4, f.view().get(t, "ops_completed_total"), 0, "truncated: counters go on")
	require.NoError(t, os.Remove(filepath.Join(f.dir, "a.log")))
	_, n := f.view().sum("ops_completed_total")
	require.Zero(t, n)
}

func TestInspectorLogRubbish(t *testing.T) {
	f := newLogFolder(t)
	f.view()
	f.append("a.log", "rubbish\n{}\n[1,2]\n\x00\xff\n"+strings.Repeat("x", maxLogLine+100)+"\n"+logLine(1, 7))
	v := f.view()
	require.InDelta(t, 1, v.get(t, "ops_completed_total", "rank=1"), 0, "the good line after the long one")
	require.InDelta(t, 5, v["collwatch_exporter_inspector_lines_ignored_total"]["{"], 0)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(f.dir, "link.log")))
	f.view()
}

func TestInspectorLogOfADeadJobIsForgotten(t *testing.T) {
	f := newLogFolder(t)
	f.view()
	f.append("a.log", logLine(0, 1))
	f.view()
	f.logs.now = func() time.Time { return time.Now().Add(2 * logForgetTime) }
	_, n := f.view().sum("ops_completed_total")
	require.Zero(t, n)
}

func FuzzInspectorLine(f *testing.F) {
	f.Add([]byte(logLine(3, 2)))
	f.Add([]byte(p2pLine))
	f.Add([]byte(`{"header":{"id":"x","rank":-1}}`))
	f.Add([]byte(`{"coll_perf":{"coll":"AllReduce","coll_msg_size_bytes":1e308,"coll_exec_time_us":-5}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		p := &inspectorProcess{}
		_ = p.line([]byte(logLine(3, 1)))
		_ = p.line(line)
		b := newBuilder(newMetrics(), DefaultLimits(), "n")
		for i := range p.comms {
			b.comm(&Observation{Alive: true}, &p.comms[i])
		}
		requireValid(t, b)
	})
}

func TestBucketIsThePlugins(t *testing.T) {
	for v, want := range map[float64]int{0: 0, -1: 0, 1e-9: 0, 1.0 / (1 << 20): 0, 1.01 / (1 << 20): 1, 1: 20, 1.5: 21, 2: 21, 64: 26, 65: 27, 1e9: 27} {
		require.Equal(t, want, bucket(v, durMinExp, durBuckets), "%g", v)
	}
}
