package rules_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/rules"
)

func alertFile(expr string) string {
	return fmt.Sprintf("groups:\n  - name: g\n    rules:\n      - alert: A\n        expr: %s\n        for: 5m\n", quote(expr))
}

// quote writes an expression as a YAML scalar in which nothing is escaped, so
// that columns can be counted.
func quote(expr string) string { return "'" + strings.ReplaceAll(expr, "'", "''") + "'" }

func lint(text string, o ...rules.LintOptions) []rules.Problem {
	return rules.Lint("f.yaml", []byte(text), append(o, rules.LintOptions{})[0])
}

func ids(problems []rules.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.ID)
	}
	return out
}

// exprLints has, for each lint of expressions, one that is broken, the text at
// which the finding must point, and the right ways to say it.
func exprLints() map[string][]string {
	return map[string][]string{
		"xid-increase":     {`increase(DCGM_FI_DEV_XID_ERRORS[5m]) > 0`, `increase`, `DCGM_EXP_XID_ERRORS_COUNT{xid="79"} > 0`, `changes(DCGM_FI_DEV_XID_ERRORS[5m]) > 0`},
		"nvlink-bw-rate":   {`1 < rate(DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL[5m])`, `rate`, `DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL > 5`},
		"percent-on-ratio": {`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE < 15`, `DCGM`, `DCGM_FI_PROF_PIPE_TENSOR_ACTIVE * 100 < 15`, `DCGM_FI_PROF_SM_ACTIVE < 0.15`},
		"fixed-temp":       {`DCGM_FI_DEV_GPU_TEMP > 85`, `DCGM`, `DCGM_FI_DEV_GPU_TEMP > on () group_left () (10 + quantile(0.5, DCGM_FI_DEV_GPU_TEMP))`},
		"xid-class":        {`DCGM_FI_DEV_XID_ERRORS > 0`, `DCGM`, `DCGM_FI_DEV_XID_ERRORS == 79`, `DCGM_EXP_XID_ERRORS_COUNT{xid=~"48|79"} > 0`},
		"util-health":      {`DCGM_FI_DEV_GPU_UTIL < 10`, ``, `DCGM_FI_DEV_GPU_UTIL < 10 and DCGM_FI_DEV_POWER_USAGE < 100`},
		"sentinel":         {`sum by (instance) (DCGM_FI_DEV_FB_USED) > 100`, `sum`, `sum by (instance) (DCGM_FI_DEV_FB_USED < 1e9) > 100`, `min(DCGM_FI_DEV_FB_USED) > 1`},
		"violation-unit":   {`rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m]) > 200000`, `rate`, `rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m]) > 0`},
		"idle-pcie":        {`DCGM_FI_DEV_PCIE_LINK_GEN < 4`, `DCGM`, `DCGM_FI_DEV_PCIE_LINK_GEN < 4 and DCGM_FI_DEV_GPU_UTIL > 50`},
		"dup-hpc-job": {
			`sum by (instance) (DCGM_FI_DEV_POWER_USAGE{hpc_job!=""} < 1e5) > 100`, `sum`, `sum by (hpc_job) (DCGM_FI_DEV_POWER_USAGE{hpc_job!=""} < 1e5) > 1`,
			`sum by (instance) (max by (instance, gpu) (DCGM_FI_DEV_POWER_USAGE{hpc_job!=""} < 1e5)) > 1`,
		},
		"times-four": {
			`rate(node_infiniband_port_data_received_bytes_total[5m]) * 4 > 1`, `rate`, `rate(node_infiniband_port_data_received_bytes_total[5m]) * 8 > 1`,
		},
		"words":        {`rate(rdma_port_xmit_data_total[1m]) > 1e9`, `rdma`, `rate(rdma_port_xmit_data_total[1m]) * 4 > 1e9`},
		"wrap-32":      {`increase(node_infiniband_np_cnp_packets_sent_total[1h]) > 1`, `node`, `rate(node_infiniband_np_cnp_packets_sent_total[5m]) > 1`},
		"device-regex": {`node_infiniband_state_id{device=~"mlx5_[0-7]"} != 4`, `node`, `node_infiniband_state_id{device=~"mlx5_.*"} != 4`},
		"fabric-mix": {
			`rate(node_infiniband_symbol_error_total[5m]) > 1 and rate(node_infiniband_np_cnp_packets_sent_total[5m]) > 1`, `rate`,
			`rate(node_infiniband_symbol_error_total[5m]) > 1 and node_infiniband_state_id == 4`, `node_infiniband_state_id{device!~"rdmap.*"} < 4`,
		},
		"frozen-inspector": {`nccl_bus_bandwidth_gbs < 10`, `nccl`, `nccl_bus_bandwidth_gbs < 10 and on (instance) time() - node_textfile_mtime_seconds < 90`},
		"blame-longest": {
			`nccl_collective_exec_time_microseconds > on (slurm_job_id) group_left () (1.5 * avg by (slurm_job_id) (nccl_collective_exec_time_microseconds))`, `nccl`,
			`nccl_collective_exec_time_microseconds < on (slurm_job_id) group_left () (0.7 * avg by (slurm_job_id) (nccl_collective_exec_time_microseconds))`,
			`bottomk(1, nccl_collective_exec_time_microseconds) > 5`,
		},
		"avg-over-ranks": {`avg by (slurm_job_id) (nccl_bus_bandwidth_gbs) < 5`, `avg`, `min by (slurm_job_id) (nccl_bus_bandwidth_gbs) < 5`},
		"alltoall-zero":  {`nccl_bus_bandwidth_gbs{collective="AllToAll"} < 1`, `nccl`, `nccl_bus_bandwidth_gbs{collective="AllReduce"} < 1`},
		"size-bucket":    {`nccl_bus_bandwidth_gbs{message_size="1-2KB"} < 1`, `nccl`, `nccl_bus_bandwidth_gbs{message_size=~".*MB"} < 1`},
		"no-such-metric": {
			`rate(node_infiniband_port_receive_errors_total[5m]) > 0`, `node`, `rate(node_infiniband_port_errors_received_total[5m]) > 0`,
			`DCGM_FI_DEV_ENC_UTIL > 50 and DCGM_FI_DEV_MEM_CLOCK > 1`,
		},
		"rate-of-gauge":   {`rate(DCGM_FI_DEV_POWER_USAGE[5m]) > 1`, `rate`, `deriv(DCGM_FI_DEV_POWER_USAGE[5m]) > 1`, `rate(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[5m]) > 1`},
		"raw-counter":     {`node_infiniband_link_downed_total > 0`, `node`, `increase(node_infiniband_link_downed_total[10m]) > 0`},
		"zero-on-missing": {`rate(node_infiniband_np_cnp_packets_sent_total[5m]) == 0`, `rate`, `rate(node_infiniband_np_cnp_packets_sent_total[5m]) < 1`},
		"never-true":      {`DCGM_FI_DEV_GPU_UTIL > 100 and DCGM_FI_DEV_POWER_USAGE`, `DCGM`, `DCGM_FI_DEV_GPU_UTIL > 90 and DCGM_FI_DEV_POWER_USAGE`},
		"many-to-many":    {`DCGM_FI_DEV_POWER_USAGE * on (instance) node_load1 > 5`, `DCGM`, `DCGM_FI_DEV_POWER_USAGE * on (instance) group_left () node_load1 > 5`},
		"unpaired": {
			`DCGM_FI_DEV_SM_CLOCK < 0.8 * avg(DCGM_FI_DEV_SM_CLOCK)`, `DCGM`,
			`DCGM_FI_DEV_SM_CLOCK < 0.8 * scalar(avg(DCGM_FI_DEV_SM_CLOCK))`,
			`DCGM_FI_DEV_SM_CLOCK < on () group_left () (0.8 * avg(DCGM_FI_DEV_SM_CLOCK))`,
			`DCGM_FI_DEV_SM_CLOCK < on (instance) group_left () (0.8 * avg by (instance) (DCGM_FI_DEV_SM_CLOCK))`,
			`DCGM_FI_DEV_SM_CLOCK < ignoring (gpu, UUID) group_left () (0.8 * avg without (gpu, UUID) (DCGM_FI_DEV_SM_CLOCK))`,
			`max by (host) (a) > on (host) max by (host) (label_replace(b, "host", "$1", "instance", "(.*):.*"))`,
			`sum by (job) (a) / sum by (job) (b) > 1`, `a > avg_over_time(a[1h])`, `a and on (job) b:sum`, `a unless on (instance) up == 1`,
			`a > 5 and count(a) by (job, instance, gpu) > 2`, `up == 0 or vector(1)`, `ALERTS{alertname="A"} and on (node) b:sum`,
		},
		"host-label":  {`max by (Hostname) (DCGM_FI_DEV_POWER_USAGE < 1e5) > 5`, `max`, `max by (instance) (DCGM_FI_DEV_POWER_USAGE < 1e5) > 5`},
		"bare-absent": {`absent(nvidia_up)`, `absent`, `absent(nvidia_up) and on () count(slurm_node_job) > 0`, `absent(up{job="collwatch"})`},
		"no-group-guard": {
			`DCGM_FI_DEV_SM_CLOCK < on (instance) group_left () (0.9 * quantile by (instance) (0.5, DCGM_FI_DEV_SM_CLOCK))`, `DCGM`,
			`DCGM_FI_DEV_SM_CLOCK < on (instance) group_left () (0.9 * quantile by (instance) (0.5, DCGM_FI_DEV_SM_CLOCK)) and on (instance) count by (instance) (DCGM_FI_DEV_SM_CLOCK) >= 4`,
		},
		"avg-of-ratio": {`avg(a_errors / a_requests) > 1`, `avg`, `sum(a_errors) / sum(a_requests) > 1`, `avg(x / avg_over_time(x[1h])) > 1`},
		"le-match":     {`rate(x_bucket{le="1"}[5m]) > 1`, `x_bucket`, `rate(x_bucket{le="+Inf"}[5m]) > 1`},
		"experimental": {`mad_over_time(x[5m]) > 1`, `mad`, `max_over_time(x[5m]) > 1`},
	}
}

