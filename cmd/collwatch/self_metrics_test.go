package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/internal/fakeslack"
)

// everything is a daemon with all receivers, which was never run.
func everything(t *testing.T) *daemon {
	t.Helper()
	path := filepath.Join(t.TempDir(), "collwatch.toml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
[global]
state_dir = %q
[[source]]
name = "prometheus"
url = "http://127.0.0.1:1"
[[alertmanager.target]]
name = "a"
url = "http://127.0.0.1:2"
[slack]
token = %q
[[slack.route]]
name = "people"
channel = "C0123456789"
`, t.TempDir(), fakeslack.Token), 0o600))
	cfg, err := loadConfig(path)
	require.NoError(t, err)
	d, err := newDaemon(path, cfg, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.store.Close()) })
	return d
}

// ownMetric is a metric as it is described.
type ownMetric struct {
	name, help string
	labels     []string
}

var description = regexp.MustCompile(`^Desc\{fqName: "([a-z0-9_]+)", help: (".*?"), (?:unit: ".*", )?constLabels: \{.*\}, variableLabels: \{(.*)\}\}$`)

// ownMetrics are all that a daemon may serve under its own name.
func ownMetrics(t *testing.T, d *daemon) (out []ownMetric) {
	t.Helper()
	seen := map[string]ownMetric{}
	for _, reg := range []*prometheus.Registry{d.reg, d.current.Load().reg} {
		ch := make(chan *prometheus.Desc)
		go func() { reg.Describe(ch); close(ch) }()
		for desc := range ch {
			m := description.FindStringSubmatch(desc.String())
			require.NotNil(t, m, desc.String())
			if strings.HasPrefix(m[1], "collwatch_") {
				help := strings.Trim(strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[2]), `"`)
				seen[m[1]] = ownMetric{m[1], help, strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' })}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, seen[name])
	}
	return out
}

// TestSelfMetricsPage: the page about collwatch's own metrics lists exactly those
// that there are. Written with UPDATE=1.
func TestSelfMetricsPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| metric | labels | meaning |\n| --- | --- | --- |\n")
	for _, m := range ownMetrics(t, everything(t)) {
		labels := "–"
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", m.name, labels, strings.ReplaceAll(m.help, "|", `\|`))
	}
	path := filepath.Join(repo(t), "docs", "self-metrics.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	const begin, end = "<!-- metrics:begin (written by the tests of cmd/collwatch with UPDATE=1) -->\n", "<!-- metrics:end -->"
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	former, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(head+begin+table.String()+end+tail), 0o644))
		return
	}
	require.Equal(t, table.String(), former, "UPDATE=1 go test ./cmd/collwatch -run SelfMetrics")
}

// TestSelfMetricsAreComplete: what operators of such a service look for is there,
// and a counter is there before it counts: a rule on something absent stays silent.
func TestSelfMetricsAreComplete(t *testing.T) {
	d := everything(t)
	labels := map[string][]string{}
	for _, m := range ownMetrics(t, d) {
		labels[m.name] = m.labels
		for _, l := range m.labels {
			require.NotContains(t, []string{"rank", "gpu", "host", "node", "device", "job", "job_id", "series", "incident", "uuid"}, l, "%s is not bounded", m.name)
		}
	}
	for name, want := range map[string][]string{
		"build_info": nil, "config_last_reload_successful": nil, "config_last_reload_success_timestamp_seconds": nil, "config_hash": nil,
		"source_request_duration_seconds": {"source", "code"}, "source_samples_total": {"source"}, "source_warnings_total": {"source"},
		"source_partial_total": {"source"}, "source_response_bytes": {"source"}, "source_up": {"source"},
		"evaluation_duration_seconds": nil, "detector_seconds": {"detector"}, "evaluations_total": nil, "evaluation_failures_total": {"reason"},
		"evaluations_missed_total": nil, "last_evaluation_timestamp_seconds": nil, "series_seen": nil, "series_too_few": nil, "detector_blind": nil,
		"alerts": nil, "alerts_truncated_total": nil, "alert_flaps_total": nil,
		"alertmanager_sent_total": nil, "alertmanager_failed_total": {"reason"}, "alertmanager_retried_total": nil, "alertmanager_dropped_total": nil,
		"alertmanager_queue_length": nil, "alertmanager_request_duration_seconds": nil, "alertmanager_readback_missing": nil,
		"silences_poll_failures_total": nil, "alerts_suppressed": {"by"},
		"slack_sent_total": {"kind"}, "slack_failed_total": {"reason"}, "slack_queue_length": nil,
		"state_save_duration_seconds": nil, "state_last_save_timestamp_seconds": nil, "state_restore_result": {"result"},
	} {
		got, ok := labels["collwatch_"+name]
		if name == "build_info" {
			continue // of the collector of versions, whose labels are constant
		}
		if !ok {
			t.Errorf("no metric collwatch_%s", name)
			continue
		}
		require.Subset(t, got, want, name)
	}
	// Members of Alertmanager begin with the daemon.
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.current.Load().run(ctx, func(engine.Tick, int) {}) }()
	absent := func() (out []string) {
		present := map[string]bool{}
		for _, reg := range []*prometheus.Registry{d.reg, d.current.Load().reg} {
			families, err := reg.Gather()
			require.NoError(t, err)
			for _, f := range families {
				present[f.GetName()] = true
			}
		}
		for name := range labels {
			if strings.HasSuffix(name, "_total") && !present[name] {
				out = append(out, name)
			}
		}
		return out
	}
	require.Eventually(t, func() bool { return len(absent()) == 0 }, 20*time.Second, 20*time.Millisecond, "absent until they count: %v", absent())
	stop()
	require.NoError(t, <-done)
}
