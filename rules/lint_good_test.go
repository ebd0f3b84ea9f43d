package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/rules"
)

// TestGoodRulesAreLeftAlone: rules as careful people write them for the usual
// exporters. A right rule that is flagged is as bad as a broken one that is not.
func TestGoodRulesAreLeftAlone(t *testing.T) {
	for _, expr := range []string{
		// DCGM
		`DCGM_FI_DEV_FB_USED / (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE) > 0.98`,
		`increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[10m]) > 0`,
		`DCGM_FI_DEV_GPU_TEMP > on (instance, gpu) DCGM_FI_DEV_SLOWDOWN_TEMP - 3`,
		`DCGM_FI_DEV_GPU_TEMP / DCGM_FI_DEV_SLOWDOWN_TEMP > 0.98`,
		`DCGM_FI_DEV_XID_ERRORS == 79 or DCGM_FI_DEV_XID_ERRORS == 48`,
		`DCGM_FI_DEV_XID_ERRORS != 0 != 13 != 31 != 43 != 45 != 94`,
		`DCGM_FI_DEV_XID_ERRORS > 0 unless (DCGM_FI_DEV_XID_ERRORS == 13 or DCGM_FI_DEV_XID_ERRORS == 31 or DCGM_FI_DEV_XID_ERRORS == 43 or DCGM_FI_DEV_XID_ERRORS == 45)`,
		`sum by (instance, gpu) (DCGM_EXP_XID_ERRORS_COUNT{xid=~"48|63|74|79|95"}) > 0`,
		`DCGM_EXP_XID_ERRORS_COUNT{xid!~"13|31|43|45|94"} > 0`,
		`DCGM_FI_DEV_ROW_REMAP_FAILURE == 1`,
		`DCGM_FI_DEV_GPU_UTIL < 5 and on (instance, gpu) DCGM_FI_DEV_FB_USED > 20000`,
		`avg_over_time(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE[10m]) < 0.05 and DCGM_FI_DEV_GPU_UTIL > 95`,
		`100 * avg by (instance) (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE) < 5 and on (instance) avg by (instance) (DCGM_FI_DEV_POWER_USAGE < 2000) < 150`,
		`DCGM_FI_DEV_POWER_USAGE / DCGM_FI_DEV_POWER_MGMT_LIMIT > 1.02`,
		`rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m]) > 0`,
		`increase(DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL[1h]) > 1`,
		`floor(DCGM_FI_DEV_CLOCKS_EVENT_REASONS / 64) % 2 == 1`,
		`DCGM_FI_DEV_PCIE_LINK_GEN < DCGM_FI_DEV_PCIE_MAX_LINK_GEN and DCGM_FI_DEV_GPU_UTIL > 50`,
		`rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER[5m]) > 1`,
		`count by (instance) (DCGM_FI_DEV_GPU_TEMP offset 15m) > count by (instance) (DCGM_FI_DEV_GPU_TEMP)`,
		`sum(rate(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[5m])) / 1000 > 1e6`,
		`absent(up{job=~"dcgm.*"})`,
		`DCGM_FI_DEV_POWER_USAGE * on (instance) group_left (nodename) label_replace(node_uname_info, "instance", "$1:9400", "instance", "([^:]+):.*") > 700`,
		`nvidia_smi_temperature_gpu > 90`,
		// InfiniBand and RoCE
		`node_infiniband_state_id != 4 and node_infiniband_state_id offset 1h == 4`,
		`node_infiniband_physical_state_id != 5`,
		`node_infiniband_rate_bytes_per_second < on (device) group_left () (0.9 * quantile by (device) (0.5, node_infiniband_rate_bytes_per_second)) ` +
			`and on (device) count by (device) (node_infiniband_rate_bytes_per_second) >= 4`,
		`node_infiniband_rate_bytes_per_second / 1e9 * 8 < 400`,
		`changes(node_infiniband_link_downed_total[15m]) >= 2`,
		`rate(node_infiniband_symbol_error_total{device=~"mlx5_[0-9]+"}[10m]) > 10`,
		`node_infiniband_state_id{device!~"mlx5_[0-1]"} != 4`,
		`rate(node_infiniband_port_data_received_bytes_total[5m]) / node_infiniband_rate_bytes_per_second > 0.95`,
		`rate(node_infiniband_port_transmit_wait_total[5m]) > 1e6`,
		`rate(node_amazonefa_retrans_bytes[5m]) / rate(node_amazonefa_tx_bytes[5m]) > 0.01`,
		// The host
		`100 - (avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[2m])) * 100) > 90`,
		`sum by (instance) (rate(node_cpu_seconds_total{mode="iowait"}[5m])) > 4`,
		`(node_filesystem_avail_bytes * 100) / node_filesystem_size_bytes < 10 and on (instance, device, mountpoint) node_filesystem_readonly == 0`,
		`rate(node_pressure_cpu_waiting_seconds_total[5m]) > 0.8`,
		`rate(node_network_receive_errs_total[2m]) / rate(node_network_receive_packets_total[2m]) > 0.01`,
		`time() - node_boot_time_seconds < 600`,
		`node_load1 / on (instance) count by (instance) (node_cpu_seconds_total{mode="idle"}) > 2`,
		`node_load5 * on (instance) group_left (nodename) node_uname_info > 100`,
		// NCCL
		`max by (j) (nccl_collective_exec_time_microseconds) / min by (j) (nccl_collective_exec_time_microseconds) > 2.5 and on () time() - max(node_textfile_mtime_seconds) < 90`,
		`histogram_quantile(0.99, sum by (le) (rate(http_request_duration_seconds_bucket[5m]))) > 1`,
		`x_bucket{le="0.5"} > 1`,
	} {
		require.Empty(t, lint(alertFile(expr)), expr)
	}
}

