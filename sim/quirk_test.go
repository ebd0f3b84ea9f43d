package sim

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
)

// short is a small healthy run with an edited dialect.
func short(t *testing.T, edit func(*Dialect)) (*Run, *OpenMetrics) {
	t.Helper()
	return record(t, "N00", Params{Seed: 5, Hosts: 4, Onset: time.Minute, Dialect: edit})
}

func TestDumpPhasesDiffer(t *testing.T) {
	run, om := short(t, nil)
	phases := map[float64]bool{}
	for i, n := range om.names {
		if n == "node_textfile_mtime_seconds" {
			first := om.samples[i][0].v - float64(run.Cluster.start)/1000
			phases[math.Mod(first, 30)] = true
		}
	}
	require.Len(t, phases, 4, "one phase a host")
}

func TestWindowMeans(t *testing.T) {
	var w window
	w.add(10, 0.006, 6e6)
	require.InDelta(t, 0.006, w.time/w.n, 1e-12)
	require.InDelta(t, 1e9, math.Exp(w.logBW/w.n), 1)
	w.spike(10)
	require.InDelta(t, 1.006, w.time/w.n, 1e-9, "the arithmetic mean of the time jumps")
	require.Greater(t, math.Exp(w.logBW/w.n), 0.45e9, "the geometric mean of the bandwidth hardly moves with more operations")
	w = window{}
	w.add(1000, 0.001, 1e6)
	w.spike(10)
	require.Greater(t, math.Exp(w.logBW/w.n), 0.98e9, "one of a thousand costs at most two percent")
}

func TestRingKeepsTheNewest(t *testing.T) {
	var w window
	w.add(700, 1, 1)
	w.add(700, 3, 1)
	require.Equal(t, float64(ring), w.n)
	require.InDelta(t, (324*1+700*3)/1024.0, w.time/w.n, 1e-9)
	w.add(5000, 2, 1)
	require.InDelta(t, 2, w.time/w.n, 1e-12)
}

func TestBuckets(t *testing.T) {
	for size, want := range map[int64]string{0: "0B", 900: "0B", 1500: "1-2KB", 141_033_472: "134-135MB", 4 << 30: "4-5GB", 64 * mib: "64-65MB"} {
		require.Equal(t, want, bucket(size), size)
	}
}

func TestHostNames(t *testing.T) {
	_, om := short(t, func(d *Dialect) { d.HostLabel, d.Domain = "hostname", "cluster.example" })
	require.NotEmpty(t, om.pick("DCGM_FI_DEV_SM_CLOCK", `hostname="gpu-002"`, `instance="gpu-002.cluster.example:9400"`))
	require.Empty(t, om.pick("DCGM_FI_DEV_SM_CLOCK", `Hostname=`))
	require.NotEmpty(t, om.pick("nccl_bus_bandwidth_gbs", `node="gpu-002"`, `instance="gpu-002.cluster.example:9100"`))
	_, om = short(t, func(d *Dialect) { d.Domain, d.NodeFQDN = "cluster.example", true })
	require.NotEmpty(t, om.pick("nccl_bus_bandwidth_gbs", `node="gpu-002.cluster.example"`))
	require.NotEmpty(t, om.pick("node_uname_info", `nodename="gpu-002.cluster.example"`))
}

func TestDialects(t *testing.T) {
	_, om := short(t, func(d *Dialect) { d.Inspector = "G1" })
	g1 := om.pick("nccl_algorithm_bandwidth_gbs", `gpu_device_id="GPU3"`, `n_ranks="4"`, `hostname="gpu-002"`)
	require.Greater(t, len(g1), 50, "sequence numbers are labels: each dump is a new series")
	require.Less(t, len(g1[10]), 4)
	_, om = short(t, func(d *Dialect) { d.Inspector = "G3" })
	seq := om.pick("nccl_collective_sequence_number", `hostname="gpu-002"`, `nranks="4"`, `n_nodes="4"`)
	require.Len(t, seq, 8)
	require.Greater(t, seq[0][len(seq[0])-1].v, seq[0][0].v)
	require.Empty(t, om.pick("node_textfile_mtime_seconds"), "no files there")
}

