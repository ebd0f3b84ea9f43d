package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/rules"
)

func alertFile(expr string) string {
	return fmt.Sprintf("groups:\n  - name: g\n    rules:\n      - alert: A\n        expr: %q\n        for: 5m\n", expr)
}

func ids(problems []rules.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.ID)
	}
	return out
}

// TestLints has, for each lint, an expression that is broken and one that is
// the right way to say it.
func TestLints(t *testing.T) {
	cases := map[string][2]string{
		"xid-increase":     {`increase(DCGM_FI_DEV_XID_ERRORS[5m]) > 0`, `DCGM_EXP_XID_ERRORS_COUNT > 0`},
		"nvlink-bw-rate":   {`rate(DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL[5m]) > 5`, `DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL > 5`},
		"percent-on-ratio": {`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE < 15`, `DCGM_FI_PROF_PIPE_TENSOR_ACTIVE * 100 < 15`},
		"never-true":       {`DCGM_FI_DEV_GPU_UTIL > 100 and up`, `DCGM_FI_DEV_GPU_UTIL > 90 and up`},
		"many-to-many":     {`DCGM_FI_DEV_POWER_USAGE * node_load1 > 5`, `DCGM_FI_DEV_POWER_USAGE * on (instance) group_left () node_load1 > 5`},
		"times-four": {
			`rate(node_infiniband_port_data_received_bytes_total[5m]) * 4 > 1`, `rate(node_infiniband_port_data_received_bytes_total[5m]) > 1`,
		},
		"no-such-metric":   {`rate(node_infiniband_port_receive_errors_total[5m]) > 0`, `rate(node_infiniband_port_errors_received_total[5m]) > 0`},
		"host-label":       {`max by (Hostname) (DCGM_FI_DEV_POWER_USAGE) > 5`, `max by (instance) (DCGM_FI_DEV_POWER_USAGE) > 5`},
		"device-regex":     {`node_infiniband_state_id{device=~"mlx5_[0-7]"} != 4`, `node_infiniband_state_id{device=~"mlx5_.*"} != 4`},
		"bare-absent":      {`absent(nvidia_up)`, `absent(nvidia_up) and on () count(slurm_node_job) > 0`},
		"fixed-temp":       {`DCGM_FI_DEV_GPU_TEMP > 85`, `DCGM_FI_DEV_GPU_TEMP > on () group_left () (10 + quantile(0.5, DCGM_FI_DEV_GPU_TEMP))`},
		"xid-class":        {`DCGM_FI_DEV_XID_ERRORS > 0`, `DCGM_FI_DEV_XID_ERRORS == 79`},
		"util-health":      {`DCGM_FI_DEV_GPU_UTIL < 10`, `DCGM_FI_DEV_GPU_UTIL < 10 and DCGM_FI_DEV_POWER_USAGE < 100`},
		"frozen-inspector": {`nccl_bus_bandwidth_gbs < 10`, `nccl_bus_bandwidth_gbs < 10 and on (instance) time() - node_textfile_mtime_seconds < 90`},
		"blame-longest":    {`topk(1, nccl_collective_exec_time_microseconds) > 5`, `bottomk(1, nccl_collective_exec_time_microseconds) > 5`},
		"avg-over-ranks":   {`avg by (slurm_job_id) (nccl_bus_bandwidth_gbs) < 5`, `min by (slurm_job_id) (nccl_bus_bandwidth_gbs) < 5`},
		"alltoall-zero":    {`nccl_bus_bandwidth_gbs{collective="AllToAll"} < 1`, `nccl_bus_bandwidth_gbs{collective="AllReduce"} < 1`},
		"size-bucket":      {`nccl_bus_bandwidth_gbs{message_size="1-2KB"} < 1`, `nccl_bus_bandwidth_gbs{message_size=~".*MB"} < 1`},
		"words":            {`rate(rdma_port_xmit_data_total[1m]) > 1e9`, `rate(rdma_port_xmit_data_total[1m]) * 4 > 1e9`},
		"le-match":         {`rate(x_bucket{le="1"}[5m]) > 1`, `rate(x_bucket{le="+Inf"}[5m]) > 1`},
		"experimental":     {`mad_over_time(x[5m]) > 1`, `max_over_time(x[5m]) > 1`},
		"violation-unit":   {`rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m]) > 200000`, `rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m]) > 0`},
	}
	for id, c := range cases {
		t.Run(id, func(t *testing.T) {
			bad := rules.Lint("f.yaml", []byte(alertFile(c[0])))
			require.Contains(t, ids(bad), id)
			require.Equal(t, 5, bad[0].Line)
			require.Equal(t, 15, bad[0].Column)
			require.NotContains(t, ids(rules.Lint("f.yaml", []byte(alertFile(c[1])))), id)
			require.NotContains(t, ids(rules.Lint("f.yaml", []byte(alertFile(c[0])), id)), id, "it was switched off")
		})
	}
}

// TestLintsOfFields are those that look at more than the expression.
func TestLintsOfFields(t *testing.T) {
	good := alertFile("x > 1")
	require.Empty(t, rules.Lint("f", []byte(good)))
	for id, text := range map[string]string{
		"no-for":         strings.Replace(good, "        for: 5m\n", "", 1),
		"limit-field":    strings.Replace(good, "name: g\n", "name: g\n    limit: 5\n", 1),
		"value-in-label": good + "        labels: {severity: warning, v: '{{ $value }}'}\n",
		"cardinality":    "groups: [{name: g, rules: [{record: 'a:b', expr: 'sum by (coll_sn) (x)'}]}]",
		"unreadable":     alertFile("sum("),
	} {
		require.Equal(t, []string{id}, ids(rules.Lint("f", []byte(text))), id)
	}
	for _, l := range rules.Lints() {
		require.NotEmpty(t, l.Why, l.ID)
	}
}

func TestNamesThatDifferByDigitsAreNoSlip(t *testing.T) {
	for _, name := range []string{"node_load5", "nccl_collective_exec_time_p95_microseconds"} {
		require.NotContains(t, ids(rules.Lint("f", []byte(alertFile(name+" > 1")))), "no-such-metric", name)
	}
	require.Contains(t, ids(rules.Lint("f", []byte(alertFile("DCGM_FI_DEV_SM_CLOCKS > 1")))), "no-such-metric")
}

// TestGeneratedRulesAreClean: what collwatch writes has none of the patterns,
// apart from events that need no for.
func TestGeneratedRulesAreClean(t *testing.T) {
	for _, crd := range []bool{false, true} {
		out := generate(t, func(o *rules.Options) { o.Single, o.CRD = true, crd })
		require.Empty(t, rules.Lint("f", out.Files[0].Data, "no-for"))
	}
}

func FuzzLint(f *testing.F) {
	f.Add([]byte(alertFile("rate(DCGM_FI_DEV_XID_ERRORS[5m]) > 0")))
	f.Add([]byte("groups: [{rules: [{record: a, expr: &x '1'}, {alert: b, expr: *x, labels: []}]}]"))
	f.Add([]byte("spec: {groups: {a: b}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range rules.Lint("f", data) {
			if p.ID == "" || p.Text == "" {
				t.Fatalf("%+v says nothing", p)
			}
		}
	})
}
