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