func TestLints(t *testing.T) {
	for id, c := range exprLints() {
		t.Run(id, func(t *testing.T) {
			text := alertFile(c[0])
			at := -1
			for i, p := range lint(text) {
				if p.ID == id {
					at = i
				}
			}
			require.GreaterOrEqual(t, at, 0, "%s: %v", c[0], lint(text))
			p := lint(text)[at]
			require.Equal(t, 5, p.Line)
			require.Equal(t, "A", p.Rule)
			rest := strings.TrimPrefix(strings.Split(text, "\n")[4][p.Column-1:], "'")
			require.True(t, strings.HasPrefix(rest, c[1]), "it points at %s", rest)
			for _, right := range c[2:] {
				require.NotContains(t, ids(lint(alertFile(right))), id, right)
			}
			require.NotContains(t, ids(lint(text, rules.LintOptions{Off: []string{id}})), id, "it was switched off")
		})
	}
}

// More ways to write the same mistakes.
func TestLintsSeeVariants(t *testing.T) {
	for expr, id := range map[string]string{
		`15 > DCGM_FI_PROF_PIPE_TENSOR_ACTIVE`:                                                       "percent-on-ratio",
		`avg by (pod) (avg_over_time(DCGM_FI_PROF_SM_ACTIVE[5m])) < (10 + 5)`:                        "percent-on-ratio",
		`DCGM_FI_DEV_GPU_UTIL < 0.5 and DCGM_FI_DEV_POWER_USAGE`:                                     "percent-on-ratio",
		`delta(DCGM_FI_DEV_XID_ERRORS[5m]) != 0`:                                                     "xid-increase",
		`{__name__="DCGM_FI_DEV_XID_ERRORS"} != 0`:                                                   "xid-class",
		`DCGM_EXP_XID_ERRORS_COUNT > 0`:                                                              "xid-class",
		`node_infiniband_state_id == 5`:                                                              "never-true",
		`rate(node_pressure_io_waiting_seconds_total[5m]) > 20`:                                      "never-true",
		`DCGM_FI_DEV_GPU_UTIL < 5 and node_load1 > 3`:                                                "many-to-many",
		`absent(nccl_bus_bandwidth_gbs) == 1`:                                                        "bare-absent",
		`increase(node_infiniband_symbol_error_counter_total[5m]) > 0`:                               "no-such-metric",
		`DCGM_FI_DEV_SM_CLOCKS > 1`:                                                                  "no-such-metric",
		`DCGM_FI_PROF_PIPE_TENSOR_ACTVE < 0.1`:                                                       "no-such-metric",
		`node_infiniband_nonsense_total > 1`:                                                         "no-such-metric",
		`4 * rate(node_infiniband_port_data_transmitted_bytes_total[1m]) > 1`:                        "times-four",
		`topk(3, nccl_collective_exec_time_microseconds) > 0`:                                        "blame-longest",
		`avg without (rank) (nccl_bus_bandwidth_gbs) < 5`:                                            "avg-over-ranks",
		`max by (rank) (nccl_p2p_exec_time_microseconds) > 2 * avg(nccl_p2p_exec_time_microseconds)`: "blame-longest",
		`node_infiniband_symbol_error_total{link_layer="Ethernet"} > 1`:                              "fabric-mix",
		`DCGM_FI_DEV_POWER_USAGE * on (UUID) group_left (Hostname) DCGM_FI_DEV_SM_CLOCK > 1`:         "host-label",
		`limitk(3, x) > 1`: "experimental",
		`node_load1 > on (job) sum by (instance) (node_load5)`:          "unpaired",
		`x{code="500"} / sum without (code) (x) > 0.1`:                  "unpaired",
		`sum by (instance) (a) and sum by (job) (b) > 1`:                "unpaired",
		`a and count by (job) (a) > 2`:                                  "unpaired",
		`rate(a[5m]) > vector(5)`:                                       "unpaired",
		`max by (node) (a{node!=""}) * on (node) avg by (pod) (b)`:      "unpaired",
		`a{gpu="1"} - ignoring (job) sum without (gpu) (a) > 1`:         "unpaired",
		`histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m]))) > b`: "unpaired",

		`sum_over_time(DCGM_FI_DEV_XID_ERRORS[1h]) > 0`:                                                                        "xid-increase",
		`changes(DCGM_FI_DEV_XID_ERRORS[5m]) > 0`:                                                                              "xid-class",
		`DCGM_EXP_XID_ERRORS_COUNT{xid=~".+"} > 0`:                                                                             "xid-class",
		`avg by (instance, gpu) (DCGM_FI_DEV_GPU_TEMP < 1000) > 85`:                                                            "fixed-temp",
		`DCGM_FI_DEV_GPU_TEMPERATURE > on (gpu) DCGM_FI_DEV_SLOWDOWN_TEMP`:                                                     "no-such-metric",
		`DCGM_FI_DEV_PROF_SM_ACTIVE < 0.1`:                                                                                     "no-such-metric",
		`0.2 < rate(DCGM_FI_DEV_POWER_VIOLATION[5m]) / 1e6`:                                                                    "violation-unit",
		`DCGM_FI_DEV_PCIE_LINK_GEN < DCGM_FI_DEV_PCIE_MAX_LINK_GEN`:                                                            "idle-pcie",
		`rate(node_cpu_seconds_total{mode="iowait"}[5m]) > 20`:                                                                 "never-true",
		`sum by (instance) (node_infiniband_symbol_error_total) > 100`:                                                         "raw-counter",
		`x_bucket{le=~"1|5"} > 1`:                                                                                              "le-match",
		`holt_winters(x[1h], 0.5, 0.5) > 1`:                                                                                    "experimental",
		`node_infiniband_state_id{device=~"mlx5_[0-9]"} != 4`:                                                                  "device-regex",
		`node_infiniband_state_id * on (instance) node_uname_info != 4`:                                                        "many-to-many",
		`rate(node_infiniband_port_data_received_bytes_total[1m]) * 4 * 8 > 1e10`:                                              "times-four",
		`nccl_p2p_exec_time_microseconds / on (j) group_left () avg by (j) (nccl_p2p_exec_time_microseconds) > 1.5`:            "blame-longest",
		`nccl_p2p_exec_time_microseconds - on (j) group_left () quantile by (j) (0.5, nccl_p2p_exec_time_microseconds) > 1000`: "blame-longest",
		`nccl_p2p_exec_time_microseconds == on (j) group_left () max by (j) (nccl_p2p_exec_time_microseconds)`:                 "blame-longest",
		`nccl_bus_bandwidth_gbs < on (j) group_left () (0.7 * avg by (j) (nccl_bus_bandwidth_gbs))`:                            "blame-longest",
		`0.7 > nccl_bus_bandwidth_gbs / on (j) group_left () avg by (j) (nccl_bus_bandwidth_gbs)`:                              "blame-longest",
	} {
		require.Contains(t, ids(lint(alertFile(expr))), id, expr)
	}
}

