package e2e

import (
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHangOfRealProcesses goes from the profiler plugin in real processes to
// the alert. The ranks have no GPU, so nothing but the plugin's counters and
// what the exporter knows of the processes tells who hangs.
func TestHangOfRealProcesses(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	if testing.Short() {
		t.Skip("starts real servers")
	}
	h := startHangRig(t)
	stopped, killed, paused := h.job("77001", 4), h.job("77002", 4), h.job("77003", 4)
	h.eventually("the daemon sees all jobs", 2*time.Minute, func() bool {
		var got struct{ Jobs []json.RawMessage }
		h.get("http://"+h.address+"/api/v1/jobs", &got)
		return len(got.Jobs) == 3
	})
	h.evaluations("a minute of training is quiet", 30)
	require.Empty(t, h.alerts())

	// Three jobs share both nodes. One rank of the first is stopped, one of the
	// second dies, all of the third are suspended together.
	stopped.signal(t, syscall.SIGSTOP, 2)
	killed.signal(t, syscall.SIGKILL, 1)
	_ = killed[1].Wait()
	paused.signal(t, syscall.SIGSTOP, 0, 1, 2, 3)
	h.eventually("both hangs are alerts", 4*time.Minute, func() bool {
		return len(h.stalls("77001")) > 0 && len(h.stalls("77002")) > 0
	})
	h.evaluations("and nothing else is, for a while", 30)
	require.Len(t, h.alerts(), 2, "%v", h.alerts())

	hang := h.stalls("77001")[0]
	require.Equal(t, "collective_stall", hang.Labels["class"])
	require.Equal(t, "rank", hang.Labels["suspect_kind"])
	require.Equal(t, "node-1", hang.Labels["suspect_node"])
	require.Equal(t, "rank2", hang.Labels["suspect_device"])
	require.Equal(t, "rank_behind", hang.Annotations["reason"])

	dead := h.stalls("77002")[0]
	require.Equal(t, "collective_stall", dead.Labels["class"])
	require.Equal(t, "rank", dead.Labels["suspect_kind"])
	require.Equal(t, "node-0", dead.Labels["suspect_node"])
	require.Equal(t, "rank1", dead.Labels["suspect_device"])
	require.Equal(t, "rank_exited", dead.Annotations["reason"])

	stopped.signal(t, syscall.SIGCONT, 2)
	h.eventually("the job that goes on is resolved", 3*time.Minute, func() bool { return len(h.stalls("77001")) == 0 })
	killed.end()
	h.eventually("the job that was given up is resolved", 3*time.Minute, func() bool { return len(h.stalls("77002")) == 0 })
	require.Empty(t, h.alerts())
}
