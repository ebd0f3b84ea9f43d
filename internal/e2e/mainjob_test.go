package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	if testing.Short() {
		t.Skip("starts real servers")
	}
	r := startRig(t, small, alertmanagerConfig)
	r.configure("")
	r.start()
	require.Empty(t, r.alerts(), "a healthy cluster is quiet")

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

	r.kill()
	r.start()
	again := r.alerts()
	require.Len(t, again, 1, "a crash neither resolves nor doubles")
	require.Equal(t, a.StartsAt, again[0].StartsAt)

	close(end)
	r.eventually("the repaired NIC resolves", 2*time.Minute, func() bool { return len(r.alerts()) == 0 })

	resp, err := http.Get("http://" + r.address + "/api/v1/incidents?state=resolved")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
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