// TestLintsOfFields are those that look at more than the expression.
func TestLintsOfFields(t *testing.T) {
	good := alertFile("x > 1")
	require.Empty(t, lint(good))
	for name, c := range map[string]struct {
		text, id     string
		line, column int
	}{
		"no for":           {strings.Replace(good, "        for: 5m\n", "", 1), "no-for", 5, 16},
		"short for":        {strings.Replace(good, "for: 5m", "for: 10s", 1), "no-for", 6, 14},
		"limit":            {strings.Replace(good, "name: g\n", "name: g\n    limit: 5\n", 1), "limit-field", 3, 12},
		"value":            {good + "        labels: {severity: warning, v: '{{ $value }}'}\n", "value-in-label", 7, 41},
		"cardinality":      {"groups: [{name: g, rules: [{record: 'a:b', expr: 'sum by (coll_sn) (x)'}]}]", "cardinality", 1, 51},
		"broken":           {alertFile("sum("), "unreadable", 5, 20},
		"unknown in rule":  {strings.Replace(good, "for: 5m", "fot: 5m\n        for: 5m", 1), "schema", 6, 9},
		"unknown in group": {strings.Replace(good, "name: g\n", "name: g\n    intervall: 5s\n", 1), "schema", 3, 5},
		"bad duration":     {strings.Replace(good, "for: 5m", "for: soon", 1), "schema", 6, 14},
		"alert and record": {strings.Replace(alertFile("max_over_time(x[5m]) > 1"), "for: 5m", "record: 'a:b'", 1), "schema", 6, 17},
		"bad template":     {good + "        annotations: {a: '{{ nosuch }}'}\n", "schema", 4, 9},
		"record with for":  {"groups: [{name: g, rules: [{record: 'a:b', expr: x, for: 5m}]}]", "schema", 1, 37},
		"equal groups":     {good + strings.TrimPrefix(good, "groups:\n"), "schema", 7, 11},
		"short hold":       {strings.Replace(alertFile("DCGM_FI_DEV_POWER_USAGE > 1"), "5m", "1m", 1), "short-hold", 6, 14},
		"gone label":       {strings.Replace(alertFile("max by (job) (x) > 1"), "for: 5m", "for: 5m\n        annotations: {a: '{{ $labels.gpu }}'}", 1), "absent-label", 7, 27},
		"template label":   {good + "        annotations: {a: '{{ $labels.Hostname }}'}\n", "host-label", 7, 27},
		"two documents":    {good + "---\n" + good, "second-document", 7, 1},
		"broken YAML":      {good + "  - x: [\n", "unreadable", 7, 1},
		"no groups":        {"rules: []", "unreadable", 1, 1},
		"empty":            {"", "unreadable", 1, 1},
		"aliases": {
			"a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
				"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ngroups: [*f,*f,*f,*f,*f]\n", "unreadable", 1, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := lint(c.text)
			require.Equal(t, []string{c.id}, ids(found), "%v", found)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{found[0].Line, found[0].Column}, "%v", found)
		})
	}
	for _, l := range rules.Lints() {
		require.NotEmpty(t, l.Why, l.ID)
	}
}