func TestSwitchesOfTheDialect(t *testing.T) {
	_, om := short(t, func(d *Dialect) {
		d.Reasons, d.SMActive, d.PCIeLink, d.JobMap, d.HWCounters, d.StepTime, d.NVLinkLinks, d.Violations = false, false, false, false, false, true, true, true
	})
	for _, n := range []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_PCIE_LINK_WIDTH", "slurm_node_job", "node_infiniband_local_ack_timeout_errors_total"} {
		require.Empty(t, om.pick(n), n)
	}
	for _, n := range []string{"trainer_step_time_seconds", "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "DCGM_FI_DEV_THERMAL_VIOLATION", "node_infiniband_symbol_error_total"} {
		require.NotEmpty(t, om.pick(n), n)
	}
	_, om = short(t, func(d *Dialect) { d.HostLabel = "" })
	require.Empty(t, om.pick("DCGM_FI_DEV_SM_CLOCK"))
	run, om := short(t, func(d *Dialect) { d.Percent = true })
	require.Greater(t, mean(run, om.pick("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), 100, 2000), 30.0)
}

func TestXidSticks(t *testing.T) {
	run, om := record(t, "S12-a", Params{Seed: 3, Hosts: 5, Onset: 2 * time.Minute})
	s := om.pick("DCGM_FI_DEV_XID_ERRORS", run.Truth.Suspects[0].Node, `gpu="6"`)[0]
	require.Equal(t, 0.0, s[0].v)
	require.Equal(t, 74.0, s[len(s)-1].v, "the gauge keeps the last code")
	c := om.pick("DCGM_EXP_XID_ERRORS_COUNT", `xid="74"`)
	require.Len(t, c, 1)
	require.Equal(t, 1.0, c[0][0].v)
	require.Equal(t, 0.0, c[0][len(c[0])-1].v, "the windowed count falls back")
}

func TestRebootResets(t *testing.T) {
	run, om := record(t, "S03-b", Params{Seed: 3, Hosts: 4, Onset: 2 * time.Minute})
	boot := om.pick("node_boot_time_seconds", "gpu-003")[0]
	require.Greater(t, boot[len(boot)-1].v, boot[0].v)
	tx := om.pick("node_infiniband_port_data_transmitted_bytes_total", "gpu-003", "mlx5_2")[0]
	require.Less(t, tx[len(tx)-1].v, tx[0].v)
	require.Less(t, mean(run, om.pick("up", "gpu-003", `job="node"`), 125, 355), 0.1)
}

func TestAllToAllShowsNothing(t *testing.T) {
	run, om := record(t, "N05-g", Params{Seed: 3, Hosts: 4, Onset: time.Minute})
	require.Zero(t, mean(run, om.pick("nccl_bus_bandwidth_gbs", "AllToAll"), 100, 1000))
	require.Positive(t, mean(run, om.pick("nccl_collective_exec_time_microseconds", "AllToAll"), 100, 1000))
}

func TestPipelineLastStageWaitsLeast(t *testing.T) {
	run, om := record(t, "N08", Params{Seed: 3, Onset: time.Minute})
	recv := func(node string) float64 {
		return mean(run, om.pick("nccl_p2p_exec_time_microseconds", `node="`+node, `p2p_operation="Recv"`), 100, 2000)
	}
	require.Less(t, recv("gpu-013"), 0.8*recv("gpu-005"))
	require.Less(t, recv("gpu-016"), 0.8*recv("gpu-005"), "in all replicas")
}

// TestVanishedSeriesGoStale asks the real engine: what a scrape no longer finds
// is gone at once, and text with the same samples loads without error.
func TestVanishedSeriesGoStale(t *testing.T) {
	db, sink := open(t)
	s, _ := Find("S16-x")
	run, err := s.New(Params{Seed: 4, Hosts: 4, Onset: 3 * time.Minute}, sink)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), 6*time.Minute))
	require.NoError(t, sink.Commit())
	node := run.Truth.Suspects[0].Node
	count := func(at time.Duration) int {
		var res promapi.Result
		require.NoError(t, db.Querier().Instant(t.Context(), `DCGM_FI_DEV_POWER_USAGE{Hostname="`+node+`"}`, run.Cluster.Start().Add(at), &res))
		return res.Len()
	}
	require.Equal(t, 8, count(170*time.Second))
	require.Equal(t, 7, count(250*time.Second))
}

func TestTextLoads(t *testing.T) {
	_, om := record(t, "S06", Params{Seed: 4, Hosts: 4, Onset: 2 * time.Minute})
	var b bytes.Buffer
	require.NoError(t, om.WriteGzip(&b))
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	stats, err := db.LoadOpenMetrics(t.Context(), &b, nil)
	require.NoError(t, err)
	require.EqualValues(t, om.Len(), stats.Series)
}

func TestLabelTextEscapes(t *testing.T) {
	require.Equal(t, `{a="x\"y\\z\n"}`, labelText([]string{"a", "x\"y\\z\n"}))
	require.Equal(t, 1, strings.Count(labelText([]string{"a", "1", "b", "2"}), ","))
}

// A file that is written anew after the sizes of a job changed has one row for
// each set of labels, whether it changed or not.
func TestFilesHaveNoSeriesTwice(t *testing.T) {
	run, _ := record(t, "N06", Params{Seed: 5, Hosts: 4, Onset: time.Minute})
	rows := 0
	for _, h := range run.Cluster.Hosts {
		for _, f := range h.files {
			seen := map[string]bool{}
			for _, r := range f.rows {
				key := strings.Join(r.labels, "|")
				require.False(t, seen[key], key)
				seen[key] = true
				rows++
			}
		}
	}
	require.NotZero(t, rows)
}
