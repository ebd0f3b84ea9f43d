package exporter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/realserver"
)

// answers asks a real Prometheus for an instant vector.
func answers(t *testing.T, base, query string) []map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, base+"/api/v1/query?query="+url.QueryEscape(query), nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var body struct {
		Status, Error string
		Data          struct {
			Result []struct{ Metric map[string]string }
		}
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&body))
	require.Equal(t, "success", body.Status, "%s: %s", query, body.Error)
	var all []map[string]string
	for _, r := range body.Data.Result {
		all = append(all, r.Metric)
	}
	return all
}

// TestThroughPrometheus walks the whole way: processes, plugin, exporter, a real Prometheus and its queries.
func TestThroughPrometheus(t *testing.T) {
	link := newRelay(t)
	r := startRing(t, 4, map[int]*relay{2: link}, nil)
	scrape, target := served(t, r, nil)
	prometheus := realserver.StartPrometheus(t, fmt.Sprintf(`
global: {scrape_interval: 1s}
scrape_configs:
- job_name: collwatch
  scrape_native_histograms: true
  static_configs: [{targets: [%q]}]
`, strings.TrimPrefix(target, "http://")))
	healthy(t, scrape, 4)
	says := func(what, query string, ok func([]map[string]string) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return ok(answers(t, prometheus.URL, query)) }, 60*time.Second, 300*time.Millisecond, "%s: %s", what, query)
	}
	only := func(k, v string) func([]map[string]string) bool {
		return func(a []map[string]string) bool { return len(a) == 1 && a[0][k] == v }
	}

	r.signal(1, syscall.SIGUSR1) // computes longer
	mean := `sum by (rank) (rate(collwatch_nccl_busy_seconds_total[6s])) / sum by (rank) (rate(collwatch_nccl_ops_completed_total[6s]))`
	says("the straggler has the shortest time in its kernels", "bottomk(1, "+mean+") < 0.5 * scalar(max("+mean+"))", only("rank", "1"))
	says("native histograms arrive", "histogram_quantile(0.5, sum(rate(collwatch_nccl_op_duration_seconds[6s]))) > 0", func(a []map[string]string) bool { return len(a) == 1 })
	r.signal(1, syscall.SIGUSR2)

	link.delay.Store(int64(15 * time.Millisecond))
	wire := `rate(collwatch_nccl_proxy_wait_seconds_total{phase="wire"}[6s])`
	says("the slow wire is that of one link", "topk(1, "+wire+") > 3 * scalar(quantile(0.67, "+wire+"))", func(a []map[string]string) bool {
		return len(a) == 1 && a[0]["rank"] == "2" && a[0]["peer"] == "3"
	})
	link.delay.Store(0)

	r.signal(0, syscall.SIGKILL)
	says("a dead process", "collwatch_nccl_process_up == 0", func(a []map[string]string) bool { return len(a) == 1 })
	says("the survivors hang in a running collective", `min_over_time(collwatch_nccl_oldest_inflight_age_seconds{state="running"}[3s]) > 2`, func(a []map[string]string) bool {
		return len(a) >= 3
	})
	says("with more queued behind it", `collwatch_nccl_inflight_ops{state="queued"} > 0`, func(a []map[string]string) bool { return len(a) >= 3 })
}