// TestOtherDialects: what another server reads is no broken file for it.
func TestOtherDialects(t *testing.T) {
	vm := rules.LintOptions{Target: "victoriametrics"}
	for _, expr := range []string{
		`rollup_rate(x[5m]) > 1`, `(x default 0) > 1`, `WITH (f = {a="b"}) x{f} > 1`, `mad_over_time(x[5m]) > 1`, `rate(x[5m]) keep_metric_names > 1`, `holt_winters(x[1h], 0.5, 0.5) > 1`,
	} {
		require.Empty(t, lint(alertFile(expr), vm), expr)
	}
	require.Equal(t, []string{"unreadable"}, ids(lint(alertFile(`sum(`), vm)))
	require.Empty(t, lint(alertFile(`holt_winters(x[1h], 0.5, 0.5) > 1`), rules.LintOptions{Target: "prometheus-2"}))
}

// TestSeveralDocuments: of resources, and of namespaces for mimirtool, all are
// read; of a rule file only the first.
func TestSeveralDocuments(t *testing.T) {
	bad := alertFile(`DCGM_FI_DEV_XID_ERRORS > 0`)
	crd := func(groups string) string {
		return "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a}\nspec:\n  " + strings.ReplaceAll(strings.TrimSpace(groups), "\n", "\n  ") + "\n"
	}
	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(crd(bad)), "\n", "\n  ") + "\n"
	for name, c := range map[string]struct {
		text  string
		lines []int
		o     rules.LintOptions
	}{
		"resources":            {crd(bad) + "---\n" + crd(bad), []int{9, 20}, rules.LintOptions{}},
		"another kind between": {crd(bad) + "---\nkind: ConfigMap\ndata: {}\n---\n" + crd(bad), []int{9, 23}, rules.LintOptions{}},
		"a list":               {list, []int{12}, rules.LintOptions{}},
		"namespaces":           {"namespace: a\n" + bad + "---\nnamespace: b\n" + bad, []int{6, 14}, rules.LintOptions{}},
		"mimir":                {bad + "---\n" + bad, []int{5, 12}, rules.LintOptions{Target: "mimir"}},
	} {
		found := lint(c.text, c.o)
		var lines []int
		for _, p := range found {
			require.Equal(t, "xid-class", p.ID, "%s: %v", name, p)
			lines = append(lines, p.Line)
		}
		require.Equal(t, c.lines, lines, name)
	}
	require.Equal(t, []string{"xid-class", "second-document"}, ids(lint(bad+"---\n"+bad)))
}

