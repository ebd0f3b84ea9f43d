package ruletest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/ruletest"
)

const (
	ruleText = "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: x > 1\n    for: 1m\n    labels: {severity: warning}\n    annotations: {a: 'value {{ $value }}'}\n"
	testText = `rule_files: [r.yaml]
evaluation_interval: 30s
tests:
- name: t
  interval: 30s
  input_series: [{series: 'x{h="a"}', values: '0x3 2x20'}]
  alert_rule_test:
  - {eval_time: 1m, alertname: A, exp_alerts: []}
  - {eval_time: 5m, alertname: A, exp_alerts: [{exp_labels: {h: a, severity: warning}, exp_annotations: {a: value 2}}]}
`
)

func run(t *testing.T, rule, test string) (int, []ruletest.Failure, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r.yaml"), []byte(rule), 0o600))
	path := filepath.Join(dir, "t.yaml")
	require.NoError(t, os.WriteFile(path, []byte(test), 0o600))
	return ruletest.Run(t.Context(), path)
}

// TestRun: what holds passes, what does not fails with both sides, and what
// cannot be run is an error.
func TestRun(t *testing.T) {
	n, failures, err := run(t, ruleText, testText)
	require.NoError(t, err)
	require.Empty(t, failures)
	require.Equal(t, 1, n)

	_, failures, err = run(t, strings.Replace(ruleText, "> 1", "> 5", 1), testText)
	require.NoError(t, err)
	require.Len(t, failures, 1)
	require.Contains(t, failures[0].String(), "t: at 5m0s: A fires as")

	for name, c := range map[string]struct{ rule, test, want string }{
		"no such file":         {ruleText, strings.Replace(testText, "r.yaml", "absent.yaml", 1), "absent.yaml"},
		"unknown field":        {ruleText, strings.Replace(testText, "interval: 30s\n  input", "intervall: 30s\n  input", 1), "intervall"},
		"no interval":          {ruleText, strings.Replace(testText, "evaluation_interval: 30s\n", "", 1), "evaluation_interval"},
		"broken rule":          {strings.Replace(ruleText, "x > 1", "sum(", 1), testText, "r.yaml"},
		"series that is none":  {ruleText, strings.Replace(testText, `x{h="a"}`, `x{`, 1), "series x{"},
		"too many evaluations": {ruleText, strings.Replace(testText, "eval_time: 5m", "eval_time: 100y", 1), "more than 20160 evaluations"},
		"too many samples":     {ruleText, strings.Replace(testText, "2x20", "2x99999999999", 1), "samples, more than"},
	} {
		_, _, err := run(t, c.rule, c.test)
		require.ErrorContains(t, err, c.want, name)
	}
}
