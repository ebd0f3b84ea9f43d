package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/sim"
)

const alertmanagerConfig = `
route: {receiver: nobody, group_wait: 1s, group_interval: 1s}
receivers: [{name: nobody}]
`

// TestMainJob follows one sick NIC through its life: found, alerted, silenced,
// announced when the silence ends, carried through a crash of the daemon, and
// resolved when it is repaired.
func TestMainJob(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	if testing.Short() {
		t.Skip("starts real servers")
	}
	r := startRig(t, small, alertmanagerConfig)
	slack := fakeslack.Start(t)
	r.configure(r.slackTables(slack))
	r.start()
	require.Empty(t, r.alerts(), "a healthy cluster is quiet")
	expire := r.silence("nic_degraded")

	const host, nic = 6, 3
	end := make(chan struct{})
	require.NoError(t, r.live.Inject(untilClosed(sim.Downtrain(host, nic, 0.25, 0, 0), end), 0))
	began := time.Now()
	r.eventually("the sick NIC is an alert", time.Minute, func() bool { return len(r.alerts()) == 1 })
	a := r.alerts()[0]
	require.Equal(t, map[string]string{
		"alertname": "CollwatchNicDegraded", "class": "nic_degraded", "severity": "critical", "cluster": "e2e",
		"job_id": "48213", "suspect_kind": "nic", "suspect_node": "gpu-007", "suspect_device": "mlx5_3",
		"scope": a.Labels["scope"], "owner_domain": "infrastructure", "source": "collwatch",
	}, a.Labels)
	require.Equal(t, "rate_downtrained", a.Annotations["reason"])
	require.Contains(t, a.Annotations["evidence"], "12.5 GB/s against 50 GB/s")
	t.Logf("%6.1fs  from the fault to the alert in Alertmanager", time.Since(began).Seconds())

	r.eventually("Alertmanager says that it is silenced", 30*time.Second, func() bool {
		return len(r.alerts()) == 1 && r.alerts()[0].Status.State == "suppressed"
	})
	evaluations := func() float64 { return r.metric("collwatch_evaluations_total") }
	until := evaluations() + 3
	r.eventually("three more evaluations", time.Minute, func() bool { return evaluations() >= until })
	require.Empty(t, slack.Messages(), "a silenced alert is none of Slack's business")

	expire()
	r.eventually("the end of the silence brings the message", time.Minute, func() bool { return len(topLevel(slack)) == 1 })
	opened := slack.Messages()[0]
	require.Contains(t, opened.Text, "gpu-007/mlx5_3")
	require.Contains(t, slack.Transcript(), "ilence", "the message says why it comes late")

	r.kill()
	r.start()
	until = evaluations() + 3
	r.eventually("three evaluations after the crash", time.Minute, func() bool { return evaluations() >= until })
	again := r.alerts()
	require.Len(t, again, 1, "a crash neither resolves nor doubles")
	require.Equal(t, a.StartsAt, again[0].StartsAt)
	require.Len(t, topLevel(slack), 1, "nor does it in Slack")

	close(end)
	r.eventually("the repaired NIC resolves", 2*time.Minute, func() bool { return len(r.alerts()) == 0 })
	r.eventually("the message turns into a resolve", time.Minute, func() bool {
		m := topLevel(slack)
		return len(m) == 1 && m[0].TS == opened.TS && strings.Contains(m[0].Text, "esolved")
	})
	t.Logf("what Slack was told:\n%s", slack.Transcript())

	resp, err := http.Get("http://" + r.address + "/api/v1/incidents?state=resolved")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// topLevel are the messages that are no replies in a thread.
func topLevel(s *fakeslack.Server) (out []fakeslack.Message) {
	for _, m := range s.Messages() {
		if m.Thread == "" {
			out = append(out, m)
		}
	}
	return out
}

// slackTables configures delivery to a fake.
func (r *rig) slackTables(s *fakeslack.Server) string {
	r.t.Helper()
	token := filepath.Join(r.dir, "slack-token")
	require.NoError(r.t, os.WriteFile(token, []byte(fakeslack.Token), 0o600))
	return fmt.Sprintf(`
[slack]
api_url = %q
token_file = %q
[[slack.route]]
name = "on-call"
channel = "#gpu-oncall"
`, s.URL(), token)
}

// untilClosed lets a fault last until a channel is closed.
func untilClosed(f sim.Fault, end <-chan struct{}) sim.Fault {
	apply := f.Apply
	f.End = 0
	f.Apply = func(c *sim.Cluster, now, since float64) {
		select {
		case <-end:
		default:
			apply(c, now, since)
		}
	}
	return f
}