// TestPlaces: a finding has the line and the column of its part of the
// expression, however the expression is written.
func TestPlaces(t *testing.T) {
	const head = "groups:\n- name: g\n  rules:\n  - alert: A\n    for: 5m\n"
	const xid = `increase(DCGM_FI_DEV_XID_ERRORS[5m])`
	for name, c := range map[string]struct {
		expr         string
		line, column int
	}{
		"literal":             {"    expr: |\n      up\n      and on (instance)\n        " + xid + " > 0\n", 9, 9},
		"literal, indicator":  {"    expr: |2-\n        up and on (instance)\n\n      " + xid + " > 0\n", 9, 7},
		"folded":              {"    expr: >\n      up\n      and on (instance) " + xid + "\n      > 0\n", 8, 25},
		"folded, stripped":    {"    expr: >-\n      up and\n      on (instance)\n\n      " + xid + " > 0\n", 10, 7},
		"plain, several rows": {"    expr: up\n      and on (instance)\n      " + xid + " > 0\n", 8, 7},
		"double":              {"    expr: \"up{job=\\\"node\\\"} and on (instance) " + xid + " > 0\"\n", 6, 50},
		"double, rows":        {"    expr: \"up{job=\\\"node\\\"}\n      and on (instance)\n      " + xid + " > 0\"\n", 8, 7},
		"single":              {"    expr: 'up{job=''node''} and on (instance) " + xid + " > 0'\n", 6, 50},
		"UTF-8":               {"    expr: '{\"größe\"} and on (instance) " + xid + " > 0'\n", 6, 40},
		"a flow mapping":      {"    labels: {a: ä}\n  - {alert: Ä, for: 5m, expr: '" + xid + " > 0'}\n", 7, 30},
	} {
		text := head + c.expr
		if name == "a flow mapping" {
			text = head + "    expr: max_over_time(x[5m]) > 0\n" + strings.TrimSuffix(c.expr, "\n") + "\n"
			c.line++
		}
		for _, newline := range []string{"\n", "\r\n"} {
			found := lint(strings.ReplaceAll(text, "\n", newline))
			require.Equal(t, []string{"xid-increase"}, ids(found), "%s: %v", name, found)
			row := []rune(strings.Split(text, "\n")[found[0].Line-1])
			require.True(t, strings.HasPrefix(string(row[found[0].Column-1:]), xid), "%s: %d:%d is %q", name, found[0].Line, found[0].Column, string(row[found[0].Column-1:]))
			require.Equal(t, c.line, found[0].Line, name)
		}
	}
}

// TestHugeAndHostileFiles end in time, with a word about what is wrong.
func TestHugeAndHostileFiles(t *testing.T) {
	big := strings.Builder{}
	big.WriteString("groups:\n- name: g\n  rules:\n")
	for range 5_000 {
		big.WriteString("  - alert: A\n    expr: DCGM_FI_DEV_NOSUCHFIELD_AT_ALL > 1 and DCGM_FI_DEV_XID_ERRORS > 0\n    for: 5m\n")
	}
	require.Len(t, lint(big.String()), 5_000)
	for name, text := range map[string]string{
		"deep":      strings.Repeat("[", 100_000),
		"deep expr": alertFile(strings.Repeat("(", 50_000) + "x" + strings.Repeat(")", 49_999)),
		"too large": strings.Repeat("# x\n", 5<<20),
		"binary":    "\x00\x01\xff\xfe",
		"a number":  "42",
		"a list":    "- groups: []",
		"BOM":       "\ufeff" + "groups: 5",
	} {
		require.NotEmpty(t, lint(text), name)
	}
}