func TestFieldsOfATarget(t *testing.T) {
	text := strings.Replace(alertFile("x > 1"), "name: g\n", "name: g\n    query_offset: 1m\n", 1)
	require.Empty(t, lint(text))
	require.Empty(t, lint(text, rules.LintOptions{Target: "prometheus-3"}))
	require.Equal(t, []string{"schema"}, ids(lint(text, rules.LintOptions{Target: "prometheus-2"})))
}

// TestNamesInQuotes: only newer servers read them.
func TestNamesInQuotes(t *testing.T) {
	text := alertFile(`{"my.metric"} > 1`)
	require.Empty(t, lint(text))
	require.Empty(t, lint(text, rules.LintOptions{Target: "prometheus-3"}))
	found := lint(text, rules.LintOptions{Target: "prometheus-2"})
	require.Equal(t, []string{"schema"}, ids(found))
	require.Contains(t, found[0].Text, `"my.metric"`)
}

func TestUncovered(t *testing.T) {
	o := rules.LintOptions{Metrics: []string{"x", "node_load1"}}
	require.Empty(t, lint(alertFile("x > 1"), o))
	found := lint(alertFile("rate(nod_load1[5m]) > 1"), o)
	require.Contains(t, ids(found), "uncovered")
	require.Contains(t, fmt.Sprint(found), "did you mean node_load1?")
}

