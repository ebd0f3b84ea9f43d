package signals_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

func class(t *testing.T, c *signals.Coverage, name string) signals.ClassCoverage {
	t.Helper()
	for _, k := range c.Classes {
		if k.Class == name {
			return k
		}
	}
	require.Fail(t, "no class", name)
	return signals.ClassCoverage{}
}

// What only some ports have is said with the class, and a counter that stands
// at its end is no input.
func TestCoverageSaysWhatIsNotEverywhere(t *testing.T) {
	const scrape = 8
	var s scrapes
	for i := range 4 {
		port := fmt.Sprintf(`{device="mlx5_%d",port="1",%s}`, i, node14)
		s.add("node_infiniband_state_id"+port, scrape, func(int) (float64, bool) { return 4, true })
		s.add("node_infiniband_symbol_error_total"+port, scrape, func(int) (float64, bool) { return 4294967295, true })
		if i == 0 {
			s.add("node_infiniband_link_downed_total"+port, scrape, func(int) (float64, bool) { return 3, true })
		}
	}
	c := run(t, &s, scrape, nil).Coverage()

	require.Equal(t, []signals.PartCoverage{{Signals: []string{"nic_link_downed"}, Entities: 1, Expected: 4}}, class(t, c, "leaf_restart").Partly)
	require.Equal(t, signals.LevelFull, class(t, c, "leaf_restart").Level)
	require.Equal(t, signals.LevelBlind, class(t, c, "nic_degraded").Level, "all counters of errors are at their end")

	var b bytes.Buffer
	require.NoError(t, c.WriteText(&b))
	require.Regexp(t, `(?m)^leaf_restart +full +nic_link_downed on 1 of 4 only$`, b.String())
	require.Regexp(t, `(?m)^nic_symbol_errors +node-infiniband +0 .* saturated$`, b.String())
}

// Collectives are only where a job runs: that is no hole.
func TestCoverageOfJobsIsNoHole(t *testing.T) {
	var s scrapes
	for g := range 2 {
		s.add(fmt.Sprintf(`DCGM_FI_DEV_SM_CLOCK{gpu="%d",Hostname="gpu-014",instance="gpu-014:9400",job="dcgm"}`, g), 8, func(int) (float64, bool) { return 1755, true })
	}
	s.add(`nccl_collective_exec_time_microseconds{slurm_job_id="7",hostname="gpu-014",gpu="GPU0",rank="0",comm_id="0x1",n_nodes="2",nranks="4",collective="AllReduce",message_size="1-2MB",`+node14+`}`, 8,
		func(i int) (float64, bool) { return 900 + float64(i), true })
	c := run(t, &s, 8, nil).Coverage()
	require.Equal(t, signals.LevelFull, class(t, c, "node_suspect").Level)
	require.Empty(t, class(t, c, "node_suspect").Partly)
}

// What a relation says is shown in the dialect of its exporter.
func TestCoverageOfRelationsIsOfTheirDialect(t *testing.T) {
	const slurmJob = `slurm_node_job{node_name="gpu-014",job_id="7",instance="slurm:9100",job="slurm"}`
	kube := []string{
		`kube_pod_info{node="n1",pod="w0",namespace="train",host_ip="10.1.0.1",pod_ip="10.9.0.1",instance="ksm:8080",job="ksm"}`,
		`kube_pod_labels{namespace="train",pod="w0",label_jobset_sigs_k8s_io_jobset_name="llm",instance="ksm:8080",job="ksm"}`,
		`kube_node_labels{node="n1",label_topology_kubernetes_io_rack="r9",instance="ksm:8080",job="ksm"}`,
	}
	for name, tc := range map[string]struct {
		series []string
		want   map[string]int // dialect of job_on_node -> jobs on hosts
	}{
		"Slurm":      {[]string{slurmJob}, map[string]int{"slurm": 1}},
		"Kubernetes": {kube, map[string]int{"kube-pods": 1}},
		"both":       {append(kube[:2:2], slurmJob), map[string]int{"slurm": 1, "kube-pods": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var s scrapes
			for _, series := range tc.series {
				s.add(series, 8, always(1))
			}
			got := map[string]int{}
			for _, row := range run(t, &s, 8, nil).Coverage().Signals {
				switch row.Signal {
				case "job_on_node":
					got[row.Dialect] = row.Entities
				case "host_parent":
					require.Contains(t, []string{"kube-nodes", ""}, row.Dialect, "slurm comes first in the catalogue")
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}