// TestSwitchedOffByComment: with a reason only.
func TestSwitchedOffByComment(t *testing.T) {
	file := func(comment string) string {
		return "groups:\n- name: g\n  rules:\n  # " + comment + "\n  - alert: A\n    expr: DCGM_FI_DEV_GPU_TEMP > 85\n    for: 5m\n"
	}
	require.Equal(t, []string{"fixed-temp"}, ids(lint(file("hot"))))
	require.Empty(t, lint(file("collwatch:off fixed-temp our GPUs are all of one kind")))
	require.Equal(t, []string{"no-reason", "fixed-temp"}, ids(lint(file("collwatch:off fixed-temp"))))
	require.Equal(t, []string{"no-reason", "fixed-temp"}, ids(lint(file("collwatch:off fixed-tmp because"))))
}

func TestNamesThatDifferByDigitsAreNoSlip(t *testing.T) {
	for _, name := range []string{"node_load5", "nccl_collective_exec_time_p95_microseconds"} {
		require.NotContains(t, ids(lint(alertFile(name+" > 1"))), "no-such-metric", name)
	}
}

// TestGeneratedRulesAreClean: what collwatch writes has none of the patterns.
func TestGeneratedRulesAreClean(t *testing.T) {
	for _, p := range rules.Profiles() {
		for _, crd := range []bool{false, true} {
			out := generate(t, func(o *rules.Options) { o.Target, o.Single, o.CRD = p.Name, true, crd })
			require.Empty(t, rules.Lint("f", out.Files[0].Data, rules.LintOptions{Target: p.Name}))
		}
	}
}

// TestEveryLintIsTestedAndDocumented: each id has a broken rule here and a row in
// the documentation.
func TestEveryLintIsTestedAndDocumented(t *testing.T) {
	docs, err := os.ReadFile("../docs/rules.md")
	require.NoError(t, err)
	source, err := os.ReadFile("lint_test.go")
	require.NoError(t, err)
	for _, id := range rules.LintIDs() {
		require.Contains(t, string(docs), "\n| `"+id+"` |", "docs/rules.md")
		require.Contains(t, string(source), `"`+id+`"`, "no test")
	}
}

func FuzzLint(f *testing.F) {
	f.Add([]byte(alertFile("rate(DCGM_FI_DEV_XID_ERRORS[5m]) > 0")))
	f.Add([]byte("groups: [{rules: [{record: a, expr: &x '1'}, {alert: b, expr: *x, labels: []}]}]"))
	f.Add([]byte("spec: {groups: {a: b}}"))
	f.Add([]byte("groups:\n- rules:\n  - expr: |2-\n      x\n\n      > 1\n"))
	f.Add([]byte("groups: [&a {rules: [*a]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range rules.Lint("f", data, rules.LintOptions{}) {
			if p.ID == "" || p.Text == "" || p.Line < 1 || p.Column < 1 {
				t.Fatalf("%+v says nothing", p)
			}
		}
		rules.Recorded(data)
	})
}
